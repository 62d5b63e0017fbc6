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
  // Whoever read what we write has seen enough.
  if (error == EPIPE) return absl::CancelledError(message);
  return error == ENOENT ? absl::NotFoundError(message)
                         : absl::InvalidArgumentError(message);
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// How a nameless file is found again.
std::string LinkTo(int descriptor) {
  return fmt::format("/proc/self/fd/{}", descriptor);
}

}  // namespace

absl::StatusOr<FileWriter> FileWriter::Create(const std::string& path) {
  if (path == "-") {
    return FileWriter("standard output", "", STDOUT_FILENO, Kind::kBorrowed);
  }
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(
          fmt::format("cannot write '{}': it is a directory", path));
    }
    const int device = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (device < 0) return Failed(path);
    return FileWriter(path, "", device, Kind::kInPlace);
  }
  const int nameless =
      open(FolderOf(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (nameless >= 0) {
    if (access(LinkTo(nameless).c_str(), F_OK) == 0) {
      return FileWriter(path, "", nameless, Kind::kNameless);
    }
    close(nameless);
  }
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return Failed(path);
  return FileWriter(path, std::move(temporary), file, Kind::kTemporaryName);
}

absl::Status FileWriter::CheckPath(const std::string& path) {
  if (path == "-") return absl::OkStatus();
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) {
      return Create(path).status();
    }
    return access(path.c_str(), W_OK) == 0 ? absl::OkStatus() : Failed(path);
  }
  if (errno != ENOENT) return Failed(path);
  const std::string folder = FolderOf(path);
  if (stat(folder.c_str(), &info) != 0) {
    return absl::NotFoundError(fmt::format(
        "cannot write '{}': there is no folder '{}'; make it first, or name "
        "another file",
        path, folder));
  }
  return Create(path).status();
}

FileWriter::FileWriter(std::string path, std::string temporary, int descriptor,
                       Kind kind)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      descriptor_(descriptor),
      kind_(kind) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      descriptor_(std::exchange(other.descriptor_, -1)),
      kind_(other.kind_) {}

FileWriter::~FileWriter() { Discard(); }

void FileWriter::Discard() {
  if (descriptor_ >= 0 && kind_ != Kind::kBorrowed) close(descriptor_);
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

// A link cannot replace a file: where there is one, the new one gets another
// name for the instant before it is renamed.
bool FileWriter::GiveName() {
  const std::string nameless = LinkTo(descriptor_);
  const auto link_as = [&](const std::string& name) {
    return linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name.c_str(),
                  AT_SYMLINK_FOLLOW) == 0;
  };
  if (link_as(path_)) return true;
  for (int i = 0; errno == EEXIST; ++i) {
    const std::string name = fmt::format("{}.{}.{}", path_, getpid(), i);
    if (!link_as(name)) continue;
    temporary_ = name;
    return Rename();
  }
  return false;
}

bool FileWriter::Rename() {
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return false;
  temporary_.clear();
  return true;
}

absl::Status FileWriter::Commit() {
  CHECK(descriptor_ >= 0) << path_;
  bool done = true;
  switch (kind_) {
    case Kind::kNameless:
      done = fsync(descriptor_) == 0 && GiveName();
      break;
    case Kind::kTemporaryName: {
      // mkostemp makes the file private; give it what a plain open would have.
      const mode_t mask = umask(0);
      umask(mask);
      done = fchmod(descriptor_, 0666 & ~mask) == 0 &&
             fsync(descriptor_) == 0 && Rename();
      break;
    }
    case Kind::kInPlace:
    case Kind::kBorrowed:
      break;
  }
  absl::Status status = done ? absl::OkStatus() : Failed(path_);
  Discard();
  return status;
}

}  // namespace orrery
