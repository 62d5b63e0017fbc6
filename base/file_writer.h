#pragma once
// FileWriter: a file written piece by piece that appears whole or not at all.
//
// The pieces go to a file without a name in the same folder; Commit() flushes
// them to disk and gives it its name. Before that nothing is left behind,
// whatever ends the program, and an older file of that name stays as it was.
// File systems that have no nameless files get a temporary name, which is
// removed when the writer is destroyed. "-" is standard output, and devices and
// pipes are written in place, since nothing can replace them.
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
  // The error of Create, known before there is anything to write. It changes
  // no file and opens no pipe.
  static absl::Status CheckPath(const std::string& path);

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  absl::Status Append(absl::string_view piece);
  // Requires: not committed yet. After an error the file is gone.
  absl::Status Commit();

 private:
  enum class Kind { kNameless, kTemporaryName, kInPlace, kBorrowed };
  FileWriter(std::string path, std::string temporary, int descriptor,
             Kind kind);
  void Discard();
  // Each says whether it worked; the reason is in errno.
  bool GiveName();
  bool Rename();

  std::string path_;
  std::string temporary_;  // empty: there is no such name
  int descriptor_;         // -1: closed
  Kind kind_;
};

}  // namespace orrery
