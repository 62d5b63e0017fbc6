#include "tests/storm/storm.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <poll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "base/format.h"

namespace orrery {
namespace {

// A case takes milliseconds; one that takes this much of a processor hangs.
constexpr int kHangs_s = 600;

// Ends the process when it has run for so long; 0: not any more.
void EndAfter(int seconds) {
  const itimerval time = {.it_interval = {}, .it_value = {seconds, 0}};
  setitimer(ITIMER_PROF, &time, nullptr);
}

// What a worker writes: a line per fact, fields between tabs.
std::string Line(std::initializer_list<std::string> fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (!line.empty()) line += '\t';
    line += absl::StrReplaceAll(field, {{"\t", " "}, {"\n", " "}});
  }
  return line + '\n';
}

void Write(int file, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    if (n <= 0) _exit(1);
    done += static_cast<size_t>(n);
  }
}

using Clock = std::chrono::steady_clock;

// Cases of one worker process: `first`, `first + stride`, ...
struct Share {
  int64_t next = 0;
  int64_t end = 0;
  int64_t stride = 1;
};

[[noreturn]] void Work(const Storm& storm, const StormOptions& options,
                       Share share, Clock::time_point deadline, int file) {
  for (; share.next < share.end; share.next += share.stride) {
    if (options.seconds > 0 && Clock::now() >= deadline) break;
    Write(file, Line({"begin", fmt::format("{}", share.next)}));
    EndAfter(kHangs_s);
    StormSheet sheet([&](const std::string& label) {
      Write(file, Line({"label", label}));
    });
    storm.run(options.seed, share.next, sheet);
    EndAfter(0);
    std::string text;
    for (const StormSheet::Verdict& verdict : sheet.verdicts()) {
      if (verdict.holds) {
        text += Line({"held", verdict.law});
        continue;
      }
      for (const auto& [name, value] : verdict.facts) {
        text += Line({"fact", name, fmt::format("{}", value)});
      }
      text += Line({"broken", verdict.law, verdict.what,
                    fmt::format("{}", verdict.deviation)});
    }
    Write(file, text + Line({"end"}));
  }
  Write(file, Line({"done"}));
  // Nothing of the parent's is flushed twice.
  _exit(0);
}

class Worker {
 public:
  Worker(const Storm& storm, const StormOptions& options,
         Clock::time_point deadline, Share share)
      : storm_(storm), options_(options), deadline_(deadline), share_(share) {
    Start();
  }

  int file() const { return file_; }
  bool is_done() const { return file_ < 0; }

  // Takes what the process has written.
  void Read(StormReport& report) {
    char buffer[1 << 14];
    const ssize_t n = read(file_, buffer, sizeof(buffer));
    if (n > 0) {
      pending_.append(buffer, static_cast<size_t>(n));
      size_t begin = 0;
      for (size_t end; (end = pending_.find('\n', begin)) != std::string::npos;
           begin = end + 1) {
        Take(pending_.substr(begin, end - begin), report);
      }
      pending_.erase(0, begin);
      return;
    }
    close(file_);
    file_ = -1;
    int status = 0;
    waitpid(process_, &status, 0);
    if (finished_) return;
    // It died within a case.
    ++report.cases;
    ++report.broken[kComesToAnEnd];
    report.failures.push_back(
        {share_.next, kComesToAnEnd,
         WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit code {}", WEXITSTATUS(status)),
         labels_});
    share_.next += share_.stride;
    if (share_.next < share_.end) Start();
  }

 private:
  void Start() {
    int ends[2];
    CHECK(pipe(ends) == 0) << "no pipe for a worker";
    std::fflush(nullptr);
    process_ = fork();
    CHECK(process_ >= 0) << "no process for a worker";
    if (process_ == 0) {
      close(ends[0]);
      Work(storm_, options_, share_, deadline_, ends[1]);
    }
    close(ends[1]);
    file_ = ends[0];
    pending_.clear();
  }

  void Take(const std::string& line, StormReport& report) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    const std::string& what = fields[0];
    if (what == "begin") {
      CHECK(absl::SimpleAtoi(fields[1], &share_.next));
      labels_.clear();
      facts_.clear();
    } else if (what == "held") {
      ++report.held[fields[1]];
    } else if (what == "broken") {
      ++report.broken[fields[1]];
      StormFailure& failure = report.failures.emplace_back(
          StormFailure{share_.next, fields[1], fields[2], labels_});
      CHECK(absl::SimpleAtod(fields[3], &failure.deviation));
      failure.facts = std::exchange(facts_, {});
    } else if (what == "fact") {
      CHECK(absl::SimpleAtod(fields[2], &facts_[fields[1]]));
    } else if (what == "label") {
      ++report.examples[fields[1]];
      labels_.push_back(fields[1]);
    } else if (what == "end") {
      ++report.cases;
      ++report.held[kComesToAnEnd];
    } else if (what == "done") {
      finished_ = true;
    }
  }

  const Storm& storm_;
  const StormOptions& options_;
  Clock::time_point deadline_;
  Share share_;
  pid_t process_ = 0;
  int file_ = -1;
  bool finished_ = false;
  std::string pending_;
  std::vector<std::string> labels_;  // of the case that runs
  StormFacts facts_;                 // of the failure that is told of next
};

}  // namespace

void StormSheet::Hold(const std::string& law, bool holds,
                      const std::string& what) {
  verdicts_.push_back({law, holds, what});
}

void StormSheet::HoldNear(const std::string& law, double deviation, double bar,
                          const std::string& what, const StormFacts& facts) {
  verdicts_.push_back(
      {law, std::abs(deviation) <= bar, what, deviation, facts});
}

StormReport RunStorm(const Storm& storm, const StormOptions& options) {
  // More than can be run in any time.
  constexpr int64_t kEndless = int64_t{1} << 40;
  const int64_t end =
      options.first + (options.seconds > 0 ? kEndless : options.cases);
  const auto deadline =
      Clock::now() +
      std::chrono::milliseconds(static_cast<int64_t>(1000 * options.seconds));
  StormReport report;
  std::vector<Worker> workers;
  workers.reserve(static_cast<size_t>(options.workers));
  for (int i = 0; i < options.workers; ++i) {
    if (options.first + i >= end) break;
    workers.emplace_back(storm, options, deadline,
                         Share{options.first + i, end, options.workers});
  }
  while (true) {
    std::vector<pollfd> files;
    std::vector<Worker*> of;
    for (Worker& worker : workers) {
      if (worker.is_done()) continue;
      files.push_back({worker.file(), POLLIN, 0});
      of.push_back(&worker);
    }
    if (files.empty()) break;
    if (poll(files.data(), files.size(), -1) < 0) continue;
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents != 0) of[i]->Read(report);
    }
  }
  std::stable_sort(report.failures.begin(), report.failures.end(),
                   [](const StormFailure& a, const StormFailure& b) {
                     return a.number < b.number;
                   });
  return report;
}

uint64_t DrawSeed() {
  if (const char* const given = std::getenv("ORRERY_STORM_SEED")) {
    uint64_t seed = 0;
    CHECK(absl::SimpleAtoi(given, &seed))
        << "ORRERY_STORM_SEED is '" << given << "', not a whole number";
    return seed;
  }
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
}

std::string RepeatCommand(const Storm& storm, uint64_t seed, int64_t number) {
  return fmt::format("scripts/storm --storm {} --seed {} --case {}", storm.name,
                     seed, number);
}

}  // namespace orrery
