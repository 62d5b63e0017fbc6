#include "traces/timeline/timeline_names.h"

#include <absl/strings/ascii.h>

#include <variant>

#include "base/format.h"

namespace orrery {
namespace {

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

}  // namespace

std::string PassLabel(const Mark& mark) {
  std::string_view letter;
  switch (mark.phase) {
    case WorkPhase::kForward:
      letter = "F";
      break;
    case WorkPhase::kBackward:
    case WorkPhase::kRecompute:
      letter = "B";
      break;
    case WorkPhase::kWeightGradient:
      letter = "W";
      break;
    case WorkPhase::kOther:
      return "";
    case WorkPhase::kGradientSync:
    case WorkPhase::kOptimizer:
    case WorkPhase::kPrefill:
    case WorkPhase::kDecode:
      return PassTitle(mark);
  }
  std::string label(letter);
  if (mark.micro_batch) label += fmt::format("{}", *mark.micro_batch);
  if (mark.piece) label += fmt::format(" c{}", *mark.piece);
  return label;
}

std::string PassTitle(const Mark& mark) {
  std::string title(NameOf(mark.phase));
  if (IsEngineStep(mark)) {
    if (mark.micro_batch) title += fmt::format(" {}", *mark.micro_batch);
    if (mark.piece) title += fmt::format(" part {}", *mark.piece);
    return title;
  }
  if (mark.micro_batch) title += fmt::format(" mb {}", *mark.micro_batch);
  if (mark.piece) title += fmt::format(" chunk {}", *mark.piece);
  return title;
}

bool IsProduct(const KernelFacts& facts, const IdVector<OpId, Op>& ops) {
  return facts.op && Index(*facts.op) < ops.size() &&
         (std::holds_alternative<Gemm>(ops[*facts.op].work) ||
          std::holds_alternative<GroupedGemm>(ops[*facts.op].work));
}

std::string KernelLabel(std::string_view name, WorkPhase phase, bool product) {
  switch (phase) {
    case WorkPhase::kWeightGradient:
      return fmt::format("{} wgrad", name);
    case WorkPhase::kRecompute:
      return fmt::format("{} recompute", name);
    case WorkPhase::kBackward:
      break;
    case WorkPhase::kOther:
    case WorkPhase::kForward:
    case WorkPhase::kGradientSync:
    case WorkPhase::kOptimizer:
    case WorkPhase::kPrefill:
    case WorkPhase::kDecode:
      return std::string(name);
  }
  return fmt::format("{} {}", name, product ? "dgrad" : "backward");
}

std::string NaturalName(std::string_view name) {
  std::string natural;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool begins = name[i] == '0' && (i == 0 || !IsDigit(name[i - 1]));
    if (begins) {
      while (i + 1 < name.size() && name[i] == '0' && IsDigit(name[i + 1])) ++i;
    }
    natural += name[i];
  }
  return natural;
}

}  // namespace orrery
