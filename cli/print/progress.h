#pragma once
// Progress: what a long command is doing, on standard error.
//
// One line, rewritten, from the second second on, and gone when it is done:
//
//   simulating: 43 %, 12 s left
//   simulating better machines, 7 s
//
// Shown only on a terminal, or if asked for; never on standard output. It comes
// also where nothing is told for long: a thread of its own looks at the clock
// from the first stage on.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "cli/flags/command.h"

namespace orrery {

class Progress {
 public:
  // How soon the first line comes, how often another, and where.
  struct Manner {
    std::chrono::milliseconds silence{1000};
    std::chrono::milliseconds between{100};
    // How often it looks whether there is something to show.
    std::chrono::milliseconds looks{250};
    std::FILE* to = stderr;
  };
  // Shown if standard error is a terminal or --progress was given.
  explicit Progress(const Arguments& arguments);
  Progress(bool shown, const Manner& manner) : shown_(shown), manner_(manner) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool shown() const { return shown_; }
  // `done` from 0 to 1; 0 if nobody knows. On any thread.
  void Tell(std::string_view stage, double done);
  // Takes the line away, before something else is printed.
  void Wipe();
  // Tell as a function, for those who call it; empty if nothing is shown.
  std::function<void(std::string_view, double)> Listener();

 private:
  using Clock = std::chrono::steady_clock;

  // Requires: `mutex_` is held.
  void Show(Clock::time_point now);
  void WipeLine();
  void Watch();

  bool shown_;
  Manner manner_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point last_ = began_;
  Clock::time_point stage_began_ = began_;
  std::string stage_;
  double done_ = 0;
  size_t width_ = 0;  // of what is on the line
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread watcher_;
};

}  // namespace orrery
