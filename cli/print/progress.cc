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

void Progress::Wipe() {
  if (width_ == 0) return;
  std::fputs(fmt::format("\r{:{}}\r", "", width_).c_str(), manner_.to);
  std::fflush(manner_.to);
  width_ = 0;
}

void Progress::Tell(std::string_view stage, double done) {
  if (!shown_) return;
  const Clock::time_point now = Clock::now();
  if (stage != stage_) {
    stage_ = stage;
    stage_began_ = now;
  }
  if (now - began_ < manner_.silence || now - last_ < manner_.between) return;
  last_ = now;
  std::string line = stage_;
  if (done > 0) line += fmt::format(": {:.0f} %", 100 * done);
  if (done >= kEnoughToTell) {
    const std::chrono::duration<double> spent = now - stage_began_;
    line += fmt::format(", {:.0f} s left", spent.count() * (1 - done) / done);
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
