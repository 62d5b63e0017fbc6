#include "cli/commands/trace_server.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
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

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "cli/commands/trace_file.h"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

constexpr absl::string_view kName = "/trace.pftrace";
constexpr size_t kLongestRequest = 16 << 10;
constexpr size_t kMostConnections = 64;
// Who neither says nor takes anything for so long is sent away.
constexpr auto kPatience = std::chrono::seconds(10);

absl::Status Failed(const std::string& doing) {
  return absl::InvalidArgumentError(
      fmt::format("cannot {}: {}", doing, std::strerror(errno)));
}

struct Request {
  std::string method;
  std::string target;
  std::string host;
  std::string range;
};

// Nothing if it is no HTTP.
std::optional<Request> ParseRequest(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, "\r\n");
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/1.")) {
    return std::nullopt;
  }
  Request request = {
      .method = words[0], .target = words[1], .host = {}, .range = {}};
  for (const std::string& line : lines) {
    const auto value = [&](absl::string_view key, std::string& to) {
      if (!absl::StartsWithIgnoreCase(line, key)) return;
      to = std::string(absl::StripAsciiWhitespace(
          absl::string_view(line).substr(key.size())));
    };
    value("host:", request.host);
    value("range:", request.range);
  }
  return request;
}

// The part of a file of `size` bytes that a Range header asks for, first and
// last byte; the whole where it asks for none or in a way that is not known;
// nothing if there is no such part.
struct Part {
  int64_t first = 0;
  int64_t last = 0;
  bool whole = true;
};
std::optional<Part> PartOf(absl::string_view range, int64_t size) {
  Part part = {.first = 0, .last = size - 1};
  if (!absl::ConsumePrefix(&range, "bytes=")) return part;
  const std::vector<std::string> ends = absl::StrSplit(range, '-');
  if (ends.size() != 2) return part;
  int64_t first = 0, last = 0;
  const bool has_first = absl::SimpleAtoi(ends[0], &first);
  const bool has_last = absl::SimpleAtoi(ends[1], &last);
  if (!has_first && !has_last) return part;
  part.whole = false;
  if (!has_first) {  // the last so many
    part.first = std::max<int64_t>(0, size - last);
  } else {
    part.first = first;
    if (has_last) part.last = std::min(last, size - 1);
  }
  if (part.first < 0 || part.first > part.last) return std::nullopt;
  return part;
}

std::string StatusAnswer(absl::string_view status) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
}

// A trace that is whole, open for reading.
absl::StatusOr<std::pair<int, int64_t>> OpenTrace(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Failed(fmt::format("open '{}'", file));
  struct stat info {};
  absl::Status status;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size == 0) {
    status = absl::InvalidArgumentError(fmt::format(
        "'{}' is not a trace: it is not a file, or it is empty", file));
  } else {
    status = CheckTraceFile(descriptor, info.st_size, file);
  }
  if (!status.ok()) {
    close(descriptor);
    return status;
  }
  return std::pair(descriptor, int64_t{info.st_size});
}

}  // namespace

struct TraceServer::Connection {
  explicit Connection(int of) : socket(of) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    close(socket);
    if (file >= 0) close(file);
  }

  int socket;
  Clock::time_point last = Clock::now();
  std::string request;  // what came so far
  bool answered = false;
  std::string head;  // what is left of it
  int file = -1;     // after the head, if any
  off_t at = 0;
  off_t end = 0;
  bool reaches_end = false;  // of the file
  bool closed = false;
};

absl::StatusOr<TraceServer> TraceServer::Open(const std::string& file, int port,
                                              std::string origin) {
  ASSIGN_OR_RETURN(const auto opened, OpenTrace(file));
  close(opened.first);
  TraceServer server(file, std::move(origin));
  RETURN_IF_ERROR(server.Listen(port));
  return server;
}

TraceServer::TraceServer(std::string file, std::string origin)
    : file_(std::move(file)), origin_(std::move(origin)) {
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGINT);
  sigaddset(&stops, SIGTERM);
  sigprocmask(SIG_BLOCK, &stops, &mask_before_);
  signals_ = signalfd(-1, &stops, SFD_CLOEXEC);
}

TraceServer::TraceServer(TraceServer&& other) noexcept
    : file_(std::move(other.file_)),
      origin_(std::move(other.origin_)),
      listener_(std::exchange(other.listener_, -1)),
      port_(other.port_),
      signals_(std::exchange(other.signals_, -1)),
      mask_before_(other.mask_before_),
      connections_(std::move(other.connections_)) {}

TraceServer::~TraceServer() {
  if (signals_ < 0) return;  // moved from
  if (listener_ >= 0) close(listener_);
  close(signals_);
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

void TraceServer::Accept() {
  const int socket =
      accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) return;
  connections_.push_back(std::make_unique<Connection>(socket));
}

absl::Status TraceServer::Serve(const Until& until) {
  for (int downloads = 0; !until.downloads || downloads < *until.downloads;) {
    std::vector<pollfd> watched = {
        {.fd = signals_, .events = POLLIN, .revents = 0},
        {.fd = listener_, .events = POLLIN, .revents = 0}};
    // Full: who comes next waits until there is room.
    if (connections_.size() >= kMostConnections) watched[1].events = 0;
    for (const auto& connection : connections_) {
      const auto events =
          static_cast<short>(connection->answered ? POLLOUT : POLLIN);
      watched.push_back(
          {.fd = connection->socket, .events = events, .revents = 0});
    }
    constexpr int kLookAround = 1000;  // milliseconds
    if (poll(watched.data(), watched.size(),
             connections_.empty() ? -1 : kLookAround) < 0 &&
        errno != EINTR) {
      return Failed("wait");
    }
    if (watched[0].revents != 0) {
      // Taken, so that it does not strike when the mask is lifted.
      signalfd_siginfo signal;
      if (read(signals_, &signal, sizeof signal) > 0) break;
    }
    const Clock::time_point now = Clock::now();
    for (size_t i = 0; i < connections_.size(); ++i) {
      if (watched[i + 2].revents != 0) {
        connections_[i]->last = now;
        downloads += GoOn(*connections_[i]);
      } else if (now - connections_[i]->last > kPatience) {
        connections_[i]->closed = true;
      }
    }
    std::erase_if(connections_, [](const auto& c) { return c->closed; });
    if (watched[1].revents != 0) Accept();
  }
  connections_.clear();
  return absl::OkStatus();
}

bool TraceServer::GoOn(Connection& connection) const {
  if (!connection.answered) {
    char buffer[2048];
    const ssize_t got = recv(connection.socket, buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) return connection.closed = true, false;
    connection.request.append(buffer, static_cast<size_t>(got));
    const bool complete = absl::StrContains(connection.request, "\r\n\r\n");
    if (!complete && connection.request.size() <= kLongestRequest) return false;
    if (complete) {
      Answer(connection);
    } else {
      connection.head = StatusAnswer("400 Bad Request");
    }
    connection.answered = true;
    return false;
  }
  if (!connection.head.empty()) {
    const ssize_t sent = send(connection.socket, connection.head.data(),
                              connection.head.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (sent <= 0) return connection.closed = true, false;
    connection.head.erase(0, static_cast<size_t>(sent));
    if (!connection.head.empty()) return false;
  }
  if (connection.at < connection.end) {
    // Others have their turn between two such pieces.
    constexpr off_t kPiece = 1 << 20;
    const ssize_t sent = sendfile(
        connection.socket, connection.file, &connection.at,
        static_cast<size_t>(std::min(kPiece, connection.end - connection.at)));
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (sent <= 0) return connection.closed = true, false;
    if (connection.at < connection.end) return false;
  }
  shutdown(connection.socket, SHUT_WR);
  connection.closed = true;
  return connection.reaches_end;
}

void TraceServer::Answer(Connection& connection) const {
  const auto refuse = [&](absl::string_view status) {
    connection.head = StatusAnswer(status);
  };
  const std::optional<Request> request = ParseRequest(connection.request);
  if (!request) return refuse("400 Bad Request");
  if (request->host != fmt::format("127.0.0.1:{}", port_) &&
      request->host != fmt::format("localhost:{}", port_)) {
    return refuse("403 Forbidden");
  }
  if (request->target != kName) return refuse("404 Not Found");
  const bool get = request->method == "GET";
  const bool options = request->method == "OPTIONS";
  if (!get && !options && request->method != "HEAD") {
    return refuse("405 Method Not Allowed");
  }
  // A file that is being written anew gets its name when it is whole.
  const auto opened = OpenTrace(file_);
  if (!opened.ok()) return refuse("410 Gone");
  connection.file = opened->first;
  const int64_t size = opened->second;
  const std::optional<Part> part = PartOf(request->range, size);
  if (!part) {
    connection.head = fmt::format(
        "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */{}\r\n"
        "Content-Length: 0\r\nConnection: close\r\n\r\n",
        size);
    return;
  }
  std::string status = options ? "204 No Content" : "200 OK";
  if (!options && !part->whole) {
    status = fmt::format("206 Partial Content\r\nContent-Range: bytes {}-{}/{}",
                         part->first, part->last, size);
  }
  connection.head = fmt::format(
      "HTTP/1.1 {}\r\nContent-Length: {}\r\n"
      "Content-Type: application/octet-stream\r\n"
      "Accept-Ranges: bytes\r\n"
      "Access-Control-Allow-Origin: {}\r\n"
      "Access-Control-Allow-Methods: GET, HEAD\r\n"
      "Access-Control-Allow-Headers: Range\r\n"
      "Access-Control-Allow-Private-Network: true\r\n"
      "Vary: Origin\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
      status, options ? 0 : part->last - part->first + 1, origin_);
  if (!get) return;
  connection.at = part->first;
  connection.end = part->last + 1;
  connection.reaches_end = connection.end == size;
}

}  // namespace orrery
