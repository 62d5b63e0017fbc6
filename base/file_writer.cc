#include "base/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace orrery {
namespace {

absl::Status Failed(const std::string& path) {
  const int error = errno;
  const std::string message =
      fmt::format("cannot write '{}': {}", path, std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message)
                         : absl::InvalidArgumentError(message);
}

}  // namespace

absl::StatusOr<FileWriter> FileWriter::Create(const std::string& path) {
  if (path == "-") {
    return FileWriter("standard output", "", STDOUT_FILENO, false);
  }
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(
          fmt::format("cannot write '{}': it is a directory", path));
    }
    const int device = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (device < 0) return Failed(path);
    return FileWriter(path, "", device, true);
  }
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return Failed(path);
  return FileWriter(path, std::move(temporary), file, true);
}

FileWriter::FileWriter(std::string path, std::string temporary, int descriptor,
                       bool owns_descriptor)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      descriptor_(descriptor),
      owns_descriptor_(owns_descriptor) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      descriptor_(std::exchange(other.descriptor_, -1)),
      owns_descriptor_(other.owns_descriptor_) {}

FileWriter::~FileWriter() { Discard(); }

void FileWriter::Discard() {
  if (descriptor_ >= 0 && owns_descriptor_) close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

absl::Status FileWriter::Append(absl::string_view piece) {
  CHECK(descriptor_ >= 0) << path_;
  while (!piece.empty()) {
    const ssize_t written = write(descriptor_, piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed(path_);
    piece.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status FileWriter::Commit() {
  CHECK(descriptor_ >= 0) << path_;
  absl::Status status;
  if (!temporary_.empty()) {
    // mkostemp makes the file private; give it what a plain open would have.
    const mode_t mask = umask(0);
    umask(mask);
    if (fchmod(descriptor_, 0666 & ~mask) != 0 || fsync(descriptor_) != 0 ||
        rename(temporary_.c_str(), path_.c_str()) != 0) {
      status = Failed(path_);
    } else {
      temporary_.clear();
    }
  }
  Discard();
  return status;
}

}  // namespace orrery
