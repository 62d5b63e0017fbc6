#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_writer.h"
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

 private:
  int fd_;
};

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
  ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  RETURN_IF_ERROR(file.Append(contents));
  return file.Commit();
}

}  // namespace orrery
