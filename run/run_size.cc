#include "run/run_size.h"

#include <optional>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "sim/analysis/path_classes.h"
#include "traces/format/span.h"

namespace orrery {
namespace {

// Stored for a task of a role and its share of what its builder holds at the
// peak: the task, its name, kernel, dependency, memory effects.
constexpr int64_t kBytesPerRoleTask = 90;
// The end of a task on a rank, for the longest path.
constexpr int64_t kBytesPerRankPlace = 8;
// What a simulated rank takes beside them: its streams, groups and calls, and
// its part of the machine. Steps of 2 048 ranks took 30 kB each with their
// plans of transfers.
constexpr int64_t kBytesPerRank = 20'480;
// A span, its place in the index, and of transfers what was granted to them.
constexpr int64_t kBytesPerSpan =
    static_cast<int64_t>(sizeof(TaskSpan)) + 8 + 40;

constexpr double kRoleTasksPerSecond = 2e6;
constexpr double kRankTasksPerSecond = 3e6;

// Plans with fewer micro-batches are no larger than their siblings.
constexpr int kShort = 8;  // times the pipeline's degree
constexpr int kFirst = 2;  // the siblings' micro-batches, ditto
constexpr int kSecond = 4;

int64_t Continue(int64_t first, int64_t second, int64_t periods) {
  return first + (second - first) * periods / (kSecond - kFirst);
}

}  // namespace

Bytes RunSize::program() const {
  // As many roles as the whole one.
  return Bytes(kBytesPerRoleTask * role_tasks * (folded_too ? 2 : 1));
}
Bytes RunSize::path() const { return Bytes(kBytesPerRankPlace * rank_places); }
Bytes RunSize::spans() const {
  return Bytes(recorded ? kBytesPerSpan * rank_tasks : 0);
}
double RunSize::seconds() const {
  return static_cast<double>(role_tasks) / kRoleTasksPerSecond +
         static_cast<double>(rank_tasks) / kRankTasksPerSecond;
}

RunSize SizeOf(const Program& program, bool recorded) {
  RunSize size = {.rank_tasks = program.task_count(), .recorded = recorded};
  for (const Role& role : program.roles()) {
    size.role_tasks += role.place_count();
  }
  for (const RankId rank : RanksIfAlike(program)) {
    size.rank_places += program.role_of(rank).place_count();
  }
  return size;
}

Bytes BytesOfRanks(const Program& program) {
  return Bytes(kBytesPerRank * static_cast<int64_t>(program.ranks().size()));
}

absl::Status CheckRunSize(const RunSize& size, Bytes budget) {
  if (size.total() <= budget) return absl::OkStatus();
  std::vector<std::string> helps;
  // What takes most of it helps most.
  if (size.transfers > size.total() / 2) {
    helps = {"folding (--fold=auto)", "fidelity FLUID", "fewer ranks"};
  } else {
    helps = {"a larger micro_batch or a smaller global_batch",
             "--kernels merged (fewer tasks)"};
  }
  if (size.recorded) {
    helps.insert(helps.begin(), "no trace and no explanation of all ranks");
  }
  return absl::ResourceExhaustedError(fmt::format(
      "the step has {:.3g} tasks and would take about {} and {} "
      "(program {}, bounds {}, transfers {}, recorded spans {}), more than the "
      "{} it may "
      "take; what would help: {}, or --memory",
      static_cast<double>(size.rank_tasks), ToBinaryText(size.total(), 3),
      ToText(FromSeconds(size.seconds()), 2), ToBinaryText(size.program(), 3),
      ToBinaryText(size.path(), 3),
      size.transfers > Bytes(0) ? ToBinaryText(size.transfers, 3)
                                : std::string("not counted yet"),
      ToBinaryText(size.spans(), 3), ToBinaryText(budget, 3),
      fmt::join(helps, ", ")));
}

absl::StatusOr<std::optional<RunSize>> ForecastSize(
    const TrainingPlan& plan, bool recorded,
    absl::FunctionRef<absl::StatusOr<RunSize>(const TrainingPlan&)> measure) {
  const int pipeline = plan.degrees().pipeline;
  if (plan.micro_batches() <= int64_t{kShort} * pipeline) {
    return std::optional<RunSize>();
  }
  ASSIGN_OR_RETURN(const RunSize first,
                   measure(plan.WithMicroBatches(kFirst * pipeline)));
  ASSIGN_OR_RETURN(const RunSize second,
                   measure(plan.WithMicroBatches(kSecond * pipeline)));
  // In units of the pipeline's degree, rounded up.
  const int64_t periods =
      (plan.micro_batches() + pipeline - 1) / pipeline - kFirst;
  return std::optional<RunSize>(RunSize{
      .role_tasks = Continue(first.role_tasks, second.role_tasks, periods),
      .rank_places = Continue(first.rank_places, second.rank_places, periods),
      .rank_tasks = Continue(first.rank_tasks, second.rank_tasks, periods),
      .recorded = recorded});
}

}  // namespace orrery
