#include "base/line_log.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"

namespace orrery {
namespace {

absl::Status Failed(const std::string& path, absl::string_view what) {
  return absl::UnavailableError(
      fmt::format("{}: {}: {}", path, std::string(what), std::strerror(errno)));
}

absl::StatusOr<std::string> ReadAll(const std::string& path, int file) {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(path, "cannot be read");
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

absl::StatusOr<LineLog> LineLog::Open(const std::string& path,
                                      absl::string_view title) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return Failed(path, "cannot be opened");
  LineLog log(path, file);
  struct stat about {};
  if (fstat(file, &about) != 0) return Failed(path, "cannot be opened");
  if (!S_ISREG(about.st_mode)) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is not a regular file, so that a sweep cannot be "
                    "continued from it",
                    path));
  }
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    return absl::UnavailableError(
        fmt::format("{}: another process is writing it", path));
  }
  ASSIGN_OR_RETURN(std::string text, ReadAll(path, file));
  const size_t whole = text.rfind('\n') + 1;  // 0 if there is none
  log.torn_ = text.size() - whole;
  text.resize(whole);
  if (log.torn_ > 0 && ftruncate(file, static_cast<off_t>(whole)) != 0) {
    return Failed(path, "cannot be cut");
  }
  log.size_ = whole;
  if (lseek(file, static_cast<off_t>(whole), SEEK_SET) < 0) {
    return Failed(path, "cannot be continued");
  }
  if (text.empty()) {
    RETURN_IF_ERROR(log.Append({std::string(title)}));
    return log;
  }
  text.pop_back();
  log.lines_ = absl::StrSplit(text, '\n');
  if (log.lines_[0] != title) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: is of something else ('{}', not '{}'); remove it or name another "
        "file",
        path, Excerpt(log.lines_[0], 200), std::string(title)));
  }
  log.lines_.erase(log.lines_.begin());
  return log;
}

LineLog::LineLog(LineLog&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      torn_(other.torn_),
      lines_(std::move(other.lines_)) {}

LineLog::~LineLog() {
  if (file_ >= 0) close(file_);
}

absl::Status LineLog::Append(absl::Span<const std::string> lines) {
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = write(file_, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const absl::Status failed = Failed(path_, "cannot be written");
      if (ftruncate(file_, static_cast<off_t>(size_)) != 0 ||
          lseek(file_, static_cast<off_t>(size_), SEEK_SET) < 0) {
        return Annotate(failed, "and what was written cannot be taken back");
      }
      return failed;
    }
    done += static_cast<size_t>(put);
  }
  size_ += text.size();
  return absl::OkStatus();
}

absl::Status LineLog::Sync() {
  return fsync(file_) == 0 ? absl::OkStatus() : Failed(path_, "not on disk");
}

}  // namespace orrery
