#include "analytic/inference/pass_tape.h"

#include <utility>
#include <variant>

#include "analytic/step/step_tape.h"

namespace orrery {
namespace {

using What = TapeItem::What;

class PassTapeWriter {
 public:
  PassTapeWriter(const PassTapeQuestion& q, RankTapes& tapes)
      : q_(q), writer_(q.placement, q.prices, tapes) {}

  void Write(const PassOps& pass, int stage) {
    writer_.Begin();
    const int last = static_cast<int>(pass.stages.size()) - 1;
    ran_ = false;
    if (q_.launch == EngineLaunch::kGraph) {
      writer_.Add(
          {.what = What::kHost, .seconds = ToSeconds(q_.engine.graph_start)});
    }
    for (int part = 0; part < q_.parts; ++part) {
      receives_ = stage > 0;
      for (const UnitRow& row : pass.stages[static_cast<size_t>(stage)]) {
        for (int i = 0; i < row.times; ++i) Run(pass.ops[row.unit], part);
      }
      if (stage == last) continue;
      writer_.Add({.what = What::kSend, .index = part, .peer = stage + 1});
    }
    const double between = ToSeconds(q_.between);
    writer_.Add({.what = What::kHost,
                 .flag = !q_.engine.overlap_steps,
                 .seconds = between});
  }

 private:
  void Run(const LayerOps& ops, int part) {
    for (const LayerStep& step : ops.forward) {
      // The blocks of a ring are started one by one.
      LayerStep block = step;
      int blocks = 1;
      if (auto* exchange = std::get_if<Exchange>(&block.what)) {
        blocks = std::exchange(exchange->steps, 1);
      }
      for (int i = 0; i < blocks; ++i) {
        Start(step.exchange());
        if (std::exchange(receives_, false)) {
          writer_.Add({.what = What::kReceive, .index = part});
        }
        writer_.AddStep(block);
      }
    }
  }

  void Start(const Exchange* call) {
    if (q_.launch == EngineLaunch::kGraph) return;
    const bool waits = q_.launch == EngineLaunch::kWaiting ||
                       (call != nullptr && q_.engine.wait_for_collectives);
    const Duration start = call != nullptr
                               ? q_.collective[static_cast<size_t>(call->group)]
                               : q_.engine.host_launch;
    writer_.Add({.what = What::kHost,
                 .flag = waits && ran_,
                 .seconds = ToSeconds(start)});
    ran_ = true;
  }

  const PassTapeQuestion& q_;
  StepTape writer_;
  bool ran_ = false;
  bool receives_ = false;
};

}  // namespace

RankTapes WritePassTapes(const PassTapeQuestion& question) {
  RankTapes tapes;
  tapes.transfer = question.transfer;
  PassTapeWriter writer(question, tapes);
  const auto stages = static_cast<int>(question.classes[0].stages.size());
  for (int stage = 0; stage < stages; ++stage) {
    tapes.receives.push_back(stage > 0 ? question.parts : 0);
  }
  for (const PassOps& pass : question.classes) {
    for (int stage = 0; stage < stages; ++stage) writer.Write(pass, stage);
  }
  return tapes;
}

}  // namespace orrery
