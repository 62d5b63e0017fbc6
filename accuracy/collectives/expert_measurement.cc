#include "accuracy/collectives/expert_measurement.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "base/format.h"
#include "base/status.h"

namespace orrery {
namespace {

constexpr int kExperts = 256;
// Numbers of a narrow format share a scale in FP32 (DeepSeek-V3, arXiv
// 2412.19437, section 3.3.2).
constexpr double kScaleBytes = 4.0 / 128;

// The number that follows `word`, or ends right before it.
std::optional<int> NumberAfter(const std::string& text,
                               const std::string& word) {
  const size_t at = text.find(word);
  if (at == std::string::npos) return std::nullopt;
  size_t end = at + word.size();
  while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
  int number = 0;
  const bool read = absl::SimpleAtoi(
      text.substr(at + word.size(), end - at - word.size()), &number);
  return read && number > 0 ? std::optional<int>(number) : std::nullopt;
}

std::optional<int> NumberBefore(const std::string& text,
                                const std::string& word) {
  const size_t end = text.find(word);
  if (end == std::string::npos) return std::nullopt;
  size_t begin = end;
  while (begin > 0 && absl::ascii_isdigit(text[begin - 1])) --begin;
  int number = 0;
  const bool read = absl::SimpleAtoi(text.substr(begin, end - begin), &number);
  return read && number > 0 ? std::optional<int>(number) : std::nullopt;
}

// Tokens that come to a chip, of its own size: of ranks, or of its node.
double TokensReceived(const ExpertTraffic& traffic, int nodes) {
  const TokenAmounts amounts = AmountsByIsland(traffic, nodes);
  const std::vector<double>& parts = nodes == 1 ? amounts.rank : amounts.island;
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

}  // namespace

bool IsExpertExchange(const MeasurementRow& row) {
  const std::string name = row.Text("collective");
  return name == "moe_dispatch" || name == "moe_combine";
}

absl::Status ReadExpertExchange(const MeasurementRow& row,
                                CollectiveMeasurement* to) {
  const std::string notes = row.Text("notes");
  const auto tokens = NumberBefore(notes, " tokens/GPU");
  const auto hidden = NumberAfter(notes, "hidden ");
  const auto chosen = NumberAfter(notes, "top-");
  if (!tokens || !hidden || !chosen) {
    return row.Wrong("notes",
                     "of an exchange with experts \"N tokens/GPU, hidden H, "
                     "top-K\"");
  }
  const int experts = NumberBefore(notes, " experts").value_or(kExperts);
  if (experts % to->chips != 0 || *chosen > experts) {
    return row.Wrong("num_gpus",
                     fmt::format("a divisor of {} experts, {} of which a token "
                                 "goes to",
                                 experts, *chosen));
  }
  ASSIGN_OR_RETURN(const DType format, row.Format("dtype"));
  const double element =
      BytesPerElement(format) + (Bits(format) < 16 ? kScaleBytes : 0);
  const double token = *hidden * element;
  ExpertTraffic traffic;
  traffic.experts = experts;
  traffic.experts_per_token = *chosen;
  traffic.share.assign(static_cast<size_t>(to->chips), 1.0 / to->chips);
  traffic.by_island = !absl::StrContains(to->library, "low-latency");
  traffic.most_islands = NumberAfter(notes, "in top-");
  to->kind = CommunicationKind::kAllToAll;
  to->shape = row.Text("collective") == "moe_combine"
                  ? CallShape::kTokensFromExperts
                  : CallShape::kTokensToExperts;
  to->bytes = Bytes(std::llround(token * *tokens * *chosen));
  if (row.Has("time_us")) {
    ASSIGN_OR_RETURN(const double microseconds, row.Positive("time_us"));
    to->seconds = microseconds * 1e-6;
  } else {
    ASSIGN_OR_RETURN(const double bandwidth, row.Positive("busbw_GBps"));
    to->seconds = token * *tokens * TokensReceived(traffic, to->nodes) /
                  (bandwidth * 1e9);
  }
  to->traffic = std::move(traffic);
  return absl::OkStatus();
}

}  // namespace orrery
