#include "analytic/step/stage_passes.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr double kNever = PassDelays::kNever;

// When gathers of weights start.
enum class Gathers { kNone, kWithPass, kOneAhead, kFromTheBeginning };

// What stands among the units of a pass.
struct Among {
  Gathers gathers = Gathers::kNone;
  bool reduces = false;
  bool across = false;  // also between copies
};

class Composer {
 public:
  explicit Composer(const StageQuestion& question)
      : q_(question),
        data_(question.data),
        plan_(question.data.plan),
        sharded_weights_(plan_.sharding() == Sharding::kWeights),
        every_(plan_.reduces_every_micro_batch()) {}

  StageTimes Compose() const {
    const bool reduces = every_ || data_.overlaps_reduction();
    const Gathers again = sharded_weights_ && plan_.reshards_after_forward()
                              ? Ahead(data_.overlaps_gather(/*forward=*/false))
                              : Gathers::kNone;
    StageTimes times;
    times.forward =
        Delays<true>(&PassSet::forward, {.gathers = ForwardGathers()});
    times.first_forward =
        Delays<true>(&PassSet::forward, {.gathers = FirstGathers()});
    times.input_gradient =
        Delays<false>(&PassSet::input_gradient, {.gathers = again});
    times.weight_gradient = Delays<false>(&PassSet::weight_gradient, {});
    const Among each{.gathers = again, .reduces = reduces && every_};
    const Among last{.gathers = again, .reduces = reduces, .across = true};
    times.backward = Delays<false>(&PassSet::backward, each);
    times.last_backward = Delays<false>(&PassSet::backward, last);
    if (each.reduces) {
      times.reduce_backward = Reductions(&PassSet::backward, each);
      times.reduce_weight_gradient =
          Reductions(&PassSet::weight_gradient, {.reduces = true});
    }
    if (last.reduces) {
      times.reduce_last_backward = Reductions(&PassSet::backward, last);
      times.reduce_last_weight_gradient = Reductions(
          &PassSet::weight_gradient, {.reduces = true, .across = true});
    }
    if (FirstGathers() >= Gathers::kOneAhead) times.gathered = FromBeginning();
    return times;
  }

 private:
  using Kind = PassDelays PassSet::*;

  // Calls one after the other: the end of the last, and the share of its time
  // for which its busiest line is.
  struct Row {
    double end = kNever;
    double busy = 1;
  };

  // Rows of a rank.
  struct Rows {
    PassMoment at;
    // The last kernels of the pass of the last unit, and of the one before it.
    double last;
    double before_last;
    Row gathered;
    Row reduced = {};
  };

  static Gathers Ahead(bool overlaps) {
    return overlaps ? Gathers::kOneAhead : Gathers::kWithPass;
  }
  Gathers ForwardGathers() const {
    return sharded_weights_ && plan_.reshards_after_forward()
               ? Ahead(data_.overlaps_gather(/*forward=*/true))
               : Gathers::kNone;
  }
  Gathers FirstGathers() const {
    const bool overlaps = data_.overlaps_gather(/*forward=*/true);
    if (sharded_weights_) return Ahead(overlaps);
    return plan_.sharding() >= Sharding::kOptimizer && overlaps
               ? Gathers::kFromTheBeginning
               : Gathers::kNone;
  }

  // A call that starts no earlier than `start`; it and one that it meets take
  // longer by what does not fit on the line.
  void Add(double start, const TrafficTime& call, Row& row, Row& other) const {
    start = std::max(row.end, start);
    row.end = start + call.seconds;
    if (q_.least || call.seconds == 0) return;
    row.busy = call.wire / call.seconds;
    const double met = std::clamp(other.end - start, 0.0, call.seconds);
    if (met == 0) return;
    const double longer = met * std::max(0.0, row.busy + other.busy - 1);
    row.end += longer;
    other.end += longer;
  }

  void Gather(Gathers gathers, const TrafficTime& call, Rows& rows) const {
    if (gathers == Gathers::kNone || call.seconds == 0) return;
    double issued = kNever;
    if (gathers == Gathers::kWithPass) {
      issued = std::max(rows.at.result, rows.last);
    } else if (gathers == Gathers::kOneAhead) {
      issued = rows.before_last;
    }
    Add(issued, call, rows.gathered, rows.reduced);
    rows.at.result = std::max(rows.at.result, rows.gathered.end);
  }

  void Reduce(const UnitTraffic& traffic, bool across, Rows& rows) const {
    TrafficTime call = traffic.reduce;
    if (across) call += traffic.across;
    // Ranks that share with nobody reduce nothing.
    if (!traffic.fills || call.seconds == 0) return;
    const double ready = data_.overlaps_reduction()
                             ? rows.at.kernels
                             : std::max(rows.at.kernels, rows.at.result);
    Add(ready, call, rows.reduced, rows.gathered);
  }

  template <bool kForward>
  void Run(Kind kind, const Among& among, Rows& rows) const {
    // Split weight gradients wait for no reduction.
    const bool waits = !kForward && every_ && !data_.overlaps_reduction() &&
                       kind != &PassSet::weight_gradient;
    const size_t count = q_.units.size();
    for (size_t i = 0; i < count; ++i) {
      // Traffic stands in the order of the backward pass.
      const PassDelays& pass = q_.units[kForward ? i : count - 1 - i]->*kind;
      if (pass.empty()) continue;
      const UnitTraffic& traffic =
          q_.traffic.units[kForward ? count - 1 - i : i];
      if (waits) rows.at.result = std::max(rows.at.result, rows.reduced.end);
      Gather(among.gathers, traffic.gather, rows);
      rows.at = pass.After(rows.at);
      rows.before_last = rows.last;
      rows.last = rows.at.kernels;
      if (among.reduces) Reduce(traffic, among.across, rows);
    }
    if (among.reduces) Reduce(q_.traffic.rest, among.across, rows);
  }

  Rows AfterKernels(const Among& among) const {
    Rows rows{
        .at = {0, kNever}, .last = 0, .before_last = kNever, .gathered = {}};
    // In a row of passes without a wait the unit before the first one has just
    // been passed.
    if (!q_.least && among.gathers == Gathers::kOneAhead) rows.before_last = 0;
    return rows;
  }
  static Rows AfterInput() {
    return {.at = {kNever, 0},
            .last = kNever,
            .before_last = kNever,
            .gathered = {}};
  }

  template <bool kForward>
  PassDelays Delays(Kind kind, Among among) const {
    // Beside the pass they have rows of their own.
    if (data_.overlaps_reduction() && q_.least) among.reduces = false;
    if (among.gathers == Gathers::kFromTheBeginning) {
      among.gathers = Gathers::kNone;
    }
    PassDelays delays;
    Rows rows = AfterKernels(among);
    Run<kForward>(kind, among, rows);
    delays.after_kernels = rows.at;
    rows = AfterInput();
    Run<kForward>(kind, among, rows);
    delays.after_input = rows.at;
    return delays;
  }

  RowDelays Reductions(Kind kind, const Among& among) const {
    RowDelays delays;
    for (const UnitTraffic& unit : q_.traffic.units) {
      delays.after_row +=
          unit.reduce.seconds + (among.across ? unit.across.seconds : 0);
    }
    const UnitTraffic& rest = q_.traffic.rest;
    delays.after_row +=
        rest.reduce.seconds + (among.across ? rest.across.seconds : 0);
    Rows rows = AfterKernels(among);
    Run<false>(kind, among, rows);
    delays.after_kernels = rows.reduced.end;
    rows = AfterInput();
    Run<false>(kind, among, rows);
    delays.after_input = rows.reduced.end;
    return delays;
  }

  // The first pass, of a step that begins with its gathers.
  PassMoment FromBeginning() const {
    Rows rows{.at = {kNever, kNever},
              .last = kNever,
              .before_last = kNever,
              .gathered = {.end = q_.gathered_before}};
    Run<true>(&PassSet::forward, {.gathers = FirstGathers()}, rows);
    return rows.at;
  }

  const StageQuestion& q_;
  const DataQuestion& data_;
  const TrainingPlan& plan_;
  bool sharded_weights_;
  bool every_;
};

}  // namespace

StageTimes ComposeStage(const StageQuestion& question) {
  return Composer(question).Compose();
}

}  // namespace orrery
