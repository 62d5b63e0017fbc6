#pragma once
// Progress: what a long command is doing, on standard error.
//
// One line, rewritten, from the second second on, and gone when it is done:
//
//   simulating: 43 %, 12 s left
//
// Shown only on a terminal, or if asked for; never on standard output.
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "cli/flags/command.h"

namespace orrery {

class Progress {
 public:
  // How soon the first line comes, how often another, and where.
  struct Manner {
    std::chrono::milliseconds silence{1000};
    std::chrono::milliseconds between{100};
    std::FILE* to = stderr;
  };
  // Shown if standard error is a terminal or --progress was given.
  explicit Progress(const Arguments& arguments);
  Progress(bool shown, const Manner& manner) : shown_(shown), manner_(manner) {}
  ~Progress() { Wipe(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool shown() const { return shown_; }
  // `done` from 0 to 1; 0 if nobody knows.
  void Tell(std::string_view stage, double done);
  // Takes the line away, before something else is printed.
  void Wipe();
  // Tell as a function, for those who call it; empty if nothing is shown.
  std::function<void(std::string_view, double)> Listener();

 private:
  using Clock = std::chrono::steady_clock;

  bool shown_;
  Manner manner_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point last_ = began_;
  Clock::time_point stage_began_ = began_;
  std::string stage_;
  size_t width_ = 0;  // of what is on the line
};

}  // namespace orrery
