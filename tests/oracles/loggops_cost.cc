#include "tests/oracles/loggops_cost.h"

#include <algorithm>
#include <bit>

namespace orrery {

std::vector<Seconds> LogGopsBinomialReduce(int p, Bytes m,
                                           const LogGops& model) {
  const auto rest = static_cast<double>(m.value() - 1);
  const Seconds send = model.overhead + rest * model.overhead_per_byte;
  const Seconds wire = rest * model.gap_per_byte;
  const Seconds receive =
      model.overhead + std::max(rest * model.overhead_per_byte, wire);
  std::vector<Seconds> done(static_cast<size_t>(p), Seconds(0));
  std::vector<Seconds> nic_free = done;
  if (p < 2) return done;
  for (auto half = std::bit_floor(static_cast<size_t>(p - 1)); half > 0;
       half /= 2) {
    for (size_t from = half; from < std::min(2 * half, done.size()); ++from) {
      const size_t to = from - half;
      const Seconds start = std::max(done[from], nic_free[from]);
      done[from] = start + send;
      nic_free[from] = start + model.gap + wire;
      const Seconds arrives = start + model.overhead + model.latency;
      done[to] = std::max(done[to], arrives) + receive;
    }
  }
  return done;
}

}  // namespace orrery
