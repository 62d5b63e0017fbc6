#include "cost/kernel/op_time.h"

#include "base/check.h"

namespace orrery {

std::string_view Name(Limit limit) {
  switch (limit) {
    case Limit::kMatrix:
      return "matrix";
    case Limit::kVector:
      return "vector";
    case Limit::kCache:
      return "cache";
    case Limit::kMemory:
      return "memory";
    case Limit::kLatency:
      return "latency";
    case Limit::kLaunch:
      return "launch";
  }
  CHECK(false) << "no such limit";
  return {};
}

std::string_view Name(Provenance provenance) {
  switch (provenance) {
    case Provenance::kModel:
      return "model";
    case Provenance::kTable:
      return "table";
    case Provenance::kExtrapolated:
      return "extrapolated";
  }
  CHECK(false) << "no such provenance";
  return {};
}

}  // namespace orrery
