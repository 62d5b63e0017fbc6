#include "cost/kernel/kernel_timer.h"

#include <absl/hash/hash.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "base/overload.h"
#include "base/status.h"
#include "cost/kernel/attention_time.h"
#include "cost/kernel/gemm_time.h"
#include "cost/kernel/grouped_gemm_time.h"
#include "cost/kernel/pointwise_time.h"

namespace orrery {
namespace {

// Every field that tells two shapes apart, for hashing.
auto Key(const Gemm& g) {
  return std::tuple(g.m, g.n, g.k, g.batch, g.operand, g.output, g.accumulate,
                    g.weight, g.weight_group);
}
auto Key(const GroupedGemm& g) {
  return std::tuple(g.groups, g.rows, g.hot_rows, g.active, g.n, g.k, g.operand,
                    g.output, g.accumulate, g.weight_gradient, g.weight,
                    g.weight_group);
}
auto Key(const FusedAttention& a) {
  return std::tuple(a.batch, a.query_heads, a.kv_heads, a.queries, a.keys,
                    a.head_dimension, a.value_dimension, a.mask, a.window,
                    a.operand, a.cache, a.shared_key_value, a.ungrouped,
                    a.backward);
}
auto Key(const Pointwise& p) {
  return std::tuple(p.kind, p.launches, p.read.value(), p.written.value(),
                    p.flops, p.row);
}

}  // namespace

absl::StatusOr<KernelTimer> KernelTimer::Create(const Chip& chip,
                                                const Kernels& kernels,
                                                const KernelOptions& options) {
  ASSIGN_OR_RETURN(KernelChip kernel_chip,
                   KernelChip::Create(chip, kernels, options));
  return KernelTimer(std::move(kernel_chip));
}

OpTime KernelTimer::Time(const Op& op) const {
  const KernelEstimate estimate = std::visit(
      Overload{[&](const Gemm& g) { return TimeGemm(g, chip_).estimate; },
               [&](const GroupedGemm& g) { return TimeGroupedGemm(g, chip_); },
               [&](const FusedAttention& a) { return TimeAttention(a, chip_); },
               [&](const Pointwise& p) { return TimePointwise(p, chip_); }},
      op.work);
  OpTime time;
  time.time = FromSeconds(estimate.seconds);
  time.launch = FromSeconds(estimate.launch);
  time.flops = MatrixFlops(op);
  time.memory_bytes = Bytes(std::llround(estimate.memory_bytes));
  time.cache_bytes = Bytes(std::llround(estimate.cache_bytes));
  time.limit = estimate.limit;
  time.provenance =
      chip_.extrapolated ? Provenance::kExtrapolated : Provenance::kModel;
  if (measured_.empty()) return time;
  if (const auto* gemm = std::get_if<Gemm>(&op.work)) {
    if (const std::optional<double> seconds = measured_.Seconds(*gemm)) {
      time.time = FromSeconds(*seconds);
      time.provenance = Provenance::kTable;
    }
  }
  return time;
}

size_t OpHash::operator()(const Op& op) const {
  const size_t shape = std::visit(
      [](const auto& work) { return absl::HashOf(Key(work)); }, op.work);
  return absl::HashOf(shape, op.name, op.pass, op.work.index());
}

void OpTimeCache::Clear() {
  times_.clear();
  ops_ = {};
}

const OpTimeCache::Timed& OpTimeCache::Entry(const Op& op) {
  const auto [entry, added] = times_.try_emplace(op);
  if (added) entry->second = {timer_.Time(op), ops_.Add(op)};
  return entry->second;
}

}  // namespace orrery
