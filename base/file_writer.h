#pragma once
// FileWriter: a file written piece by piece that appears whole or not at all.
//
// The pieces go to a temporary name in the same folder; Commit() flushes them
// to disk and renames. A writer that is destroyed without a successful Commit
// removes what it wrote, and an older file of that name stays as it was. "-" is
// standard output, and devices and pipes are written in place, since a rename
// cannot replace them.
//
//   ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
//   RETURN_IF_ERROR(file.Append(piece));
//   return file.Commit();
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>

namespace orrery {

class FileWriter {
 public:
  // The error names the path and what is wrong with it.
  static absl::StatusOr<FileWriter> Create(const std::string& path);

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  absl::Status Append(absl::string_view piece);
  // Requires: not committed yet. After an error the file is gone.
  absl::Status Commit();

 private:
  FileWriter(std::string path, std::string temporary, int descriptor,
             bool owns_descriptor);
  void Discard();

  std::string path_;
  std::string temporary_;  // empty: written in place
  int descriptor_;         // -1: closed
  bool owns_descriptor_;
};

}  // namespace orrery
