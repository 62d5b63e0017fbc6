#pragma once
// Families in the line of GPT-2: layer norms and plain MLPs. Each function
// reads one family's keys.
#include "catalog/hf_config.h"
#include "proto/model.pb.h"

namespace orrery {

void ReadBloom(HfConfig& config, pb::Model& model);
void ReadFalcon(HfConfig& config, pb::Model& model);
void ReadGpt2(HfConfig& config, pb::Model& model);
void ReadGptJ(HfConfig& config, pb::Model& model);
void ReadGptNeoX(HfConfig& config, pb::Model& model);
void ReadOpt(HfConfig& config, pb::Model& model);

}  // namespace orrery
