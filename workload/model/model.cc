#include "workload/model/model.h"

#include <algorithm>

#include "base/check.h"
#include "workload/model/model_reader.h"

namespace orrery {

absl::StatusOr<Model> Model::FromProto(const pb::Model& proto) {
  return ModelReader(proto).Read();
}

bool Model::IsMoe(int layer) const {
  CHECK(layer >= 0 && layer < layers_ + mtp_modules_) << "layer " << layer;
  if (!moe_) return false;
  const int pattern_layer = std::min(layer, layers_ - 1);
  return pattern_layer >= moe_->first_dense_layers &&
         (pattern_layer + 1) % moe_->every == 0;
}

std::optional<int> Model::Window(int layer) const {
  CHECK(layer >= 0 && layer < layers_ + mtp_modules_) << "layer " << layer;
  const int pattern_layer = std::min(layer, layers_ - 1);
  const std::optional<int>& global_every = attention_.global_every;
  if (global_every && (pattern_layer + 1) % *global_every == 0) {
    return std::nullopt;
  }
  return attention_.window;
}

int Model::moe_layers() const {
  int count = 0;
  for (int layer = 0; layer < layers_; ++layer) count += IsMoe(layer) ? 1 : 0;
  return count;
}

}  // namespace orrery
