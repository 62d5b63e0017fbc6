// orrery view: hands a trace to the Perfetto UI in the user's browser.
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"
#include "cli/commands/commands.h"
#include "cli/commands/trace_server.h"
#include "cli/print/output.h"

namespace orrery {
namespace {

constexpr absl::string_view kPublicUi = "https://ui.perfetto.dev";

// What the UI does once the trace is open: the pipeline and rank 0 open down to
// their rows, of every pool and of every side of a comparison, the critical
// path in view at all times.
constexpr absl::string_view kStartupCommands =
    R"([{"id":"dev.perfetto.ExpandTracksByRegex",)"
    R"("args":["^(cluster|collectives|calls|pools|.* pool|pipeline|node 0|)"
    R"(rank 0+( .*)?)$"]},)"
    R"({"id":"dev.perfetto.ExpandTracksByRegex",)"
    R"("args":["^comparison( > [^>]+)?$","path"]},)"
    R"({"id":"dev.perfetto.PinTracksByRegex","args":["^critical path$"]}])";

std::string PercentEncode(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
        c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

absl::StatusOr<int> Port(const Arguments& arguments) {
  const auto text = arguments.Get("port");
  if (!text) return kPerfettoPort;
  int port = 0;
  if (!absl::SimpleAtoi(*text, &port) || port < 0 || port > 65535) {
    return absl::InvalidArgumentError(fmt::format(
        "--port must be between 0 and 65535, got '{}'", Excerpt(*text)));
  }
  return port;
}

absl::StatusOr<std::string> Ui(const Arguments& arguments) {
  std::string ui = arguments.Get("ui").value_or(std::string(kPublicUi));
  while (absl::EndsWith(ui, "/")) ui.pop_back();
  const size_t scheme = absl::StartsWith(ui, "https://")  ? 8
                        : absl::StartsWith(ui, "http://") ? 7
                                                          : 0;
  // What is left must be an origin: it goes into a header.
  if (scheme == 0 || ui.size() == scheme ||
      ui.find_first_of("/\r\n\t \"", scheme) != std::string::npos) {
    return absl::InvalidArgumentError(fmt::format(
        "--ui must be a web address without a path, such as {}", kPublicUi));
  }
  return ui;
}

absl::StatusOr<ExitCode> View(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const int port, Port(arguments));
  ASSIGN_OR_RETURN(const std::string ui, Ui(arguments));
  ASSIGN_OR_RETURN(TraceServer server,
                   TraceServer::Open(arguments.positional()[0], port, ui));
  const std::string link =
      fmt::format("{}/#!/?url={}&startupCommands={}", ui, server.address(),
                  PercentEncode(kStartupCommands));
  RETURN_IF_ERROR(Print(fmt::format("{}\n", link)).status());
  Say("open this link in a browser on this machine; the trace is not "
      "uploaded. After a new run reload the page. Ctrl-C stops.");
  if (ui == kPublicUi) {
    Say(fmt::format(
        "without a network: serve a copy of Perfetto's UI on this machine and "
        "name it, for example --ui http://localhost:10000; the UI reads from "
        "port {} only",
        kPerfettoPort));
  }
  if (server.port() != kPerfettoPort && ui == kPublicUi) {
    Say(fmt::format(
        "the public UI reads from port {} only; this link needs a UI of your "
        "own (--ui)",
        kPerfettoPort));
  }
  TraceServer::Until until;
  if (arguments.Has("once")) until.downloads = 1;
  RETURN_IF_ERROR(server.Serve(until));
  return ExitCode::kDone;
}

}  // namespace

Command ViewCommand() {
  return {.name = "view",
          .operands = "TRACE",
          .min_operands = 1,
          .max_operands = 1,
          .summary = "Open a trace in the Perfetto UI.",
          .details =
              "Serves the file to the browser on this machine, on 127.0.0.1 "
              "only, and prints the\nlink to open. The UI works in the "
              "browser: nothing is uploaded. The file is read anew\nfor every "
              "request: after another run, reload the page.\n\n"
              "  orrery simulate quickstart --trace run.pftrace\n"
              "  orrery view run.pftrace",
          .flags = {{.name = "port",
                     .value = "PORT",
                     .help = "port to listen on (default 9001; 0 takes a free "
                             "one)"},
                    {.name = "ui",
                     .value = "ADDRESS",
                     .help = "a Perfetto UI other than the public one"},
                    {.name = "once",
                     .value = "",
                     .help = "stop when the trace has been read once"}},
          .run = View};
}

}  // namespace orrery
