#pragma once
// How each family of Hugging Face models writes its config.json.
//
// One function per family: it reads the keys and fills the architecture. The
// authority is the family's configuration and model class in the transformers
// library (https://github.com/huggingface/transformers, src/transformers/
// models/<family>).
#include <absl/types/span.h>

#include "catalog/hf_config.h"
#include "proto/model.pb.h"

namespace orrery {

struct HfFamily {
  const char* model_type;
  // The class name in `architectures`.
  const char* architecture;
  void (*read)(HfConfig& config, pb::Model& model);
};

// Sorted by model type.
absl::Span<const HfFamily> HfFamilies();

}  // namespace orrery
