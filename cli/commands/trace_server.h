#pragma once
// TraceServer: one file over HTTP, for a browser on this machine.
//
// It listens on 127.0.0.1 only and answers for that one file only, whatever the
// request asks for. Requests must name this very address (Host), so that a web
// page elsewhere cannot reach it under another name, and only pages of one
// origin may read the answer (CORS).
//
//   ASSIGN_OR_RETURN(TraceServer server,
//                    TraceServer::Open("run.pftrace", kPerfettoPort, origin));
//   Print(server.address());
//   server.Serve({.downloads = 1});
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>

namespace orrery {

// The only loopback port that the public Perfetto UI's security policy lets it
// read from.
inline constexpr int kPerfettoPort = 9001;

class TraceServer {
 public:
  // `port` 0 takes any free one. `origin` is the web site whose pages may read
  // the file. The file is opened here, once. While the server lives, SIGINT and
  // SIGTERM end Serve instead of the program.
  static absl::StatusOr<TraceServer> Open(const std::string& file, int port,
                                          std::string origin);
  TraceServer(TraceServer&& other) noexcept;
  TraceServer& operator=(TraceServer&&) = delete;
  ~TraceServer();

  int port() const { return port_; }
  // "http://127.0.0.1:9001/trace.pftrace"
  std::string address() const;

  struct Until {
    // Complete downloads after which to stop; nothing: never.
    std::optional<int> downloads = std::nullopt;
  };
  // Returns when that is reached, or at SIGINT or SIGTERM.
  absl::Status Serve(const Until& until);

 private:
  TraceServer(int file, std::string origin);
  absl::Status Listen(int port);
  // Answers one request; whether it downloaded the file in full.
  bool Answer(int connection) const;
  bool SendFile(int connection) const;

  int file_;
  std::string origin_;
  int64_t size_ = 0;
  int listener_ = -1;
  int port_ = 0;
  int signals_ = -1;  // readable when one of them came
  sigset_t mask_before_{};
};

}  // namespace orrery
