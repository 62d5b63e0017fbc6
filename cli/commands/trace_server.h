#pragma once
// TraceServer: one file over HTTP, for a browser on this machine.
//
// Connections are served side by side: one that says nothing keeps nobody
// waiting, and is closed after a while. The file is opened for every request,
// so that whoever asks again after a new run gets the new trace; parts of it
// may be asked for (Range). It listens on 127.0.0.1 only and answers for that
// one file only, whatever the request asks for. Requests must name this very
// address (Host), so that a web page elsewhere cannot reach it under another
// name, and only pages of one origin may read the answer (CORS).
//
//   ASSIGN_OR_RETURN(TraceServer server,
//                    TraceServer::Open("run.pftrace", kPerfettoPort, origin));
//   Print(server.address());
//   server.Serve({.downloads = 1});
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

// The only loopback port that the public Perfetto UI's security policy lets it
// read from.
inline constexpr int kPerfettoPort = 9001;

class TraceServer {
 public:
  // `port` 0 takes any free one. `origin` is the web site whose pages may read
  // the file. While the server lives, SIGINT and SIGTERM end Serve at once
  // instead of the program.
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
  struct Connection;
  TraceServer(std::string file, std::string origin);
  absl::Status Listen(int port);
  void Accept();
  // Goes on with a connection that is ready; whether the file was downloaded
  // to its end by that. Closes it when all is said.
  bool GoOn(Connection& connection) const;
  void Answer(Connection& connection) const;

  std::string file_;
  std::string origin_;
  int listener_ = -1;
  int port_ = 0;
  int signals_ = -1;  // readable when one of them came
  sigset_t mask_before_{};
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace orrery
