#pragma once
// What the details panel says about a kernel by itself: the shape of its op,
// how fast it ran, what bound it.
//
// All runs of a kernel have everything but the rates in common; that is encoded
// once, and the rates again only when the time differs from that of the run
// before.
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "traces/format/argument_block.h"
#include "traces/format/perfetto_writer.h"
#include "traces/format/span.h"
#include "traces/timeline/timeline_source.h"

namespace orrery {

class KernelArguments {
 public:
  // Both outlive this.
  KernelArguments(const TimelineSource& source, PerfettoWriter& writer);

  // Requires: a kernel.
  void Append(const TaskSpan& span, ArgumentBlock& block);
  // Whether it is a product of matrices.
  bool IsProduct(const TaskSpan& span) { return Of(span).product; }

 private:
  struct Kernel {
    bool known = false;
    bool product = false;
    Duration duration{};                  // by itself
    std::string before = {}, after = {};  // the rates
    std::optional<double> flops = std::nullopt, peak = std::nullopt,
                          traffic = std::nullopt;
    Duration time{};  // of the rates
    std::string rates = {};
  };
  Kernel& Of(const TaskSpan& span);
  Kernel Describe(const KernelWork& work);
  void EncodeRates(Kernel& kernel, Duration time);

  const TimelineSource& source_;
  PerfettoWriter& writer_;
  const ArgumentKey flop_rate_, of_peak_, byte_rate_, slowed_;
  ArgumentBlock buffer_;
  IdVector<RoleId, std::vector<Kernel>> kernels_;  // by place in the role
};

// Rates to one part in 8000: enough to compare, and the zeros in the rest of
// the number cost nothing in a compressed file. Requires: `value` is not
// negative.
double RoundedRate(double value);

}  // namespace orrery
