#pragma once
// A Hugging Face config.json as a model.
//
//   ASSIGN_OR_RETURN(pb::Model model, ImportHuggingFace(text, "my_model"));
//
// The architecture is chosen by `model_type`, or by `architectures` where that
// is missing. Keys that a config.json leaves out have the defaults of the
// transformers library's configuration classes. What our description cannot
// express is refused, not dropped. The result is not validated yet: pass it to
// Model::FromProto.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>
#include <vector>

#include "proto/model.pb.h"

namespace orrery {

absl::StatusOr<pb::Model> ImportHuggingFace(absl::string_view json,
                                            absl::string_view name);

// The model types that can be imported, sorted.
std::vector<std::string> HuggingFaceModelTypes();

}  // namespace orrery
