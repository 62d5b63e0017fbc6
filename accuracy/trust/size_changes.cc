#include "accuracy/trust/size_changes.h"

#include <absl/strings/str_join.h>

#include <array>

#include "base/format.h"

namespace orrery {
namespace {

// A size beyond what was measured on the chip by more than this factor has no
// error to expect: kernels, exchanges and the shares of a step's parts change
// by less within a factor of two than errors differ between kinds of runs.
constexpr double kSlack = 2.0;

// How a size of a run is called.
struct SizeName {
  const char* training_field;
  const char* inference_field;
  const char* words;
};
constexpr std::array<SizeName, kRunSizes> kSizeNames = {{
    {"system.nodes", "system.nodes", "number of chips"},
    {"training.sequence", "inference.prompt", "number of tokens in a sequence"},
    {"model.hidden", "model.hidden", "width of the model"},
    {"model.layers", "model.layers", "number of layers"},
    {"model.mlp.width", "model.mlp.width", "width of the MLP"},
    {"model.vocabulary", "model.vocabulary", "size of the vocabulary"},
    {"model.attention.window", "model.attention.window", "attention window"},
    {"training.micro_batch", "inference.batch", "batch"},
    {"model.moe.experts", "model.moe.experts", "number of experts"},
    {"model.moe.expert_width", "model.moe.expert_width", "width of an expert"},
}};

size_t IndexOf(RunScale size) { return static_cast<size_t>(size); }

}  // namespace

std::vector<SizeChange> SizeChangesOf(const RunKind& run, bool training,
                                      const ErrorGroup& counted,
                                      const ErrorGroup& alike) {
  std::vector<SizeChange> changes;
  const char* const what = training ? "step" : "request";
  for (size_t i = 0; i < kRunSizes; ++i) {
    const int64_t value = run.sizes[i];
    const int64_t least = counted.least[i];
    const int64_t most = counted.most[i];
    if (value == 0 || most == 0 || (value >= least && value <= most)) continue;
    // A window that sees the whole sequence is no window.
    if (i == IndexOf(RunScale::kWindow) &&
        value == run.sizes[IndexOf(RunScale::kSequence)]) {
      continue;
    }
    const auto size = static_cast<double>(value);
    const bool within = size <= kSlack * static_cast<double>(alike.most[i]) &&
                        kSlack * size >= static_cast<double>(alike.least[i]);
    const ErrorGroup& rows = within ? counted : alike;
    const auto& [training_field, inference_field, words] = kSizeNames[i];
    changes.push_back(
        {.field = training ? training_field : inference_field,
         .text = fmt::format(
             "the {}{} is {}, measured {}s had {}",
             training && i == IndexOf(RunScale::kBatch) ? "micro-" : "", words,
             value, what,
             rows.least[i] == rows.most[i]
                 ? fmt::to_string(rows.most[i])
                 : fmt::format("{} to {}", rows.least[i], rows.most[i])),
         .within = within,
         .factor = size / static_cast<double>(value > most ? most : least)});
  }
  if (!run.schedule.empty() && !counted.schedules.contains(run.schedule)) {
    changes.push_back(
        {.field = "training.schedule",
         .text = fmt::format("the schedule is {}, measured steps had {}",
                             run.schedule,
                             counted.schedules.empty()
                                 ? "no pipeline"
                                 : absl::StrJoin(counted.schedules, ", ")),
         .within = alike.schedules.contains(run.schedule)});
  }
  return changes;
}

}  // namespace orrery
