#include "run/search/plan_space.h"

#include <absl/strings/str_join.h>

#include <algorithm>

#include "base/excerpt.h"
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
    case pb::Training::RECOMPUTE_PER_OP:
      choice.recompute = RecomputeChoice::kPerOp;
      break;
    case pb::Training::RECOMPUTE_PER_MODULE:
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

// Whether a list of what is offered, of which an empty one is no restriction,
// has a value; what the scenario uses is always there.
template <class List, class Value>
bool Has(const List& offered, Value value, Value used) {
  return offered.empty() || value == used ||
         std::find(offered.begin(), offered.end(), value) != offered.end();
}

bool Offers(const pb::Offers& offers, RecomputeChoice choice) {
  const auto has = [&](pb::Training::Recompute recompute) {
    return Has(offers.recompute(), static_cast<int>(recompute), -1);
  };
  switch (choice) {
    case RecomputeChoice::kNone:
    case RecomputeChoice::kAsSaid:
      return true;
    case RecomputeChoice::kSelective:
      return has(pb::Training::RECOMPUTE_SELECTIVE);
    case RecomputeChoice::kCheapModules:
      return has(pb::Training::RECOMPUTE_PER_MODULE);
    case RecomputeChoice::kPerOp:
      return has(pb::Training::RECOMPUTE_PER_OP);
    case RecomputeChoice::kFull:
      return has(pb::Training::RECOMPUTE_FULL);
  }
  return true;
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
      fmt::format("'{}' is nothing that is searched{} ({})", Excerpt(name),
                  DidYouMean(field, known), absl::StrJoin(known, ", ")));
}

PlanSpace::PlanSpace(const pb::Scenario& scenario, const Model& model,
                     int64_t chips, absl::Span<const PlanAxis> kept)
    : model_(model),
      chips_(chips),
      global_batch_(scenario.training().global_batch()),
      sequence_(scenario.training().sequence()),
      said_(ChoiceOf(scenario.training())),
      offers_(scenario.framework().offers()) {
  for (const PlanAxis axis : kept) kept_[static_cast<size_t>(axis)] = true;
  for (const int tensor : Tensors()) {
    for (const int context : Contexts(tensor)) AddKernels(tensor, context);
  }
  std::sort(kernels_.begin(), kernels_.end());
}

bool PlanSpace::Splits(pb::Parallel::Dimension dimension) const {
  return Has(offers_.dimension(), static_cast<int>(dimension), -1);
}

std::vector<int> PlanSpace::Tensors() const {
  if (Keeps(PlanAxis::kTensor)) return {said_.kernels.tensor};
  if (!Splits(pb::Parallel::TENSOR) && said_.kernels.tensor == 1) return {1};
  std::vector<int> tensors;
  for (const int tensor : Divisors(chips_, kMostTensor)) {
    if (model_.attention().heads % tensor == 0) tensors.push_back(tensor);
  }
  return tensors;
}

std::vector<int> PlanSpace::Contexts(int tensor) const {
  if (Keeps(PlanAxis::kContext)) return {said_.kernels.context};
  if (!Splits(pb::Parallel::CONTEXT) && said_.kernels.context == 1) return {1};
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
  if (!Splits(pb::Parallel::EXPERT) && said_.kernels.expert == 1) return {1};
  return Divisors(model_.moe()->experts, model_.moe()->experts);
}

void PlanSpace::AddKernels(int tensor, int context) {
  KernelChoice choice{.tensor = tensor, .context = context};
  std::vector<bool> sequence = {false};
  if (Keeps(PlanAxis::kSequenceParallel)) {
    sequence = {said_.kernels.sequence_parallel};
  } else if (tensor > 1 &&
             (!offers_.has_sequence_parallel() || offers_.sequence_parallel() ||
              said_.kernels.sequence_parallel)) {
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
        // Tensor ranks have the same tokens, so they split each expert as well.
        if (model_.moe() && !split && expert_tensor != tensor) continue;
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
  ForEachShape(kernels,
               [&](const PlanChoice& shape) { ForEachOf(shape, visit); });
}

void PlanSpace::ForEachShape(
    const KernelChoice& kernels,
    absl::FunctionRef<void(const PlanChoice&)> visit) const {
  PlanChoice choice = said_;
  choice.kernels = kernels;
  const int64_t left = chips_ / (int64_t{kernels.tensor} * kernels.context);
  for (const int pipeline : Divisors(left, model_.layers())) {
    if (Keeps(PlanAxis::kPipeline) && pipeline != said_.pipeline) continue;
    if (pipeline > 1 && !Splits(pb::Parallel::PIPELINE) &&
        said_.pipeline == 1) {
      continue;
    }
    const int64_t expert_ranks =
        int64_t{kernels.expert} * kernels.expert_tensor;
    if (chips_ / pipeline % expert_ranks != 0) continue;
    choice.pipeline = pipeline;
    choice.data = static_cast<int>(left / pipeline);
    const int64_t round = int64_t{kernels.micro_batch} * choice.data;
    if (global_batch_ % round != 0) continue;
    ForEachSchedule(choice, visit);
  }
}

void PlanSpace::ForEachSchedule(
    PlanChoice choice, absl::FunctionRef<void(const PlanChoice&)> visit) const {
  if (Keeps(PlanAxis::kSchedule)) return visit(choice);
  const auto with = [&](pb::Training::Schedule schedule, int pieces) {
    // Without pipelines to offer, a framework has no schedule but the one that
    // the scenario uses all the same.
    if (choice.pipeline > 1 && schedule != said_.schedule &&
        (!Splits(pb::Parallel::PIPELINE) ||
         !Has(offers_.schedule(), static_cast<int>(schedule), -1))) {
      return;
    }
    choice.schedule = schedule;
    choice.virtual_stages = pieces;
    visit(choice);
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

std::vector<RecomputeChoice> PlanSpace::Recomputations() const {
  if (Keeps(PlanAxis::kRecompute)) return {said_.recompute};
  std::vector<RecomputeChoice> all;
  for (const RecomputeChoice each :
       {RecomputeChoice::kNone, RecomputeChoice::kSelective,
        RecomputeChoice::kCheapModules, RecomputeChoice::kPerOp,
        RecomputeChoice::kFull}) {
    if (each == said_.recompute || Offers(offers_, each)) all.push_back(each);
  }
  return all;
}

std::vector<pb::Training::Sharding> PlanSpace::Shardings(
    const PlanChoice& shape) const {
  if (Keeps(PlanAxis::kSharding)) return {said_.sharding};
  // One copy of everything: nothing to share out.
  if (shape.data == 1 && shape.kernels.context == 1) {
    return {pb::Training::ZERO_0};
  }
  std::vector<pb::Training::Sharding> all;
  const int used = said_.sharding;
  for (const auto stage : {pb::Training::ZERO_0, pb::Training::ZERO_1,
                           pb::Training::ZERO_2, pb::Training::ZERO_3}) {
    const int value = stage;
    if (Has(offers_.sharding(), value, used) &&
        (shape.pipeline == 1 ||
         Has(offers_.sharding_in_pipelines(), value, used))) {
      all.push_back(stage);
    }
  }
  return all;
}

void PlanSpace::ForEachOf(
    const PlanChoice& shape,
    absl::FunctionRef<void(const PlanChoice&)> visit) const {
  PlanChoice choice = shape;
  for (const pb::Training::Sharding sharding : Shardings(shape)) {
    choice.sharding = sharding;
    for (const RecomputeChoice recompute : Recomputations()) {
      choice.recompute = recompute;
      ForEachMethod(choice, visit);
    }
  }
}

void PlanSpace::ForEachLeastOf(
    const PlanChoice& shape,
    absl::FunctionRef<void(const PlanChoice&)> visit) const {
  const std::vector<pb::Training::Sharding> shardings = Shardings(shape);
  if (shardings.empty()) return;
  PlanChoice choice = shape;
  choice.sharding = shardings.back();
  choice.recompute = RecomputeChoice::kNone;
  ForEachMethod(choice, visit);
}

void PlanSpace::ForEachMethod(
    PlanChoice choice, absl::FunctionRef<void(const PlanChoice&)> visit) const {
  std::vector<pb::Training::ContextMethod> contexts = {
      pb::Training::CONTEXT_UNSPECIFIED};
  if (choice.kernels.context > 1) {
    contexts = {pb::Training::CONTEXT_RING, pb::Training::CONTEXT_ALL_GATHER,
                pb::Training::CONTEXT_ULYSSES};
    std::erase_if(contexts, [&](pb::Training::ContextMethod method) {
      return method != said_.context_method &&
             (!Splits(pb::Parallel::CONTEXT) ||
              !Has(offers_.context_method(), static_cast<int>(method), -1));
    });
    if (Keeps(PlanAxis::kContextMethod)) contexts = {said_.context_method};
  }
  std::vector<pb::Training::DispatchMethod> dispatches = {
      pb::Training::DISPATCH_UNSPECIFIED};
  if (choice.kernels.expert > 1) {
    dispatches = {pb::Training::DISPATCH_DIRECT,
                  pb::Training::DISPATCH_BY_NODE};
    std::erase_if(dispatches, [&](pb::Training::DispatchMethod method) {
      return method != said_.dispatch &&
             (!Splits(pb::Parallel::EXPERT) ||
              !Has(offers_.dispatch_method(), static_cast<int>(method), -1));
    });
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
