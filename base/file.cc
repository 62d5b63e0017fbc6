#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/status.h"
#include "base/units_text.h"

namespace orrery {
namespace {

absl::Status Failed(absl::string_view doing, const std::string& path) {
  const int error = errno;
  const std::string message = fmt::format(
      "cannot {} '{}': {}", std::string(doing), path, std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message)
                         : absl::InvalidArgumentError(message);
}

// Closes a descriptor when the scope ends.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int Release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

absl::Status WriteAll(int fd, absl::string_view contents,
                      const std::string& path) {
  while (!contents.empty()) {
    const ssize_t written = write(fd, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("write", path);
    contents.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Failed("open", path);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return Failed("read", path);
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(
        fmt::format("cannot read '{}': it is a directory", path));
  }
  const auto too_large = [&] {
    return absl::InvalidArgumentError(fmt::format(
        "cannot read '{}': it is larger than the {} an input may have", path,
        ToBinaryText(Bytes(limit), 3)));
  };
  if (info.st_size > limit) return too_large();
  std::string contents;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", path);
    if (got == 0) return contents;
    contents.append(buffer, static_cast<size_t>(got));
    if (static_cast<int64_t>(contents.size()) > limit) return too_large();
  }
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  if (path == "-") return WriteAll(STDOUT_FILENO, contents, "standard output");
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(
          fmt::format("cannot write '{}': it is a directory", path));
    }
    // A device or a pipe cannot be replaced by a rename.
    const Descriptor device(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.get() < 0) return Failed("write", path);
    return WriteAll(device.get(), contents, path);
  }
  std::string temporary = path + ".XXXXXX";
  Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) return Failed("write", path);
  absl::Status status = WriteAll(file.get(), contents, path);
  // mkostemp makes the file private; give it what a plain open would have.
  const mode_t mask = umask(0);
  umask(mask);
  if (status.ok() && (fchmod(file.get(), 0666 & ~mask) != 0 ||
                      fsync(file.get()) != 0 || close(file.Release()) != 0 ||
                      rename(temporary.c_str(), path.c_str()) != 0)) {
    status = Failed("write", path);
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace orrery
