#include "cli/page/answer.h"

#include <absl/container/flat_hash_set.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "cli/page/page.h"
#include "cli/print/csv.h"
#include "cli/print/json.h"
#include "cli/print/version.h"
#include "run/provenance.h"

namespace orrery {
namespace {

pb::Page Finished(const Arguments& arguments, pb::Page page) {
  // "orrery simulate ..."
  const std::string& line = arguments.command_line();
  const size_t begin = line.find(' ') + 1;
  page.set_kind(line.substr(begin, line.find(' ', begin) - begin));
  page.set_command(line);
  page.set_version(std::string(kVersion));
  if (!page.has_title()) {
    std::string title = absl::StrCat("orrery ", page.kind());
    for (const std::string& word : arguments.positional()) {
      absl::StrAppend(&title, " ", word);
    }
    page.set_title(std::move(title));
  }
  return page;
}

}  // namespace

Flag CsvFlag() {
  return {.name = "csv",
          .value = "FILE",
          .help = "write the numbers as CSV (- is stdout, without table)"};
}

Flag HtmlFlag() {
  return {.name = "html",
          .value = "FILE",
          .help = "write a page with pictures that needs nothing else"};
}

std::vector<Flag> AnswerFlags(std::vector<Flag> flags) {
  const auto json =
      std::find_if(flags.begin(), flags.end(),
                   [](const Flag& flag) { return flag.name == "json"; });
  const auto after = json == flags.end() ? json : std::next(json);
  flags.insert(after, {CsvFlag(), HtmlFlag()});
  return flags;
}

std::vector<Flag> RowsFlags() {
  return {{.name = "json",
           .value = "FILE",
           .help = "write JSON to FILE instead (- is stdout)"},
          {.name = "csv",
           .value = "FILE",
           .help = "write CSV to FILE instead (- is stdout)"}};
}

absl::StatusOr<bool> WriteRows(const Arguments& arguments,
                               const std::string& json,
                               absl::string_view member) {
  bool print = true;
  if (const auto path = arguments.Get("json")) {
    RETURN_IF_ERROR(WriteFile(*path, json));
    print = false;
  }
  if (const auto path = arguments.Get("csv")) {
    RETURN_IF_ERROR(WriteFile(*path, JsonRowsCsv(json, member)));
    print = false;
  }
  return print;
}

absl::Status WritePage(const Arguments& arguments, const std::string& path,
                       absl::FunctionRef<pb::Page()> page) {
  return WriteFile(path, PageHtml(Finished(arguments, page())));
}

absl::StatusOr<bool> WriteAnswer(const Arguments& arguments,
                                 const google::protobuf::Message& json,
                                 absl::FunctionRef<std::string()> csv,
                                 absl::FunctionRef<pb::Page()> page) {
  bool print = true;
  const auto asked = [&](absl::string_view flag) {
    const auto path = arguments.Get(flag);
    if (path == "-") print = false;
    return path;
  };
  if (const auto path = asked("json")) {
    RETURN_IF_ERROR(WriteFile(*path, ToJson(json)));
  }
  if (const auto path = asked("csv")) {
    RETURN_IF_ERROR(WriteFile(*path, csv()));
  }
  if (const auto path = asked("html")) {
    RETURN_IF_ERROR(WritePage(arguments, *path, page));
  }
  return print;
}

void AddSources(const pb::Scenario& scenario, pb::Page* page) {
  // Scenarios of a comparison share most of them.
  absl::flat_hash_set<std::string> seen;
  for (const pb::Provenance& source : page->sources()) {
    seen.insert(source.SerializeAsString());
  }
  for (pb::Provenance& source : ProvenanceOf(scenario)) {
    if (seen.insert(source.SerializeAsString()).second) {
      *page->add_sources() = std::move(source);
    }
  }
}

absl::StatusOr<bool> WriteReport(const Arguments& arguments,
                                 const pb::Scenario& scenario,
                                 pb::Report report,
                                 const pb::Picture* picture) {
  report.set_version(std::string(kVersion));
  return WriteAnswer(
      arguments, report, [&] { return FieldsCsv(report); },
      [&] {
        pb::Page page;
        *page.mutable_report() = report;
        if (picture != nullptr) *page.mutable_picture() = *picture;
        AddSources(scenario, &page);
        return page;
      });
}

}  // namespace orrery
