#include "catalog/hf_families.h"

#include "catalog/hf_gpt_like.h"
#include "catalog/hf_llama_like.h"

namespace orrery {
namespace {

constexpr HfFamily kFamilies[] = {
    {"bloom", "BloomForCausalLM", ReadBloom},
    {"deepseek_v2", "DeepseekV2ForCausalLM", ReadDeepSeek},
    {"deepseek_v3", "DeepseekV3ForCausalLM", ReadDeepSeekV3},
    {"falcon", "FalconForCausalLM", ReadFalcon},
    {"gemma", "GemmaForCausalLM", ReadGemma},
    {"gemma2", "Gemma2ForCausalLM", ReadGemma2},
    {"gemma3", "Gemma3ForConditionalGeneration", ReadGemma3},
    {"gemma3_text", "Gemma3ForCausalLM", ReadGemma3},
    {"gpt2", "GPT2LMHeadModel", ReadGpt2},
    {"gpt_neox", "GPTNeoXForCausalLM", ReadGptNeoX},
    {"gpt_oss", "GptOssForCausalLM", ReadGptOss},
    {"gptj", "GPTJForCausalLM", ReadGptJ},
    // Its files name DeepSeek's class.
    {"kimi_k2", "DeepseekV3ForCausalLM", ReadDeepSeekV3},
    {"llama", "LlamaForCausalLM", ReadLlama},
    {"mistral", "MistralForCausalLM", ReadMistral},
    {"mixtral", "MixtralForCausalLM", ReadMixtral},
    {"opt", "OPTForCausalLM", ReadOpt},
    {"phi3", "Phi3ForCausalLM", ReadPhi3},
    {"qwen2", "Qwen2ForCausalLM", ReadQwen2},
    {"qwen2_moe", "Qwen2MoeForCausalLM", ReadQwen2Moe},
    {"qwen3", "Qwen3ForCausalLM", ReadQwen3},
    {"qwen3_moe", "Qwen3MoeForCausalLM", ReadQwen3Moe},
};

}  // namespace

absl::Span<const HfFamily> HfFamilies() { return kFamilies; }

}  // namespace orrery
