#pragma once
// CsvTable: a table with named columns, as RFC 4180 writes it.
//
// Columns are found by name, in any order. Quoted fields may hold commas,
// quotes and line breaks. A row with too few or too many fields is kept, with
// its line number, so that the caller can say which row is malformed instead of
// refusing the file.
//
//   ASSIGN_OR_RETURN(const CsvTable table, CsvTable::Parse(text));
//   for (const CsvTable::Row& row : table.rows()) row.Get("size_bytes");
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

// A field of a record, quoted where it has to be; line breaks become spaces, so
// that a record is a line.
std::string CsvField(std::string text);
// The fields of one record; none if a quote is never closed.
std::vector<std::string> CsvFields(absl::string_view record);

class CsvTable {
 public:
  class Row {
   public:
    // The field, or nothing if there is no such column or it is empty.
    std::optional<std::string> Get(absl::string_view column) const;
    // As a number; nothing if empty or not a number.
    std::optional<double> Number(absl::string_view column) const;
    int line() const { return line_; }
    // The number of fields.
    size_t size() const { return fields_.size(); }
    // Whether the row has as many fields as the header.
    bool whole() const;

   private:
    friend class CsvTable;
    const CsvTable* table_ = nullptr;
    std::vector<std::string> fields_;
    int line_ = 0;
  };

  // The first record is the header. The error names the line.
  static absl::StatusOr<CsvTable> Parse(absl::string_view text);

  CsvTable(CsvTable&& other) noexcept { *this = std::move(other); }
  CsvTable& operator=(CsvTable&& other) noexcept;

  bool HasColumn(absl::string_view column) const;
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  CsvTable() = default;
  std::vector<std::string> columns_;
  std::map<std::string, size_t, std::less<>> index_;
  std::vector<Row> rows_;
};

}  // namespace orrery
