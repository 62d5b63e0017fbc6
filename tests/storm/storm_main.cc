// A storm by hand: many cases for as long as one likes, or one case again. See
// scripts/storm.
#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <thread>

#include "base/format.h"
#include "tests/storm/call_storm.h"
#include "tests/storm/inference_storm.h"
#include "tests/storm/known_failures.h"
#include "tests/storm/storm.h"
#include "tests/storm/training_storm.h"

namespace orrery {
namespace {

constexpr char kUsage[] =
    "storm [--storm NAME] [--seed S] [--minutes N | --cases N] [--first N]\n"
    "      [--workers N] [--print]\n"
    "                           many cases, of a new seed unless one is "
    "given,\n"
    "                           with known failures if asked for\n"
    "storm [--storm NAME] --seed S --case N [--print]\n"
    "                           one again, with its scenario if asked for\n";

struct Wish {
  std::string storm = "training";
  StormOptions options;
  int64_t one = -1;
  bool print = false;
};

bool Read(int argc, char** argv, Wish& wish) {
  const int cores =
      static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  wish.options.workers = cores;
  wish.options.seed = DrawSeed();
  bool has_seed = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--print") {
      wish.print = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    double minutes = 0;
    bool ok = true;
    if (flag == "--storm") {
      wish.storm = value;
    } else if (flag == "--seed") {
      has_seed = ok = absl::SimpleAtoi(value, &wish.options.seed);
    } else if (flag == "--minutes") {
      ok = absl::SimpleAtod(value, &minutes) && minutes > 0;
      wish.options.seconds = 60 * minutes;
    } else if (flag == "--cases") {
      ok = absl::SimpleAtoi(value, &wish.options.cases);
    } else if (flag == "--first") {
      ok = absl::SimpleAtoi(value, &wish.options.first);
    } else if (flag == "--workers") {
      ok = absl::SimpleAtoi(value, &wish.options.workers);
    } else if (flag == "--case") {
      ok = absl::SimpleAtoi(value, &wish.one);
    } else {
      return false;
    }
    if (!ok) return false;
  }
  return wish.one >= 0 ? has_seed
                       : wish.options.cases > 0 || wish.options.seconds > 0;
}

int RunOne(const Storm& storm, const Wish& wish) {
  if (wish.print) {
    std::fputs(storm.describe(wish.options.seed, wish.one).c_str(), stdout);
    std::fflush(stdout);
  }
  StormSheet sheet;
  storm.run(wish.options.seed, wish.one, sheet);
  int broken = 0;
  for (const StormSheet::Verdict& verdict : sheet.verdicts()) {
    broken += verdict.holds ? 0 : 1;
    fmt::print(wish.print ? stderr : stdout, "{:<8} {:<32} {}\n",
               verdict.holds ? "holds" : "BROKEN", verdict.law, verdict.what);
  }
  return broken == 0 ? 0 : 1;
}

int RunMany(const Storm& storm, const Wish& wish) {
  // At once: a run that is stopped can be repeated too.
  fmt::print("storm of {}, seed {}\n", storm.name, wish.options.seed);
  std::fflush(stdout);
  const StormReport report = RunStorm(storm, wish.options);
  int64_t unknown = 0;
  for (const StormFailure& failure : report.failures) {
    const bool known = FindKnown(storm.name, failure) != nullptr;
    unknown += known ? 0 : 1;
    if (known && !wish.print) continue;
    fmt::print("{}{}: {}\n  {}\n", known ? "known: " : "", failure.law,
               failure.what, absl::StrJoin(failure.labels, ", "));
    for (const auto& [name, value] : failure.facts) {
      fmt::print("  {} {:.4g}", name, value);
    }
    fmt::print("{}  {}\n", failure.facts.empty() ? "" : "\n",
               RepeatCommand(storm, wish.options.seed, failure.number));
  }
  fmt::print(
      "\n{} cases of seed {}, {} failures of which {} are known\n\n{:<32} "
      "{:>9} {:>9}\n",
      report.cases, wish.options.seed, report.failures.size(),
      static_cast<int64_t>(report.failures.size()) - unknown, "law", "held",
      "broken");
  std::map<std::string, int64_t> laws = report.held;
  for (const auto& [law, count] : report.broken) laws.try_emplace(law, 0);
  for (const auto& [law, held] : laws) {
    const auto broken = report.broken.find(law);
    fmt::print("{:<32} {:>9} {:>9}\n", law, held,
               broken == report.broken.end() ? 0 : broken->second);
  }
  fmt::print("\n");
  for (const auto& [label, count] : report.examples) {
    fmt::print("{:<40} {:>9}\n", label, count);
  }
  return unknown == 0 ? 0 : 1;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  orrery::Wish wish;
  if (!orrery::Read(argc, argv, wish)) {
    std::fputs(orrery::kUsage, stderr);
    return 2;
  }
  for (const orrery::Storm& storm :
       {orrery::TrainingStorm(), orrery::InferenceStorm(),
        orrery::CallStorm()}) {
    if (storm.name != wish.storm) continue;
    return wish.one >= 0 ? orrery::RunOne(storm, wish)
                         : orrery::RunMany(storm, wish);
  }
  fmt::print(stderr,
             "there is no storm '{}'; there are: training, "
             "inference, calls\n",
             wish.storm);
  return 2;
}
