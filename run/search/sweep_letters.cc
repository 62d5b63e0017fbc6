#include "run/search/sweep_letters.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <utility>

#include "base/overload.h"

namespace orrery {
namespace {

// Takes what stands before the first `end` off the text.
absl::string_view Cut(absl::string_view& text, char end) {
  const size_t at = text.find(end);
  const absl::string_view head = text.substr(0, at);
  text = at == absl::string_view::npos ? "" : text.substr(at + 1);
  return head;
}

bool CutNumber(absl::string_view& text, int64_t* number) {
  return absl::SimpleAtoi(Cut(text, ' '), number);
}

std::optional<SweepLetter> ReadReady(absl::string_view text) {
  ReadyLetter ready;
  if (!absl::SimpleAtoi(Cut(text, ' '), &ready.threads)) return std::nullopt;
  ready.title = std::string(text);
  return ready;
}

std::optional<SweepLetter> ReadWork(absl::string_view text) {
  WorkLetter work;
  int64_t method = 0;
  if (!CutNumber(text, &work.block.begin) ||
      !CutNumber(text, &work.block.end) || !CutNumber(text, &work.first) ||
      !CutNumber(text, &method) ||
      !pb::Study::Method_IsValid(static_cast<int>(method))) {
    return std::nullopt;
  }
  work.method = static_cast<pb::Study::Method>(method);
  return work;
}

std::optional<SweepLetter> ReadRows(const Study& study,
                                    absl::string_view text) {
  RowsLetter letter;
  absl::string_view head = Cut(text, '\n');
  if (!CutNumber(head, &letter.block.begin) ||
      !CutNumber(head, &letter.block.end)) {
    return std::nullopt;
  }
  const int64_t count = letter.block.end - letter.block.begin;
  for (int64_t i = 0; i < count; ++i) {
    auto row = ParseSweepRecord(study, Cut(text, '\n'));
    if (!row.ok()) return std::nullopt;
    letter.rows.push_back(*std::move(row));
  }
  return letter;
}

}  // namespace

std::string WriteLetter(const SweepLetter& letter) {
  return std::visit(
      Overload{[](const ReadyLetter& ready) {
                 return absl::StrCat("ready ", ready.threads, " ", ready.title);
               },
               [](const FailedLetter& failed) {
                 return absl::StrCat("failed ", failed.reason);
               },
               [](const WorkLetter& work) {
                 return absl::StrCat("work ", work.block.begin, " ",
                                     work.block.end, " ", work.first, " ",
                                     static_cast<int>(work.method));
               },
               [](const RowsLetter& done) {
                 std::string text = absl::StrCat("rows ", done.block.begin, " ",
                                                 done.block.end);
                 for (const SweepRow& row : done.rows) {
                   absl::StrAppend(&text, "\n", SweepRecord(row));
                 }
                 return text;
               },
               [](const StopLetter&) { return std::string("stop"); },
               [](const ByeLetter&) { return std::string("bye"); }},
      letter);
}

std::optional<SweepLetter> ReadLetter(const Study& study,
                                      absl::string_view text) {
  const absl::string_view kind = Cut(text, ' ');
  if (kind == "ready") return ReadReady(text);
  if (kind == "failed") return FailedLetter{std::string(text)};
  if (kind == "work") return ReadWork(text);
  if (kind == "rows") return ReadRows(study, text);
  if (kind == "stop") return StopLetter{};
  if (kind == "bye") return ByeLetter{};
  return std::nullopt;
}

}  // namespace orrery
