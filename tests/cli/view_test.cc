// orrery view from the outside: what it serves, and what it refuses to.
#include <absl/strings/match.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "base/file.h"
#include "base/format.h"
#include "cli/commands/trace_server.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// One packet: its tag, its length, and so many bytes.
constexpr char kContents[] =
    "\n\x28"
    "not really a trace, but framed as one is";

// `orrery view` running in the background on a port of its own.
class Viewer {
 public:
  explicit Viewer(const std::string& file) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(open((file + ".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
           STDERR_FILENO);
      execl(std::getenv("ORRERY_BINARY"), "orrery", "view", file.c_str(),
            "--port", "0", static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
    char c;
    while (read(ends[0], &c, 1) == 1 && c != '\n') link_ += c;
    close(ends[0]);
    std::smatch match;
    EXPECT_TRUE(std::regex_search(
        link_, match, std::regex("url=http://127.0.0.1:([0-9]+)/")));
    port_ = std::stoi(match[1]);
  }
  ~Viewer() {
    if (pid_ > 0) Stop(SIGKILL);
  }
  // The exit code, or -1 if the signal killed it.
  int Stop(int signal) {
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& link() const { return link_; }
  int port() const { return port_; }

  int Connect() const {
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(connection, reinterpret_cast<sockaddr*>(&address),
                      sizeof address),
              0);
    return connection;
  }

  // Everything the server says to `request`.
  std::string Ask(const std::string& request) const {
    const int connection = Connect();
    // The server may have had enough before this is all sent.
    for (absl::string_view rest = request; !rest.empty();) {
      const ssize_t sent =
          send(connection, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      rest.remove_prefix(static_cast<size_t>(sent));
    }
    std::string answer;
    char buffer[4096];
    ssize_t got;
    while ((got = recv(connection, buffer, sizeof buffer, 0)) > 0) {
      answer.append(buffer, static_cast<size_t>(got));
    }
    close(connection);
    return answer;
  }
  std::string Ask(const std::string& method, const std::string& target) const {
    return Ask(fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
                           method, target, port_));
  }

 private:
  pid_t pid_;
  std::string link_;
  int port_ = 0;
};

class ViewTest : public testing::Test {
 protected:
  ViewTest() { EXPECT_OK(WriteFile(file_, kContents)); }
  ~ViewTest() override {
    std::filesystem::remove(file_);
    std::filesystem::remove(file_ + ".err");
  }
  const std::string file_ = TestFile("view.pftrace");
};

TEST_F(ViewTest, TheLinkOpensRankZeroAndPinsTheCriticalPath) {
  const Viewer viewer(file_);
  EXPECT_THAT(viewer.link(),
              AllOf(StartsWith("https://ui.perfetto.dev/#!/?url=http://127."),
                    HasSubstr("/trace.pftrace&startupCommands=%5B%7B%22id%22"),
                    HasSubstr("dev.perfetto.ExpandTracksByRegex"),
                    HasSubstr("dev.perfetto.PinTracksByRegex"),
                    HasSubstr("critical%20path")));
}

TEST_F(ViewTest, TheFileIsServedWithLeaveForTheUiToReadIt) {
  const Viewer viewer(file_);
  EXPECT_THAT(
      viewer.Ask("GET", "/trace.pftrace"),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
            HasSubstr("Access-Control-Allow-Origin: https://ui.perfetto.dev"),
            HasSubstr(
                fmt::format("Content-Length: {}\r\n", sizeof kContents - 1)),
            EndsWith(fmt::format("\r\n\r\n{}", kContents))));
  EXPECT_THAT(viewer.Ask("HEAD", "/trace.pftrace"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(viewer.Ask("OPTIONS", "/trace.pftrace"),
              AllOf(StartsWith("HTTP/1.1 204"), EndsWith("\r\n\r\n")));
}

TEST_F(ViewTest, NothingElseIsReachable) {
  const Viewer viewer(file_);
  for (const std::string target :
       {"/", "/etc/passwd", "/../trace.pftrace", "//trace.pftrace",
        "/trace.pftrace/../../etc/passwd", "/trace.pftrace?x", "*"}) {
    EXPECT_THAT(viewer.Ask("GET", target), StartsWith("HTTP/1.1 404"));
  }
  EXPECT_THAT(viewer.Ask("POST", "/trace.pftrace"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(viewer.Ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  // A name that a foreign page has made to point here.
  EXPECT_THAT(viewer.Ask("GET /trace.pftrace HTTP/1.1\r\n"
                         "Host: rebound.example\r\n\r\n"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(viewer.Ask("GET /trace.pftrace HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 403"));
}

TEST_F(ViewTest, AnEndlessRequestIsCutOff) {
  const Viewer viewer(file_);
  viewer.Ask("GET / HTTP/1.1\r\nX: " + std::string(1'000'000, 'x'));
  EXPECT_THAT(viewer.Ask("GET", "/trace.pftrace"),
              StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ViewTest, ItListensOnLoopbackOnly) {
  const TraceServer server =
      TraceServer::Open(file_, 0, "https://ui.perfetto.dev").value();
  // In the kernel's table 0100007F is 127.0.0.1 and 0A a listening socket.
  const std::string table = ReadFile("/proc/net/tcp").value();
  EXPECT_THAT(table, HasSubstr(fmt::format("0100007F:{:04X} 00000000:0000 0A",
                                           server.port())));
  EXPECT_FALSE(
      absl::StrContains(table, fmt::format("00000000:{:04X}", server.port())));
}

TEST_F(ViewTest, CtrlCEndsItInOrder) {
  Viewer viewer(file_);
  EXPECT_EQ(viewer.Stop(SIGINT), 0);
}

// A browser opens connections ahead and says nothing on them.
TEST_F(ViewTest, AnIdleConnectionKeepsNobodyWaiting) {
  Viewer viewer(file_);
  std::vector<int> idle;
  for (int i = 0; i < 8; ++i) idle.push_back(viewer.Connect());
  EXPECT_THAT(viewer.Ask("GET", "/trace.pftrace"),
              StartsWith("HTTP/1.1 200 OK"));
  // Nor does it hold up Ctrl-C: the exit code is that of the program, not of a
  // signal, and it comes although they are all open.
  EXPECT_EQ(viewer.Stop(SIGINT), 0);
  for (const int connection : idle) close(connection);
}

TEST_F(ViewTest, APartIsServedWhereOneIsAskedFor) {
  const Viewer viewer(file_);
  const auto ask = [&](const std::string& range) {
    return viewer.Ask(
        fmt::format("GET /trace.pftrace HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n"
                    "Range: bytes={}\r\n\r\n",
                    viewer.port(), range));
  };
  const std::string all(kContents);
  EXPECT_THAT(ask("2-5"), AllOf(StartsWith("HTTP/1.1 206 Partial Content\r\n"
                                           "Content-Range: bytes 2-5/42\r\n"),
                                HasSubstr("Content-Length: 4\r\n"),
                                EndsWith("\r\n\r\n" + all.substr(2, 4))));
  EXPECT_THAT(ask("40-"), EndsWith("\r\n\r\n" + all.substr(40)));
  EXPECT_THAT(ask("-3"), EndsWith("\r\n\r\n" + all.substr(all.size() - 3)));
  EXPECT_THAT(ask("42-"), StartsWith("HTTP/1.1 416"));
  EXPECT_THAT(ask("nonsense"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ViewTest, ANewRunIsServedWhenAskedAgain) {
  const Viewer viewer(file_);
  EXPECT_THAT(viewer.Ask("GET", "/trace.pftrace"), EndsWith(kContents));
  const std::string longer = std::string(kContents) + kContents;
  ASSERT_OK(WriteFile(file_ + ".new", longer));
  std::filesystem::rename(file_ + ".new", file_);
  EXPECT_THAT(viewer.Ask("GET", "/trace.pftrace"),
              AllOf(HasSubstr("Content-Length: 84\r\n"), EndsWith(longer)));
  std::filesystem::remove(file_);
  EXPECT_THAT(viewer.Ask("GET", "/trace.pftrace"), StartsWith("HTTP/1.1 410"));
}

// Who has no network is told what to serve, how to name it, and which port the
// UI may read from.
TEST_F(ViewTest, WithoutANetworkItSaysWhatToDo) {
  Viewer viewer(file_);
  EXPECT_THAT(viewer.Ask("GET", "/trace.pftrace"),
              StartsWith("HTTP/1.1 200 OK"));
  EXPECT_EQ(viewer.Stop(SIGINT), 0);
  EXPECT_THAT(
      ReadFile(file_ + ".err").value(),
      AllOf(HasSubstr("without a network: serve a copy of Perfetto's UI"),
            HasSubstr("--ui http://localhost:10000"),
            HasSubstr("port 9001 only"),
            HasSubstr("After a new run reload the page")));
}

TEST_F(ViewTest, WrongUseIsRefused) {
  const auto refusal = [](const std::vector<std::string>& words) {
    const ProgramResult result = RunOrrery(words);
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_THAT(refusal({"view", file_ + ".none"}),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal({"view", "/"}), HasSubstr("is not a trace"));
  const std::string text = TestFile("text");
  ASSERT_OK(WriteFile(text, "dear diary"));
  EXPECT_THAT(refusal({"view", text}), HasSubstr("does not begin as one"));
  std::filesystem::remove(text);
  EXPECT_THAT(refusal({"view", file_, "--port", "70000"}),
              HasSubstr("between 0 and 65535"));
  EXPECT_THAT(refusal({"view", file_, "--ui", "ftp://x"}),
              HasSubstr("--ui must be a web address"));
  const TraceServer other =
      TraceServer::Open(file_, 0, "https://ui.perfetto.dev").value();
  EXPECT_THAT(refusal({"view", file_, "--port", fmt::to_string(other.port())}),
              HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace orrery
