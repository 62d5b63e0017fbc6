#include "run/search/plan_space.h"

#include <absl/strings/str_join.h>

#include <algorithm>

#include "base/format.h"
#include "catalog/nearest.h"
#include "run/search/degrees_tried.h"

namespace orrery {
namespace {

// Beyond these a plan spends its time on communication or on idle kernels.
constexpr int kMostContext = 64;
constexpr int kFewestTokens = 1024;
constexpr int kMostMicroBatch = 16;
constexpr int kMostPieces = 8;

constexpr absl::string_view kAxisNames[kPlanAxes] = {
    "tensor",          "context",  "pipeline", "expert",    "sequence_parallel",
    "micro_batch",     "schedule", "sharding", "recompute", "context_method",
    "dispatch_method", "order"};

PlanChoice ChoiceOf(const pb::Training& said) {
  PlanChoice choice;
  const pb::Parallel& parallel = said.parallel();
  choice.kernels = {.tensor = parallel.tensor(),
                    .context = parallel.context(),
                    .expert = parallel.expert(),
                    .expert_tensor = parallel.expert_tensor(),
                    .sequence_parallel = parallel.sequence_parallel(),
                    .micro_batch = said.micro_batch()};
  choice.pipeline = parallel.pipeline();
  choice.data = parallel.data();
  choice.schedule = said.schedule();
  choice.virtual_stages = said.virtual_stages();
  choice.sharding = said.sharding();
  switch (said.recompute()) {
    case pb::Training::RECOMPUTE_SELECTIVE:
      choice.recompute = RecomputeChoice::kSelective;
      break;
    case pb::Training::RECOMPUTE_FULL:
      choice.recompute = RecomputeChoice::kFull;
      break;
    case pb::Training::RECOMPUTE_PER_MODULE:
    case pb::Training::RECOMPUTE_PER_OP:
      choice.recompute = RecomputeChoice::kAsSaid;
      break;
    case pb::Training::RECOMPUTE_NONE:
    case pb::Training::RECOMPUTE_UNSPECIFIED:
      break;
  }
  choice.context_method = said.context_method();
  choice.dispatch = said.dispatch_method();
  return choice;
}

}  // namespace

std::string_view Name(PlanAxis axis) {
  const absl::string_view name = kAxisNames[static_cast<size_t>(axis)];
  return {name.data(), name.size()};
}

absl::StatusOr<PlanAxis> ParsePlanAxis(const std::string& name) {
  const std::string field = name.substr(name.rfind('.') + 1);
  std::vector<std::string> known;
  for (int i = 0; i < kPlanAxes; ++i) {
    if (kAxisNames[i] == field) return static_cast<PlanAxis>(i);
    known.emplace_back(kAxisNames[i]);
  }
  return absl::InvalidArgumentError(
      fmt::format("'{}' is nothing that is searched{} ({})", name.substr(0, 80),
                  DidYouMean(field, known), absl::StrJoin(known, ", ")));
}

PlanSpace::PlanSpace(const pb::Training& said, const Model& model,
                     int64_t chips, absl::Span<const PlanAxis> kept)
    : model_(model),
      chips_(chips),
      global_batch_(said.global_batch()),
      sequence_(said.sequence()),
      said_(ChoiceOf(said)) {
  for (const PlanAxis axis : kept) kept_[static_cast<size_t>(axis)] = true;
  for (const int tensor : Tensors()) {
    for (const int context : Contexts(tensor)) AddKernels(tensor, context);
  }
  std::sort(kernels_.begin(), kernels_.end());
}

std::vector<int> PlanSpace::Tensors() const {
  if (Keeps(PlanAxis::kTensor)) return {said_.kernels.tensor};
  std::vector<int> tensors;
  for (const int tensor : Divisors(chips_, kMostTensor)) {
    if (model_.attention().heads % tensor == 0) tensors.push_back(tensor);
  }
  return tensors;
}

std::vector<int> PlanSpace::Contexts(int tensor) const {
  if (Keeps(PlanAxis::kContext)) return {said_.kernels.context};
  std::vector<int> contexts;
  for (const int context : Divisors(chips_ / tensor, kMostContext)) {
    if (context == 1 || (sequence_ % (2 * context) == 0 &&
                         sequence_ / context >= kFewestTokens)) {
      contexts.push_back(context);
    }
  }
  return contexts;
}

std::vector<int> PlanSpace::Experts() const {
  if (!model_.moe()) return {1};
  if (Keeps(PlanAxis::kExpert)) return {said_.kernels.expert};
  return Divisors(model_.moe()->experts, model_.moe()->experts);
}

void PlanSpace::AddKernels(int tensor, int context) {
  KernelChoice choice{.tensor = tensor, .context = context};
  std::vector<bool> sequence = {false};
  if (Keeps(PlanAxis::kSequenceParallel)) {
    sequence = {said_.kernels.sequence_parallel};
  } else if (tensor > 1) {
    sequence.push_back(true);
  }
  std::vector<int> micro_batches;
  for (int b = 1; b <= kMostMicroBatch; b *= 2) micro_batches.push_back(b);
  if (Keeps(PlanAxis::kMicroBatch)) micro_batches = {said_.kernels.micro_batch};
  for (const int expert : Experts()) {
    choice.expert = expert;
    std::vector<int> inner = {tensor};
    if (model_.moe() && tensor > 1) inner.push_back(1);
    if (Keeps(PlanAxis::kExpert)) inner = {said_.kernels.expert_tensor};
    if (!model_.moe()) inner = {1};
    for (const int expert_tensor : inner) {
      choice.expert_tensor = expert_tensor;
      for (const bool split : sequence) {
        choice.sequence_parallel = split;
        for (const int micro_batch : micro_batches) {
          choice.micro_batch = micro_batch;
          if (global_batch_ % micro_batch == 0) kernels_.push_back(choice);
        }
      }
    }
  }
}

void PlanSpace::ForEach(
    const KernelChoice& kernels,
    absl::FunctionRef<void(const PlanChoice&)> visit) const {
  PlanChoice choice = said_;
  choice.kernels = kernels;
  const int64_t left = chips_ / (int64_t{kernels.tensor} * kernels.context);
  for (const int pipeline : Divisors(left, model_.layers())) {
    if (Keeps(PlanAxis::kPipeline) && pipeline != said_.pipeline) continue;
    choice.pipeline = pipeline;
    choice.data = static_cast<int>(left / pipeline);
    const int64_t round = int64_t{kernels.micro_batch} * choice.data;
    if (global_batch_ % round != 0) continue;
    ForEachSchedule(choice, visit);
  }
}

void PlanSpace::ForEachSchedule(
    PlanChoice choice, absl::FunctionRef<void(const PlanChoice&)> visit) const {
  if (Keeps(PlanAxis::kSchedule)) return ForEachSharding(choice, visit);
  const auto with = [&](pb::Training::Schedule schedule, int pieces) {
    choice.schedule = schedule;
    choice.virtual_stages = pieces;
    ForEachSharding(choice, visit);
  };
  with(pb::Training::ONE_F_ONE_B, 1);
  if (choice.pipeline == 1) return;
  const int micro_batches =
      global_batch_ / (choice.kernels.micro_batch * choice.data);
  with(pb::Training::ZB_H1, 1);
  with(pb::Training::ZB_V, 2);
  if (choice.pipeline % 2 == 0 && micro_batches % 2 == 0 &&
      micro_batches >= 2 * choice.pipeline) {
    with(pb::Training::DUAL_PIPE, 1);
  }
  if (micro_batches % choice.pipeline != 0) return;
  for (int pieces = 2; pieces <= kMostPieces; ++pieces) {
    if (int64_t{pieces} * choice.pipeline > model_.layers()) break;
    with(pb::Training::INTERLEAVED_1F1B, pieces);
  }
}

void PlanSpace::ForEachSharding(
    PlanChoice choice, absl::FunctionRef<void(const PlanChoice&)> visit) const {
  std::vector<RecomputeChoice> recompute = {
      RecomputeChoice::kNone, RecomputeChoice::kSelective,
      RecomputeChoice::kCheapModules, RecomputeChoice::kFull};
  if (Keeps(PlanAxis::kRecompute)) recompute = {said_.recompute};
  int first = pb::Training::ZERO_0;
  int last = pb::Training::ZERO_3;
  // One copy of everything: nothing to share out.
  if (choice.data == 1 && choice.kernels.context == 1) last = first;
  if (Keeps(PlanAxis::kSharding)) first = last = said_.sharding;
  for (int stage = first; stage <= last; ++stage) {
    choice.sharding = static_cast<pb::Training::Sharding>(stage);
    for (const RecomputeChoice each : recompute) {
      choice.recompute = each;
      ForEachMethod(choice, visit);
    }
  }
}

void PlanSpace::ForEachMethod(
    PlanChoice choice, absl::FunctionRef<void(const PlanChoice&)> visit) const {
  std::vector<pb::Training::ContextMethod> contexts = {
      pb::Training::CONTEXT_UNSPECIFIED};
  if (choice.kernels.context > 1) {
    contexts = {pb::Training::CONTEXT_RING, pb::Training::CONTEXT_ALL_GATHER,
                pb::Training::CONTEXT_ULYSSES};
    if (Keeps(PlanAxis::kContextMethod)) contexts = {said_.context_method};
  }
  std::vector<pb::Training::DispatchMethod> dispatches = {
      pb::Training::DISPATCH_UNSPECIFIED};
  if (choice.kernels.expert > 1) {
    dispatches = {pb::Training::DISPATCH_DIRECT,
                  pb::Training::DISPATCH_BY_NODE};
    if (Keeps(PlanAxis::kDispatchMethod)) dispatches = {said_.dispatch};
  }
  std::vector<OrderChoice> orders = {OrderChoice::kAsSaid};
  if (choice.pipeline > 1 && choice.data > 1 && !Keeps(PlanAxis::kOrder)) {
    orders.push_back(OrderChoice::kPipelineFirst);
  }
  for (const auto context : contexts) {
    choice.context_method = context;
    for (const auto dispatch : dispatches) {
      choice.dispatch = dispatch;
      for (const OrderChoice order : orders) {
        choice.order = order;
        visit(choice);
      }
    }
  }
}

}  // namespace orrery
