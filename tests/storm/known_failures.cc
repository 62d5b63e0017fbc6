#include "tests/storm/known_failures.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

namespace orrery {
namespace {

// 0 where the law told no such number.
double Fact(const StormFailure& failure, const std::string& name) {
  const auto fact = failure.facts.find(name);
  return fact == failure.facts.end() ? 0 : fact->second;
}

bool HasLabel(const StormFailure& failure, const std::string& label) {
  return std::find(failure.labels.begin(), failure.labels.end(), label) !=
         failure.labels.end();
}

// FLUID lets the latencies of a phase pass, and then the bytes of its busiest
// link; message by message, bytes move on some links while latencies pass on
// others. STEPPED takes as long as the longer of the two at the least, so that
// FLUID exceeds it by no more than the shorter.
bool TakesLonger(const StormFailure& failure) { return failure.deviation > 0; }
double ShorterOfLatencyAndWire(const StormFailure& failure) {
  return std::min(Fact(failure, "latency"), Fact(failure, "wire"));
}

// FLUID lets a phase begin when the one before has ended everywhere; message by
// message, a rank goes on when its own messages are done. A phase that waits
// for its slowest message need not, and links need not stand still until the
// busiest of the phase is done: they are busy as long as the busiest of all
// phases together at the least. The chain and the plain ring have no such
// phases.
bool WaitsBetweenPhases(const StormFailure& failure) {
  return failure.deviation > 0 && !absl::EndsWith(failure.law, " chain") &&
         !absl::EndsWith(failure.law, " ring");
}
double WaitsOfPhases(const StormFailure& failure) {
  return ShorterOfLatencyAndWire(failure) + Fact(failure, "uneven") +
         Fact(failure, "barriers");
}

// A step that waits for calls is off by as much as these are. A call takes at
// most its latencies and its bytes, and STEPPED the longer of the two: of what
// is exposed, half can be too much.
double HalfOfWhatIsExposed(const StormFailure& failure) {
  return Fact(failure, "exposed") / 2;
}

// Who is done with a phase early begins the next and takes links from those who
// are not. What they wait for is at most what both phases have to send.
bool PhasesCompete(const StormFailure& failure) {
  return failure.deviation < 0 && Fact(failure, "neighbours") > 0;
}
double BytesOfNeighbours(const StormFailure& failure) {
  return Fact(failure, "neighbours");
}

// FLUID counts the mean hop of a ring p - 1 times. A chunk leaves out one hop
// of p, which may be the fastest, and so meets at most all p of them: 1 / (p-1)
// more than was counted.
bool GoesRoundARing(const StormFailure& failure) {
  return failure.deviation < 0 && Fact(failure, "ring hops") > 1;
}
double TheHopLeftOut(const StormFailure& failure) {
  return Fact(failure, "latency") / Fact(failure, "ring hops");
}

// Switches that add up send along trees whose links the closed form takes to be
// whole.
bool AddsUpOverAFault(const StormFailure& failure) {
  return HasLabel(failure, "fault") && failure.deviation < 0 &&
         Fact(failure, "in network") > 0;
}
double WhatTheFaultTakes(const StormFailure& failure) {
  return 1 - Fact(failure, "remaining");
}

// Without spraying a tree has one root. Where there are more trees than roots,
// or those of a leaf are not neighbours, two have the same; the formula deals
// all trees evenly. What two send over one cable takes twice as long.
bool SharesARoot(const StormFailure& failure) {
  return failure.deviation < 0 && Fact(failure, "in network") > 0 &&
         HasLabel(failure, "routing ECMP");
}

// The formula prices a tree wherever switches add up. The simulator looks for
// one in the graph, and finds none for some groups whose chips share NICs or
// rails: what it takes in its place can be any number of times as long.
bool FindsNoTree(const StormFailure& failure) {
  return failure.deviation < 0 && Fact(failure, "in network") == 0 &&
         Fact(failure, "network adds up") > 0 &&
         !absl::EndsWith(failure.law, "_gather") &&
         !absl::EndsWith(failure.law, "_scatter") &&
         !absl::EndsWith(failure.law, "_all");
}
double AllOfIt(const StormFailure& /*failure*/) { return 1; }

// Gradients that are summed up go when their reduction ends. The formula lets
// each reduction run by itself; where others share its links it ends later, and
// gradients of passes after it are there as well. All that can be there at the
// peak beyond the formula are gradients.
bool KeepsGradientsLonger(const StormFailure& failure) {
  return failure.deviation < 0 && HasLabel(failure, "gradients sharded");
}
double GradientsAtThePeak(const StormFailure& failure) {
  return Fact(failure, "gradients");
}

// The other way round: reductions that run beside each other, or start before
// the passes that the formula puts them after, end earlier. What the formula
// has too many of are gradients, and no more than all of them.
bool ReducesSooner(const StormFailure& failure) {
  return failure.deviation > 0 && HasLabel(failure, "gradients sharded");
}
double AllGradients(const StormFailure& failure) {
  return Fact(failure, "all gradients");
}

// All groups of a kind count as the one that is slowest for one size of call.
// Where links are not those of a formula, or groups lie on rings, rails and
// islands in different ways, another is slowest for another size, and a path
// goes from group to group. Kernels are the same in both: what differs is
// calls.
bool GroupsLieUnlike(const StormFailure& failure) {
  return failure.law == "closed form, rewired" ||
         HasLabel(failure, "scale-up torus") || HasLabel(failure, "not folded");
}
double Calls(const StormFailure& failure) { return Fact(failure, "calls"); }

// A detour takes two ways instead of one, and so as many bytes again. FLUID
// knows for a call what part of it goes which way, STEPPED decides for every
// message; at worst one of the two has all of it on detours.
bool TakesDetours(const StormFailure& failure) {
  return failure.deviation < 0 && HasLabel(failure, "routing ADAPTIVE");
}
double AsMuchAgain(const StormFailure& /*failure*/) { return 0.5; }

// Routers that adapt are taken to see all groups of a family at once. Sends of
// a pipeline go one after the other: one by itself would be faster by detours.
// What a step can lose by it is what its critical path spends in calls.
bool WeighsSendsTogether(const StormFailure& failure) {
  return HasLabel(failure, "pipeline");
}
double CallsOnThePath(const StormFailure& failure) {
  return Fact(failure, "path calls");
}

// Chunks that cross a link with a fault fall behind, and meet those of the next
// rounds on other links; FLUID has one round after the other. What they wait
// for is at most what the call has to send.
bool CrossesAFault(const StormFailure& failure) {
  return failure.deviation < 0 && HasLabel(failure, "fault");
}
double Wire(const StormFailure& failure) { return Fact(failure, "wire"); }

// Along an open line of a mesh a ring goes forth and back, and detours go round
// a ring the other way. FLUID lets all chunks of a round move at once; message
// by message, one on such a way meets others, and waits for at most what the
// call has to send.
bool GoesForthAndBack(const StormFailure& failure) {
  return failure.deviation < 0 &&
         (HasLabel(failure, "scale-up mesh") ||
          HasLabel(failure, "routing VALIANT")) &&
         absl::EndsWith(failure.law, " grid");
}

// Pieces follow one another through the levels of a tree. FLUID lets the levels
// share links evenly; message by message, pieces of one level wait for those of
// others, at most until all of these have passed.
bool StreamsThroughTrees(const StormFailure& failure) {
  return failure.deviation < 0 &&
         absl::EndsWith(failure.law, " double_binary_tree");
}

// FLUID adds the latencies of all levels of a tree. Up and down, one chip after
// the other, a message passes half of them at the least.
bool ClimbsATree(const StormFailure& failure) {
  return failure.deviation > 0 &&
         absl::EndsWith(failure.law, " double_binary_tree");
}
double HalfOfTheLatency(const StormFailure& failure) {
  return Fact(failure, "latency") / 2;
}

// Two halves of a batch take turns: which exchange of one meets which kernel of
// the other changes with the length of the cache. What a kernel gains by
// meeting none is the share of the chip that an exchange takes.
bool RunsInHalves(const StormFailure& failure) {
  return HasLabel(failure, "halves");
}
double ShareOfTheChip(const StormFailure& failure) {
  return Fact(failure, "chip share");
}

// A host that runs beside the chip hides the shorter of the two: a request
// takes half as long at best.
bool HostHides(const StormFailure& failure) { return failure.deviation < 0; }
double Half(const StormFailure& /*failure*/) { return 0.5; }

// Why is not established: seen once, at 4 parts in 100 000, with attention over
// tensor and context ranks.
bool IsDrawnLonger(const StormFailure& failure) {
  return failure.deviation > 0 && HasLabel(failure, "context");
}
double FourInAHundredThousand(const StormFailure& /*failure*/) { return 5e-5; }

constexpr KnownFailure kKnown[] = {
    {"training", "stepped step", TakesLonger, HalfOfWhatIsExposed,
     "the step waits for calls that FLUID takes to be longer", 1795061440, 62},
    {"training", "memory by formula", KeepsGradientsLonger, GradientsAtThePeak,
     "the formula lets every reduction have its links to itself", 1795058951,
     1818},
    {"training", "memory by formula", ReducesSooner, AllGradients,
     "the formula puts reductions in one row, after their passes", 1, 184},
    {"training", "closed form", GroupsLieUnlike, Calls,
     "all groups of a kind count as one of them", 515151, 1021},
    {"training", "stepped alone, ", TakesDetours, AsMuchAgain,
     "STEPPED chooses detours message by message", 1, 110},
    {"training", "adaptive loses to no fixed rule", WeighsSendsTogether,
     CallsOnThePath, "sends that go one after the other are weighed together",
     9103, 2262},
    {"training", "stepped alone, ", ClimbsATree, HalfOfTheLatency,
     "FLUID adds the latencies of levels that a message need not pass",
     1795058951, 1483},
    {"training", "stepped alone, ", CrossesAFault, Wire,
     "chunks behind a fault meet those of the next rounds", 424242, 1212},
    {"training", "stepped alone, ", TakesLonger, ShorterOfLatencyAndWire,
     "FLUID adds latencies and bytes that overlap message by message",
     1795058951, 100},
    {"training", "stepped alone, ", GoesRoundARing, TheHopLeftOut,
     "FLUID counts the mean hop of a ring, a chunk may leave out the fastest",
     1795058951, 134},
    {"inference", "closed form of passes run once", GroupsLieUnlike, Calls,
     "passes in a row are those of one rank for each stage", 1795130661, 384},
    {"inference", "a longer context is not faster", RunsInHalves,
     ShareOfTheChip, "exchanges of one half meet other kernels of the other",
     1795058951, 1395},
    {"calls", "stepped alone, ", GoesForthAndBack, Wire,
     "chunks on their way back along a line meet others", 1795066681, 11},
    {"calls", "stepped alone, grid", CrossesAFault, Wire,
     "chunks behind a fault meet those of the next rounds", 9204, 2678},
    {"inference", "drawn steps take", HostHides, Half,
     "a host beside the chip hides the shorter of the two", 424242, 29},
    {"inference", "drawn steps take", IsDrawnLonger, FourInAHundredThousand,
     "why is not established", 1, 256},
    {"calls", "stepped alone, ", TakesLonger, ShorterOfLatencyAndWire,
     "FLUID adds latencies and bytes that overlap message by message", 77, 90},
    {"calls", "stepped alone, ", WaitsBetweenPhases, WaitsOfPhases,
     "FLUID lets ranks wait for one another between phases", 1795061440, 34},
    {"calls", "stepped alone, ", GoesRoundARing, TheHopLeftOut,
     "FLUID counts the mean hop of a ring, a chunk may leave out the fastest",
     77, 56},
    {"calls", "stepped alone, ", PhasesCompete, BytesOfNeighbours,
     "a phase takes links from the one before, which is not done everywhere",
     1795061440, 206},
    {"calls", "stepped alone, ", StreamsThroughTrees, Wire,
     "pieces of one level of a tree wait for those of others", 1795063868, 38},
    {"calls", "stepped alone, ", ClimbsATree, HalfOfTheLatency,
     "FLUID adds the latencies of levels that a message need not pass", 99,
     176},
    {"calls", "closed form, ", AddsUpOverAFault, WhatTheFaultTakes,
     "the trees of switches that add up are taken to be whole", 1795061440,
     505},
    {"calls", "closed form, ", SharesARoot, Half,
     "two trees of switches share a root", 9304, 4489},
    {"calls", "closed form, ", FindsNoTree, AllOfIt,
     "the simulator finds no tree of switches where the formula prices one",
     100, 97},
};

}  // namespace

absl::Span<const KnownFailure> KnownFailures() { return kKnown; }

const KnownFailure* FindKnown(const std::string& storm,
                              const StormFailure& failure) {
  for (const KnownFailure& known : kKnown) {
    if (storm == known.storm && absl::StartsWith(failure.law, known.law) &&
        known.applies(failure) &&
        std::abs(failure.deviation) <= known.bound(failure)) {
      return &known;
    }
  }
  return nullptr;
}

}  // namespace orrery
