#include "cli/print/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/format.h"

namespace orrery {
namespace {

// Before this much is done nobody knows how long the rest takes.
constexpr double kEnoughToTell = 0.02;

}  // namespace

Progress::Progress(const Arguments& arguments)
    : shown_(arguments.Has("progress") || isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  Wipe();
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  watcher_.join();
}

void Progress::Wipe() {
  const std::lock_guard lock(mutex_);
  WipeLine();
  stage_.clear();  // nothing is shown until something is told again
}

void Progress::WipeLine() {
  if (width_ == 0) return;
  std::fputs(fmt::format("\r{:{}}\r", "", width_).c_str(), manner_.to);
  std::fflush(manner_.to);
  width_ = 0;
}

void Progress::Tell(std::string_view stage, double done) {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (stage != stage_) {
    stage_ = stage;
    stage_began_ = now;
  }
  done_ = done;
  Show(now);
  if (!watcher_.joinable()) watcher_ = std::thread([this] { Watch(); });
}

void Progress::Watch() {
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, manner_.looks, [this] { return is_over_; })) {
    if (!stage_.empty()) Show(Clock::now());
  }
}

void Progress::Show(Clock::time_point now) {
  if (now - began_ < manner_.silence || now - last_ < manner_.between) return;
  last_ = now;
  const std::chrono::duration<double> spent = now - stage_began_;
  std::string line = stage_;
  if (done_ > 0) {
    line += fmt::format(": {:.0f} %", 100 * done_);
  } else if (spent.count() >= 1) {
    line += fmt::format(", {:.0f} s", spent.count());
  }
  if (done_ >= kEnoughToTell) {
    line += fmt::format(", {:.0f} s left", spent.count() * (1 - done_) / done_);
  }
  std::fputs(fmt::format("\r{:<{}}", line, width_).c_str(), manner_.to);
  std::fflush(manner_.to);
  width_ = std::max(width_, line.size());
}

std::function<void(std::string_view, double)> Progress::Listener() {
  if (!shown_) return {};
  return [this](std::string_view stage, double done) { Tell(stage, done); };
}

}  // namespace orrery
