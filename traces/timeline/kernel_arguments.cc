#include "traces/timeline/kernel_arguments.h"

#include <bit>
#include <cstdint>
#include <variant>

#include "base/overload.h"
#include "traces/timeline/op_shape.h"
#include "traces/timeline/timeline_names.h"

namespace orrery {
namespace {

// What most of a kernel's time is spent on.
absl::string_view LimitOf(const KernelWork& kernel) {
  const Duration arithmetic =
      kernel.duration - kernel.facts.launch - kernel.facts.memory_bound;
  if (kernel.facts.launch > arithmetic &&
      kernel.facts.launch > kernel.facts.memory_bound) {
    return "launch";
  }
  return kernel.facts.memory_bound > arithmetic ? "memory" : "compute";
}

std::optional<DType> OperandOf(const Op& op) {
  return std::visit(
      Overload{
          [](const Pointwise&) { return std::optional<DType>(); },
          [](const auto& work) { return std::optional<DType>(work.operand); }},
      op.work);
}

}  // namespace

double RoundedRate(double value) {
  // Twelve bits behind the first; half of the last of them rounds up.
  constexpr uint64_t kLast = uint64_t{1} << 40;
  return std::bit_cast<double>((std::bit_cast<uint64_t>(value) + kLast / 2) &
                               ~(kLast - 1));
}

KernelArguments::KernelArguments(const TimelineSource& source,
                                 PerfettoWriter& writer)
    : source_(source),
      writer_(writer),
      flop_rate_(writer.Key("TFLOP/s")),
      of_peak_(writer.Key("% of peak")),
      byte_rate_(writer.Key("GB/s")),
      slowed_(writer.Key("slowed_ps")),
      kernels_(source.program.roles().size()) {}

KernelArguments::Kernel& KernelArguments::Of(const TaskSpan& span) {
  const RoleId id = source_.program.ranks()[span.rank].role;
  const Role& role = source_.program.roles()[id];
  const Task& task = role.task(span.task);
  std::vector<Kernel>& kernels = kernels_[id];
  const auto place = static_cast<size_t>(task.payload);
  if (place >= kernels.size()) kernels.resize(place + 1);
  if (!kernels[place].known) kernels[place] = Describe(role.kernel(task));
  return kernels[place];
}

KernelArguments::Kernel KernelArguments::Describe(const KernelWork& work) {
  const KernelFacts& facts = work.facts;
  Kernel kernel = {.known = true,
                   .product = orrery::IsProduct(facts, source_.ops),
                   .duration = work.duration};
  static const KernelFacts kNone;
  if (facts == kNone) return kernel;
  buffer_.Clear();
  if (facts.op) {
    const Op& op = source_.ops[*facts.op];
    for (const auto& [key, value] : ShapeOf(op)) {
      std::visit(Overload{[&, name = key](absl::string_view text) {
                            buffer_.Add(writer_.Key(name), writer_.Text(text));
                          },
                          [&, name = key](auto number) {
                            buffer_.Add(writer_.Key(name), number);
                          }},
                 value);
    }
    if (const auto type = OperandOf(op); type && source_.peak) {
      kernel.peak = source_.peak(*type);
    }
  }
  kernel.before = std::string(buffer_.bytes());
  buffer_.Clear();
  buffer_.Add(writer_.Key("bound"), writer_.Text(LimitOf(work)));
  if (facts.pieces > 1)
    buffer_.Add(writer_.Key("pieces"), int64_t{facts.pieces});
  if (facts.flops > Flops(0)) {
    kernel.flops = facts.flops.value();
    buffer_.Add(writer_.Key("flops"), facts.flops.value());
  }
  if (facts.memory_traffic > Bytes(0)) {
    kernel.traffic = static_cast<double>(facts.memory_traffic.value());
    buffer_.Add(writer_.Key("memory_bytes"), facts.memory_traffic.value());
  }
  buffer_.Add(writer_.Key("launch_ps"), int64_t{facts.launch.count()});
  kernel.after = std::string(buffer_.bytes());
  return kernel;
}

void KernelArguments::EncodeRates(Kernel& kernel, Duration time) {
  kernel.time = time;
  buffer_.Clear();
  const double seconds = ToSeconds(time);
  if (kernel.flops && seconds > 0) {
    const double rate = *kernel.flops / seconds;
    buffer_.Add(flop_rate_, RoundedRate(rate / 1e12));
    if (kernel.peak) {
      buffer_.Add(of_peak_, RoundedRate(100 * rate / *kernel.peak));
    }
  }
  if (kernel.traffic && seconds > 0) {
    buffer_.Add(byte_rate_, RoundedRate(*kernel.traffic / seconds / 1e9));
  }
  kernel.rates.assign(buffer_.bytes().data(), buffer_.bytes().size());
}

void KernelArguments::Append(const TaskSpan& span, ArgumentBlock& block) {
  Kernel& kernel = Of(span);
  if (kernel.time != span.running()) EncodeRates(kernel, span.running());
  block.Append(kernel.before);
  block.Append(kernel.rates);
  block.Append(kernel.after);
  // What slow chips and communication beside it added.
  const Duration added = span.running() - kernel.duration;
  if (added > Duration(0)) block.Add(slowed_, int64_t{added.count()});
}

}  // namespace orrery
