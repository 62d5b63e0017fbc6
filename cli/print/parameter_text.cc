#include "cli/print/parameter_text.h"

#include <utility>

#include "base/format.h"
#include "workload/model/parameters.h"

namespace orrery {

std::string ParameterComment(const Model& model) {
  const ParameterCount total = TotalParameters(model);
  const ParameterCount active = ActiveParameters(model);
  std::string text = fmt::format("# parameters: {}", total.main());
  if (active.main() != total.main()) {
    text += fmt::format(", of which a token uses {}", active.main());
  }
  if (total.mtp > 0) {
    text += fmt::format("; {} more in multi-token prediction", total.mtp);
  }
  const std::pair<const char*, int64_t> parts[] = {
      {"embedding", total.embedding + total.positions},
      {"attention", total.attention},
      {"MLP", total.mlp},
      {"router", total.router},
      {"experts", total.experts},
      {"shared experts", total.shared_experts},
      {"norms", total.norms},
      {"head", total.head}};
  text += "\n#  ";
  for (const auto& [name, count] : parts) {
    if (count > 0) text += fmt::format(" {} {}", name, count);
  }
  return text + "\n";
}

}  // namespace orrery
