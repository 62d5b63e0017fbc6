#pragma once
// A storm: many cases drawn at random, each held against laws that need no
// reference.
//
// A case is its seed and its number, whatever ran before it and however many
// workers there are; so what failed once fails again:
//
//   const StormReport report = RunStorm(TrainingStorm(), {.cases = 400});
//   for (const StormFailure& failure : report.failures) ...
//
// Cases run in worker processes: one that crashes, or never ends, is a failure
// of its own and takes no other case with it.
//
// To add a storm (of inference, of collectives): write functions that describe
// case (seed, number), and that hold it against laws and note each on a
// StormSheet; give it a name, and list it in storm_main.cc.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace orrery {

// Numbers by their names.
using StormFacts = std::map<std::string, double>;

// What one case has to show.
class StormSheet {
 public:
  // `listener`, if given, is told of every label at once.
  explicit StormSheet(std::function<void(const std::string&)> listener = {})
      : listener_(std::move(listener)) {}

  // What the case is an example of.
  void Label(const std::string& label) {
    if (listener_) listener_(label);
  }
  // Holds the case against a law; says what broke it, if it does not hold.
  void Hold(const std::string& law, bool holds, const std::string& what);
  // Holds a deviation (0.1: 10 % too much) against the largest that the law
  // allows. `facts` are numbers of the case that explain it; whoever lists a
  // known failure bounds the deviation by them (known_failures.h).
  void HoldNear(const std::string& law, double deviation, double bar,
                const std::string& what, const StormFacts& facts = {});

  struct Verdict {
    std::string law;
    bool holds;
    std::string what;
    double deviation = 0;
    StormFacts facts = {};
  };
  const std::vector<Verdict>& verdicts() const { return verdicts_; }

 private:
  std::function<void(const std::string&)> listener_;
  std::vector<Verdict> verdicts_;
};

struct Storm {
  std::string name;
  // The case as text that `orrery` can run.
  std::function<std::string(uint64_t seed, int64_t number)> describe;
  std::function<void(uint64_t seed, int64_t number, StormSheet& sheet)> run;
};

struct StormOptions {
  uint64_t seed = 1;
  int64_t first = 0;
  // Either so many cases, or as many as begin within so many seconds.
  int64_t cases = 0;
  double seconds = 0;
  int workers = 1;
};

struct StormFailure {
  int64_t number = 0;
  std::string law;
  std::string what;
  std::vector<std::string> labels;  // of the case
  // Of a law that holds a number; 0 and none otherwise.
  double deviation = 0;
  StormFacts facts = {};
};

struct StormReport {
  int64_t cases = 0;
  std::vector<StormFailure> failures;       // by number
  std::map<std::string, int64_t> held;      // laws: how often held
  std::map<std::string, int64_t> broken;    // laws: how often not
  std::map<std::string, int64_t> examples;  // labels: how many cases
};

// The law that a case comes to its end.
inline constexpr char kComesToAnEnd[] = "comes to an end";

StormReport RunStorm(const Storm& storm, const StormOptions& options);

// A seed that no run had before: that of the environment variable
// ORRERY_STORM_SEED, which repeats a run, else from the clock.
uint64_t DrawSeed();

// What to type to see a case again.
std::string RepeatCommand(const Storm& storm, uint64_t seed, int64_t number);

}  // namespace orrery
