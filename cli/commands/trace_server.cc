#include "cli/commands/trace_server.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "cli/commands/trace_file.h"

namespace orrery {
namespace {

constexpr absl::string_view kName = "/trace.pftrace";
constexpr size_t kLongestRequest = 16 << 10;
constexpr timeval kPatience = {.tv_sec = 10, .tv_usec = 0};

absl::Status Failed(const std::string& doing) {
  return absl::InvalidArgumentError(
      fmt::format("cannot {}: {}", doing, std::strerror(errno)));
}

struct Request {
  std::string method;
  std::string target;
  std::string host;
};

// The request up to its blank line; nothing if it is slow, long or no HTTP.
std::optional<Request> ReadRequest(int connection) {
  std::string text;
  char buffer[2048];
  while (!absl::StrContains(text, "\r\n\r\n")) {
    const ssize_t got = recv(connection, buffer, sizeof buffer, 0);
    if (got <= 0 || text.size() > kLongestRequest) return std::nullopt;
    text.append(buffer, static_cast<size_t>(got));
  }
  const std::vector<std::string> lines = absl::StrSplit(text, "\r\n");
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/1.")) {
    return std::nullopt;
  }
  Request request = {.method = words[0], .target = words[1], .host = {}};
  for (const std::string& line : lines) {
    constexpr absl::string_view kHost = "host:";
    if (!absl::StartsWithIgnoreCase(line, kHost)) continue;
    request.host =
        std::string(absl::StripAsciiWhitespace(line).substr(kHost.size()));
    absl::StripAsciiWhitespace(&request.host);
  }
  return request;
}

bool SendAll(int connection, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t sent =
        send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool SendStatus(int connection, absl::string_view status) {
  return SendAll(connection, fmt::format("HTTP/1.1 {}\r\nContent-Length: 0\r\n"
                                         "Connection: close\r\n\r\n",
                                         status));
}

}  // namespace

absl::StatusOr<TraceServer> TraceServer::Open(const std::string& file, int port,
                                              std::string origin) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Failed(fmt::format("open '{}'", file));
  TraceServer server(descriptor, std::move(origin));
  struct stat info {};
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size == 0) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is not a trace: it is no file, or empty", file));
  }
  RETURN_IF_ERROR(CheckTraceFile(descriptor, info.st_size, file));
  server.size_ = info.st_size;
  RETURN_IF_ERROR(server.Listen(port));
  return server;
}

TraceServer::TraceServer(int file, std::string origin)
    : file_(file), origin_(std::move(origin)) {
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGINT);
  sigaddset(&stops, SIGTERM);
  sigprocmask(SIG_BLOCK, &stops, &mask_before_);
  signals_ = signalfd(-1, &stops, SFD_CLOEXEC);
}

TraceServer::TraceServer(TraceServer&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      origin_(std::move(other.origin_)),
      size_(other.size_),
      listener_(std::exchange(other.listener_, -1)),
      port_(other.port_),
      signals_(std::exchange(other.signals_, -1)),
      mask_before_(other.mask_before_) {}

TraceServer::~TraceServer() {
  if (file_ < 0) return;  // moved from
  close(file_);
  if (listener_ >= 0) close(listener_);
  if (signals_ >= 0) close(signals_);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

absl::Status TraceServer::Listen(int port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || bind(listener_, generic, length) != 0 ||
      listen(listener_, 8) != 0 ||
      getsockname(listener_, generic, &length) != 0) {
    const bool taken = errno == EADDRINUSE;
    absl::Status failed = Failed(fmt::format("listen on 127.0.0.1:{}", port));
    if (!taken) return failed;
    return absl::InvalidArgumentError(fmt::format(
        "{}; is another 'orrery view' running? --port takes another port, for "
        "a UI of your own (--ui)",
        failed.message()));
  }
  port_ = ntohs(address.sin_port);
  return absl::OkStatus();
}

std::string TraceServer::address() const {
  return fmt::format("http://127.0.0.1:{}{}", port_, kName);
}

absl::Status TraceServer::Serve(const Until& until) {
  pollfd watched[] = {{.fd = signals_, .events = POLLIN, .revents = 0},
                      {.fd = listener_, .events = POLLIN, .revents = 0}};
  absl::Status status;
  for (int downloads = 0; !until.downloads || downloads < *until.downloads;) {
    if (poll(watched, 2, -1) < 0 && errno != EINTR) status = Failed("wait");
    if (!status.ok()) break;
    if (watched[0].revents != 0) {
      // Taken, so that it does not strike when the mask is lifted.
      signalfd_siginfo signal;
      if (read(signals_, &signal, sizeof signal) > 0) break;
    }
    if (watched[1].revents == 0) continue;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    // A client that stops talking must not keep the others waiting for ever.
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &kPatience,
               sizeof kPatience);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &kPatience,
               sizeof kPatience);
    downloads += Answer(connection);
    shutdown(connection, SHUT_WR);
    close(connection);
  }
  return status;
}

bool TraceServer::Answer(int connection) const {
  const std::optional<Request> request = ReadRequest(connection);
  if (!request) return SendStatus(connection, "400 Bad Request"), false;
  if (request->host != fmt::format("127.0.0.1:{}", port_) &&
      request->host != fmt::format("localhost:{}", port_)) {
    return SendStatus(connection, "403 Forbidden"), false;
  }
  if (request->target != kName) {
    return SendStatus(connection, "404 Not Found"), false;
  }
  const bool get = request->method == "GET";
  const bool options = request->method == "OPTIONS";
  if (!get && !options && request->method != "HEAD") {
    return SendStatus(connection, "405 Method Not Allowed"), false;
  }
  const std::string head = fmt::format(
      "HTTP/1.1 {}\r\nContent-Length: {}\r\n"
      "Content-Type: application/octet-stream\r\n"
      "Access-Control-Allow-Origin: {}\r\n"
      "Access-Control-Allow-Methods: GET, HEAD\r\n"
      "Access-Control-Allow-Private-Network: true\r\n"
      "Vary: Origin\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
      options ? "204 No Content" : "200 OK", options ? 0 : size_, origin_);
  return SendAll(connection, head) && get && SendFile(connection);
}

bool TraceServer::SendFile(int connection) const {
  off_t at = 0;
  while (at < size_) {
    const ssize_t sent =
        sendfile(connection, file_, &at, static_cast<size_t>(size_ - at));
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
  }
  return true;
}

}  // namespace orrery
