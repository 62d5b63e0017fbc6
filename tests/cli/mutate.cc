#include "tests/cli/mutate.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include "base/format.h"
#include "proto/scenario.pb.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

// Replaces the `n`-th run of characters that `belongs` accepts.
template <class Predicate>
std::string ReplaceRun(const std::string& text, Rng* rng, Predicate belongs,
                       const std::string& replacement) {
  std::vector<std::pair<size_t, size_t>> runs;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && belongs(text[end])) ++end;
    if (end > i) runs.emplace_back(i, end);
    i = end + 1;
  }
  if (runs.empty()) return text;
  const auto [begin, end] = runs[rng->Below(runs.size())];
  return text.substr(0, begin) + replacement + text.substr(end);
}

std::string Noise(size_t size, Rng* rng) {
  std::string noise(size, '\0');
  for (char& c : noise) c = static_cast<char>(rng->Below(256));
  return noise;
}

std::string OneInjury(std::string text, Rng* rng) {
  static const std::vector<std::string> kNumbers = {
      "0",          "-1",    "2147483647", "-2147483648",
      "2147483648", "1e308", "1e999",      "99999999999999999999999",
      "0x7fffffff", "nan",   "3.7"};
  static const std::vector<std::string> kWords = {
      "TRUE", "\"text\"", "ZERO_9", "tensorr",           "{",
      "}",    "preset",   "name",   "DTYPE_UNSPECIFIED", "model { layers: 1 }"};
  const auto digit = [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  };
  const auto word = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  const size_t at = rng->Below(lines.size());
  switch (rng->Below(12)) {
    case 0:
      return text.substr(0, rng->Below(text.size() + 1));
    case 1:
      if (!text.empty()) {
        text[rng->Below(text.size())] = static_cast<char>(rng->Below(256));
      }
      return text;
    case 2:
    case 3:
      return ReplaceRun(text, rng, digit,
                        kNumbers[rng->Below(kNumbers.size())]);
    case 4:
      return ReplaceRun(text, rng, word, kWords[rng->Below(kWords.size())]);
    case 5:
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
      return absl::StrJoin(lines, "\n");
    case 6:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), lines[at]);
      return absl::StrJoin(lines, "\n");
    case 7:
      std::swap(lines[at], lines[rng->Below(lines.size())]);
      return absl::StrJoin(lines, "\n");
    case 8:
      lines[at] += " unknown_field: 7";
      return absl::StrJoin(lines, "\n");
    case 9:
      return text.insert(rng->Below(text.size() + 1),
                         Noise(1 + rng->Below(40), rng));
    case 10:
      return text.insert(rng->Below(text.size() + 1),
                         std::string(rng->Below(500), '{'));
    default:
      return rng->Below(10) == 0 ? Noise(rng->Below(2000), rng)
                                 : ReplaceRun(text, rng, digit, "-7");
  }
}

void Walk(const gp::Descriptor& message, const std::string& prefix, int depth,
          std::vector<std::string>* paths) {
  for (int i = 0; i < message.field_count(); ++i) {
    const gp::FieldDescriptor& field = *message.field(i);
    const std::string path = prefix + field.name();
    paths->push_back(path);
    if (field.message_type() != nullptr && depth > 0) {
      Walk(*field.message_type(), path + (field.is_repeated() ? "[0]." : "."),
           depth - 1, paths);
    }
  }
}

}  // namespace

std::string Mutate(std::string text, Rng* rng) {
  for (uint64_t injuries = 1 + rng->Below(3); injuries > 0; --injuries) {
    text = OneInjury(std::move(text), rng);
  }
  return text;
}

std::vector<std::string> FieldPaths() {
  std::vector<std::string> paths;
  Walk(*pb::Scenario::descriptor(), "", 5, &paths);
  return paths;
}

}  // namespace orrery
