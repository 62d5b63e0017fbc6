#pragma once
// Families with rotary positions, RMS norms and gated MLPs: from Llama to
// DeepSeek, gpt-oss and Gemma. Each function reads one family's keys.
#include "catalog/hf_config.h"
#include "proto/model.pb.h"

namespace orrery {

void ReadLlama(HfConfig& config, pb::Model& model);
void ReadMistral(HfConfig& config, pb::Model& model);
void ReadMixtral(HfConfig& config, pb::Model& model);
void ReadQwen2(HfConfig& config, pb::Model& model);
void ReadQwen2Moe(HfConfig& config, pb::Model& model);
void ReadQwen3(HfConfig& config, pb::Model& model);
void ReadQwen3Moe(HfConfig& config, pb::Model& model);
void ReadDeepSeek(HfConfig& config, pb::Model& model);
void ReadDeepSeekV3(HfConfig& config, pb::Model& model);
void ReadGptOss(HfConfig& config, pb::Model& model);
void ReadGemma(HfConfig& config, pb::Model& model);
void ReadGemma2(HfConfig& config, pb::Model& model);
void ReadGemma3(HfConfig& config, pb::Model& model);
void ReadPhi3(HfConfig& config, pb::Model& model);

}  // namespace orrery
