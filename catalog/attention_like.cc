#include "catalog/attention_like.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/excerpt.h"
#include "base/status.h"
#include "catalog/merge.h"

namespace orrery {
namespace {

absl::StatusOr<pb::FlashAttention> Completed(const pb::Kernels& library,
                                             const pb::FlashAttention& said) {
  const pb::FlashAttention* model = FindAttention(library, said.like());
  if (model == nullptr || model->has_like()) {
    std::vector<std::string> names;
    for (const pb::FlashAttention& known : library.flash_attention()) {
      if (!known.has_like()) names.push_back(known.name());
    }
    return absl::InvalidArgumentError(fmt::format(
        "kernels.flash_attention.like: '{}' is like '{}', which is not among "
        "the library's: {}",
        Excerpt(said.name()), Excerpt(said.like()),
        absl::StrJoin(names, ", ")));
  }
  const double slowdown = said.has_slowdown() ? said.slowdown() : 1;
  if (!(slowdown > 0)) {
    return absl::InvalidArgumentError(
        fmt::format("kernels.flash_attention.slowdown: '{}' takes {} times as "
                    "long; must be above 0",
                    said.name(), slowdown));
  }
  pb::FlashAttention completed = *model;
  completed.set_efficiency(std::min(1.0, model->efficiency() / slowdown));
  completed.set_backward_efficiency(
      std::min(1.0, model->backward_efficiency() / slowdown));
  completed.set_softmax_exposed(
      std::min(1.0, model->softmax_exposed() * slowdown));
  completed.set_backward_exposed(model->backward_exposed() * slowdown);
  MergeOver(said, &completed);
  completed.clear_like();
  completed.clear_slowdown();
  return completed;
}

}  // namespace

const pb::FlashAttention* FindAttention(const pb::Kernels& kernels,
                                        absl::string_view name) {
  for (const pb::FlashAttention& known : kernels.flash_attention()) {
    if (known.name() == name) return &known;
  }
  return nullptr;
}

bool ResemblesAnother(const pb::Kernels& kernels) {
  return std::any_of(
      kernels.flash_attention().begin(), kernels.flash_attention().end(),
      [](const pb::FlashAttention& known) { return known.has_like(); });
}

absl::Status CompleteAttention(const pb::Kernels& library,
                               pb::Kernels* kernels) {
  if (!ResemblesAnother(*kernels)) return absl::OkStatus();
  pb::Kernels all;
  for (const pb::FlashAttention& known : library.flash_attention()) {
    if (FindAttention(*kernels, known.name()) == nullptr) {
      *all.add_flash_attention() = known;
    }
  }
  for (const pb::FlashAttention& said : kernels->flash_attention()) {
    if (!said.has_like()) {
      *all.add_flash_attention() = said;
      continue;
    }
    ASSIGN_OR_RETURN(*all.add_flash_attention(), Completed(library, said));
  }
  kernels->mutable_flash_attention()->Swap(all.mutable_flash_attention());
  return absl::OkStatus();
}

}  // namespace orrery
