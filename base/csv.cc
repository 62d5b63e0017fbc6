#include "base/csv.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <utility>

namespace orrery {
namespace {

struct Record {
  std::vector<std::string> fields;
  int line;
};

absl::StatusOr<std::vector<Record>> Records(absl::string_view text) {
  std::vector<Record> records;
  size_t at = 0;
  int line = 1;
  while (at < text.size()) {
    Record record = {{}, line};
    bool more = true;
    while (more) {
      std::string field;
      if (at < text.size() && text[at] == '"') {
        const int opened = line;
        ++at;
        while (true) {
          if (at == text.size()) {
            return absl::InvalidArgumentError(
                absl::StrCat("line ", opened, ": a quote is never closed"));
          }
          if (text[at] == '"') {
            if (at + 1 < text.size() && text[at + 1] == '"') {
              field += '"';
              at += 2;
              continue;
            }
            ++at;
            break;
          }
          line += text[at] == '\n';
          field += text[at++];
        }
      }
      while (at < text.size() && text[at] != ',' && text[at] != '\n') {
        if (text[at] != '\r') field += text[at];
        ++at;
      }
      record.fields.push_back(std::move(field));
      more = at < text.size() && text[at] == ',';
      if (at < text.size()) {
        line += text[at] == '\n';
        ++at;
      }
    }
    const bool blank = record.fields.size() == 1 && record.fields[0].empty();
    if (!blank) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

std::string CsvField(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '\r', ' ');
  if (text.find_first_of(",\"") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::vector<std::string> CsvFields(absl::string_view record) {
  auto records = Records(record);
  if (!records.ok() || records->size() != 1) return {};
  return std::move(records->front().fields);
}

absl::StatusOr<CsvTable> CsvTable::Parse(absl::string_view text) {
  // Spreadsheets put a byte order mark first.
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  auto records = Records(text);
  if (!records.ok()) return records.status();
  if (records->empty()) {
    return absl::InvalidArgumentError("the table is empty: no header line");
  }
  CsvTable table;
  table.columns_ = std::move((*records)[0].fields);
  for (size_t i = 0; i < table.columns_.size(); ++i) {
    if (!table.index_.emplace(table.columns_[i], i).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("column '", table.columns_[i], "' appears twice"));
    }
  }
  for (size_t i = 1; i < records->size(); ++i) {
    Row row;
    row.fields_ = std::move((*records)[i].fields);
    row.line_ = (*records)[i].line;
    table.rows_.push_back(std::move(row));
  }
  for (Row& row : table.rows_) row.table_ = &table;
  return table;
}

CsvTable& CsvTable::operator=(CsvTable&& other) noexcept {
  columns_ = std::move(other.columns_);
  index_ = std::move(other.index_);
  rows_ = std::move(other.rows_);
  for (Row& row : rows_) row.table_ = this;
  return *this;
}

bool CsvTable::HasColumn(absl::string_view column) const {
  return index_.find(std::string(column)) != index_.end();
}

std::optional<std::string> CsvTable::Row::Get(absl::string_view column) const {
  const auto found = table_->index_.find(std::string(column));
  if (found == table_->index_.end() || found->second >= fields_.size() ||
      fields_[found->second].empty()) {
    return std::nullopt;
  }
  return fields_[found->second];
}

std::optional<double> CsvTable::Row::Number(absl::string_view column) const {
  const std::optional<std::string> text = Get(column);
  double value = 0;
  if (!text || !absl::SimpleAtod(*text, &value)) return std::nullopt;
  return value;
}

bool CsvTable::Row::whole() const {
  return fields_.size() == table_->columns_.size();
}

}  // namespace orrery
