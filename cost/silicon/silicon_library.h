#pragma once
// SiliconLibrary: the processes, packagings and prices that packages refer to.
#include <map>
#include <string>

#include "cost/silicon/price_table.h"
#include "proto/cost.pb.h"

namespace orrery {

struct SiliconLibrary {
  std::map<std::string, pb::Process, std::less<>> processes;
  std::map<std::string, pb::Packaging, std::less<>> packagings;
  PriceTable prices;
};

}  // namespace orrery
