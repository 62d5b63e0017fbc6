#pragma once
// LineLog: a file that grows line by line and survives being killed.
//
//   ASSIGN_OR_RETURN(LineLog log, LineLog::Open(path, "study 3fa2, 12
//   columns")); for (const std::string& line : log.lines()) ...   // from
//   before RETURN_IF_ERROR(log.Append({"7,1.9", "8,2.1"}));
//
// The first line is the title: a file with another title is refused, as its
// lines belong to something else. A last line that was torn when the writer was
// killed is cut off. Appended lines are in the file, in order and whole, when
// Append returns; Sync puts them on the disk.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <string>
#include <utility>
#include <vector>

namespace orrery {

class LineLog {
 public:
  // Makes the file if there is none. Title and lines have no line breaks.
  static absl::StatusOr<LineLog> Open(const std::string& path,
                                      absl::string_view title);
  LineLog(LineLog&& other) noexcept;
  LineLog& operator=(LineLog&&) = delete;
  ~LineLog();

  // Those that were there when it was opened.
  const std::vector<std::string>& lines() const { return lines_; }
  // Bytes of a torn line that were cut off when it was opened.
  size_t torn() const { return torn_; }

  // On an error (a full disk) what was written of `lines` is taken back.
  absl::Status Append(absl::Span<const std::string> lines);
  absl::Status Sync();

 private:
  LineLog(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_;
  size_t size_ = 0;
  size_t torn_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace orrery
