#include "accuracy/trust/run_kind_of.h"

#include <algorithm>

namespace orrery {
namespace {

// Interleaving cuts stages into pieces and runs them in the same order.
std::string ScheduleFamily(const pb::Training& training) {
  if (training.parallel().pipeline() <= 1) return "";
  return pb::Training::Schedule_Name(training.schedule() ==
                                             pb::Training::INTERLEAVED_1F1B
                                         ? pb::Training::ONE_F_ONE_B
                                         : training.schedule());
}

RunSizes SizesOf(const pb::Scenario& scenario) {
  const pb::System& system = scenario.system();
  const pb::Model& model = scenario.model();
  const bool training = scenario.has_training();
  const int64_t sequence = training ? int64_t{scenario.training().sequence()}
                                    : int64_t{scenario.inference().prompt()} +
                                          scenario.inference().output();
  const int64_t window =
      model.attention().has_window()
          ? std::min<int64_t>(model.attention().window(), sequence)
          : sequence;
  RunSizes sizes{};
  const auto set = [&](RunScale size, int64_t value) {
    sizes[static_cast<size_t>(size)] = value;
  };
  set(RunScale::kChips, int64_t{system.nodes()} * system.chips_per_node());
  set(RunScale::kSequence, sequence);
  set(RunScale::kHidden, model.hidden());
  set(RunScale::kLayers, model.layers());
  set(RunScale::kMlpWidth, model.mlp().width());
  set(RunScale::kVocabulary, model.vocabulary());
  set(RunScale::kWindow, window);
  set(RunScale::kBatch, training ? scenario.training().micro_batch()
                                 : scenario.inference().batch());
  set(RunScale::kExperts, model.moe().experts());
  set(RunScale::kExpertWidth, model.moe().expert_width());
  return sizes;
}

}  // namespace

RunKind KindOf(const pb::Scenario& scenario) {
  const pb::System& system = scenario.system();
  RunKind kind{.chip = system.chip().name(),
               .system = system.name(),
               .experts = scenario.model().moe().experts() > 0,
               .sizes = SizesOf(scenario)};
  if (scenario.has_training()) {
    kind.software = scenario.framework().name();
    kind.precision = pb::DType_Name(scenario.training().precision());
    kind.schedule = ScheduleFamily(scenario.training());
    return kind;
  }
  const pb::Inference& inference = scenario.inference();
  kind.software = inference.engine().name();
  kind.precision = pb::DType_Name(inference.has_weight_precision()
                                      ? inference.weight_precision()
                                      : inference.precision());
  return kind;
}

}  // namespace orrery
