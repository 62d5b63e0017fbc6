// orrery kernel: the time of one kernel, and why.
#include <absl/algorithm/container.h>
#include <absl/strings/str_join.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/overload.h"
#include "base/status.h"
#include "catalog/nearest.h"
#include "cli/commands/commands.h"
#include "cli/flags/chip_flags.h"
#include "cli/flags/number_flags.h"
#include "cli/page/answer.h"
#include "cli/print/op_table.h"
#include "cli/print/output.h"
#include "cost/kernel/gemm_time.h"
#include "cost/kernel/op_size.h"
#include "run/chip_with_kernels.h"

namespace orrery {
namespace {

absl::StatusOr<Op> ReadGemm(const Arguments& arguments) {
  Gemm gemm;
  Violations wrong;
  gemm.m = wrong.Take(CountFlag(arguments, "m", std::nullopt));
  gemm.n = wrong.Take(CountFlag(arguments, "n", std::nullopt));
  gemm.k = wrong.Take(CountFlag(arguments, "k", std::nullopt));
  gemm.batch = wrong.Take(CountFlag(arguments, "batch", 1));
  gemm.operand = wrong.Take(DTypeFlag(arguments, "dtype", DType::kBf16));
  RETURN_IF_ERROR(wrong.ToStatus());
  gemm.output = Bits(gemm.operand) < 16 ? DType::kBf16 : gemm.operand;
  return Op{OpName::kProduct, Pass::kForward, gemm};
}

absl::StatusOr<Op> ReadGrouped(const Arguments& arguments) {
  GroupedGemm gemm;
  Violations wrong;
  const int64_t groups =
      wrong.Take(CountFlag(arguments, "groups", std::nullopt));
  const int64_t rows = wrong.Take(CountFlag(arguments, "m", std::nullopt));
  gemm.n = wrong.Take(CountFlag(arguments, "n", std::nullopt));
  gemm.k = wrong.Take(CountFlag(arguments, "k", std::nullopt));
  gemm.operand = wrong.Take(DTypeFlag(arguments, "dtype", DType::kBf16));
  RETURN_IF_ERROR(wrong.ToStatus());
  if (groups > 1'000'000) {
    return absl::InvalidArgumentError("--groups must be at most 1000000");
  }
  gemm.groups = static_cast<int32_t>(groups);
  gemm.rows = gemm.hot_rows = static_cast<double>(rows);
  gemm.active = static_cast<double>(groups);
  return Op{OpName::kGroupedProduct, Pass::kForward, gemm};
}

absl::StatusOr<Op> ReadAttention(const Arguments& arguments) {
  FusedAttention a;
  Violations wrong;
  a.batch = wrong.Take(CountFlag(arguments, "batch", 1));
  const int64_t heads = wrong.Take(CountFlag(arguments, "heads", std::nullopt));
  const int64_t kv_heads = wrong.Take(CountFlag(arguments, "kv-heads", heads));
  a.queries = wrong.Take(CountFlag(arguments, "queries", std::nullopt));
  a.keys = wrong.Take(CountFlag(arguments, "keys", a.queries));
  const int64_t width = wrong.Take(CountFlag(arguments, "head-dim", 128));
  const int64_t value_width =
      wrong.Take(CountFlag(arguments, "value-dim", width));
  a.operand = wrong.Take(DTypeFlag(arguments, "dtype", DType::kBf16));
  a.cache = wrong.Take(DTypeFlag(arguments, "cache-dtype", a.operand));
  if (arguments.Has("window")) {
    a.window = wrong.Take(CountFlag(arguments, "window", std::nullopt));
  }
  RETURN_IF_ERROR(wrong.ToStatus());
  if (heads > 1'000'000 || heads % kv_heads != 0) {
    return absl::InvalidArgumentError(fmt::format(
        "--kv-heads must divide --heads: {} and {}", kv_heads, heads));
  }
  if (a.keys < a.queries) {
    return absl::InvalidArgumentError(fmt::format(
        "--keys must be at least --queries: {} and {}", a.keys, a.queries));
  }
  if (width > 65536 || value_width > 65536) {
    return absl::InvalidArgumentError(
        "--head-dim and --value-dim must be at most 65536");
  }
  if (arguments.Has("latent") && value_width > width) {
    return absl::InvalidArgumentError(
        fmt::format("--value-dim must be at most --head-dim with --latent, as "
                    "values are part of the keys: {} and {}",
                    value_width, width));
  }
  if (arguments.Has("latent") && arguments.Has("backward")) {
    return absl::InvalidArgumentError(
        "--latent does not apply to --backward: only decoding reads values as "
        "part of the keys; leave one of the two out");
  }
  a.query_heads = static_cast<int32_t>(heads);
  a.kv_heads = static_cast<int32_t>(kv_heads);
  a.head_dimension = static_cast<int32_t>(width);
  a.value_dimension = static_cast<int32_t>(value_width);
  a.mask = arguments.Has("full") ? Mask::kFull : Mask::kCausal;
  a.shared_key_value = arguments.Has("latent");
  a.backward = arguments.Has("backward");
  return Op{OpName::kAttention,
            a.backward ? Pass::kInputGradient : Pass::kForward, a};
}

// Rows of `n` elements: one tensor read, one written.
absl::StatusOr<Op> ReadPointwise(const Arguments& arguments,
                                 Pointwise::Kind kind, double flops) {
  Violations wrong;
  const int64_t rows = wrong.Take(CountFlag(arguments, "m", std::nullopt));
  // Of elementwise work only the number of elements matters.
  const bool any_row = kind == Pointwise::Kind::kElementwise;
  const int64_t row = wrong.Take(CountFlag(
      arguments, "n", any_row ? std::optional<int64_t>(1) : std::nullopt));
  const DType dtype = wrong.Take(DTypeFlag(arguments, "dtype", DType::kBf16));
  RETURN_IF_ERROR(wrong.ToStatus());
  const double elements = static_cast<double>(rows) * static_cast<double>(row);
  if (elements > 1e15) {
    return absl::InvalidArgumentError("--m times --n must be at most 10^15");
  }
  const DType written =
      kind == Pointwise::Kind::kQuantize ? DType::kFp8 : dtype;
  return Op{OpName::kPointwise, Pass::kForward,
            Pointwise{.kind = kind,
                      .read = StorageBytes(dtype, rows * row),
                      .written = StorageBytes(written, rows * row),
                      .flops = flops * elements,
                      .row = row}};
}

// A kind of kernel: what it is read by, and the flags that say how large it is.
struct KernelKind {
  absl::string_view name;
  std::vector<absl::string_view> flags;
  absl::StatusOr<Op> (*read)(const Arguments&);
};

const std::vector<KernelKind>& KernelKinds() {
  using Kind = Pointwise::Kind;
  static const auto* const kinds = new std::vector<KernelKind>{
      {"gemm", {"m", "n", "k", "batch", "dtype"}, ReadGemm},
      {"grouped_gemm", {"groups", "m", "n", "k", "dtype"}, ReadGrouped},
      {"attention",
       {"batch", "heads", "kv-heads", "queries", "keys", "head-dim",
        "value-dim", "window", "dtype", "cache-dtype", "full", "latent",
        "backward", "additive"},
       ReadAttention},
      {"pointwise",
       {"m", "n", "dtype"},
       [](const Arguments& a) {
         return ReadPointwise(a, Kind::kElementwise, 10);
       }},
      {"norm",
       {"m", "n", "dtype"},
       [](const Arguments& a) { return ReadPointwise(a, Kind::kNorm, 7); }},
      {"softmax",
       {"m", "n", "dtype"},
       [](const Arguments& a) { return ReadPointwise(a, Kind::kSoftmax, 7); }},
      {"quantize", {"m", "n", "dtype"}, [](const Arguments& a) {
         return ReadPointwise(a, Kind::kQuantize, 2);
       }}};
  return *kinds;
}

absl::StatusOr<Op> ReadOp(const Arguments& arguments) {
  const std::string name = arguments.Get("op").value_or("gemm");
  std::vector<std::string> names;
  for (const KernelKind& kind : KernelKinds()) {
    names.emplace_back(kind.name);
    if (kind.name != name) continue;
    std::vector<absl::string_view> others;
    for (const KernelKind& other : KernelKinds()) {
      for (const absl::string_view flag : other.flags) {
        if (!absl::c_linear_search(kind.flags, flag)) others.push_back(flag);
      }
    }
    RETURN_IF_ERROR(
        RefuseFlags(arguments, others,
                    fmt::format("--op {}, which takes --{}", name,
                                absl::StrJoin(kind.flags, ", --"))));
    return kind.read(arguments);
  }
  return absl::InvalidArgumentError(fmt::format(
      "--op must be one of {}, got '{}'{}", absl::StrJoin(names, ", "),
      Excerpt(name), DidYouMean(name, names)));
}

// The matrix units of the chip must know the format of the operands.
absl::Status CheckFormat(const Op& op, const Chip& chip) {
  return std::visit(Overload{[](const Pointwise&) { return absl::OkStatus(); },
                             [&](const auto& work) {
                               return CheckMatrixFormat(work.operand, chip);
                             }},
                    op.work);
}

std::string_view SaidBy(Provenance provenance) {
  switch (provenance) {
    case Provenance::kModel:
      return "from the model";
    case Provenance::kTable:
      return "from the table";
    case Provenance::kExtrapolated:
      return "from the model, with constants of another chip";
  }
  return "";
}

absl::StatusOr<ExitCode> Kernel(const Arguments& arguments) {
  const auto name = arguments.Get("chip");
  if (!name.has_value()) {
    return absl::InvalidArgumentError(
        "--chip is needed ('orrery list chips' lists them)");
  }
  ASSIGN_OR_RETURN(const ChipWithKernels on,
                   LoadChip(*name, arguments.Get("library").value_or(""),
                            arguments.All("set")));
  ASSIGN_OR_RETURN(const KernelOptions options,
                   ReadKernelOptions(arguments, on.chip));
  ASSIGN_OR_RETURN(const KernelTimer timer,
                   KernelTimer::Create(on.chip, on.kernels, options));
  ASSIGN_OR_RETURN(const Op op, ReadOp(arguments));
  RETURN_IF_ERROR(CheckSize(op));
  RETURN_IF_ERROR(CheckFormat(op, on.chip));
  const OpRow row = TimeRow(op, timer, on.chip);
  RETURN_IF_ERROR(CheckTime(row));
  ASSIGN_OR_RETURN(const bool print, WriteRows(arguments, OpJson({row})));
  if (!print) return ExitCode::kDone;
  std::string text = OpTable({row});
  text += fmt::format(
      "\n{:.4g} GFLOP, {:.4g} MB of memory traffic, {:.4g} MB of cache "
      "traffic, launch {:.2f} us; {}\n",
      row.time.flops.value() * 1e-9,
      static_cast<double>(row.time.memory_bytes.value()) * 1e-6,
      static_cast<double>(row.time.cache_bytes.value()) * 1e-6,
      ToSeconds(row.time.launch) * 1e6, SaidBy(row.time.provenance));
  if (const auto* gemm = std::get_if<Gemm>(&op.work)) {
    const GemmChoice choice = TimeGemm(*gemm, timer.chip());
    text += fmt::format("tiles of {} x {}, the reduction in {} part{}\n",
                        choice.tile.rows, choice.tile.columns, choice.split,
                        choice.split == 1 ? "" : "s");
  }
  return Print(text);
}

}  // namespace

Command KernelCommand() {
  std::vector<Flag> flags = {
      {.name = "chip", .value = "CHIP", .help = "a chip preset or file"},
      LibraryFlag(),
      {.name = "op",
       .value = "KIND",
       .help = "gemm (default), grouped_gemm, attention, pointwise, norm, "
               "softmax, quantize"},
      {.name = "m", .value = "M", .help = "rows (of each group)"},
      {.name = "n", .value = "N", .help = "columns; elements of a row"},
      {.name = "k", .value = "K", .help = "length of the reduction"},
      {.name = "batch", .value = "B", .help = "products; sequences"},
      {.name = "groups", .value = "G", .help = "groups of a grouped product"},
      {.name = "dtype", .value = "FORMAT", .help = "bf16 (default), fp8, ..."},
      {.name = "heads", .value = "H", .help = "query heads"},
      {.name = "kv-heads", .value = "H", .help = "key-value heads"},
      {.name = "queries", .value = "S", .help = "queries of a sequence"},
      {.name = "keys", .value = "S", .help = "keys of a sequence"},
      {.name = "head-dim", .value = "D", .help = "width of a head (128)"},
      {.name = "value-dim", .value = "D", .help = "width of a value head"},
      {.name = "window", .value = "W", .help = "keys a query looks back at"},
      {.name = "cache-dtype", .value = "FORMAT", .help = "of keys and values"},
      {.name = "full", .value = "", .help = "no causal mask"},
      {.name = "latent", .value = "", .help = "values are part of the keys"},
      {.name = "backward", .value = "", .help = "the gradient of attention"},
      SetChipFlag()};
  for (const Flag& flag : RowsFlags()) flags.push_back(flag);
  for (const Flag& flag : KernelOptionFlags()) flags.push_back(flag);
  return {.name = "kernel",
          .operands = "",
          .min_operands = 0,
          .max_operands = 0,
          .summary = "Time one kernel on one chip, and say what limits it.",
          .details =
              "  orrery kernel --chip h100_sxm --op gemm --m 4096 --n 4096 --k "
              "4096 --dtype bf16\n"
              "  orrery kernel --chip h100_sxm --op attention --batch 16 "
              "--heads 32 --kv-heads 8 --queries 1 --keys 4096\n"
              "  orrery kernel --chip h800_sxm --op grouped_gemm --groups 64 "
              "--m 16 --n 4096 --k 7168 --dtype fp8",
          .flags = std::move(flags),
          .run = Kernel};
}

}  // namespace orrery
