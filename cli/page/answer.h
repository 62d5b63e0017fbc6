#pragma once
// --json, --csv and --html: an answer in the forms that were asked for.
//
//   ASSIGN_OR_RETURN(const bool print,
//                    WriteAnswer(arguments, report,
//                                [&] { return FieldsCsv(report); },
//                                [&] { return PageOf(report); }));
//   if (print) Print(ReportText(report));
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "cli/flags/command.h"
#include "proto/page.pb.h"
#include "proto/report.pb.h"
#include "proto/scenario.pb.h"

namespace orrery {

Flag CsvFlag();
Flag HtmlFlag();
// `flags`, among which is --json, with the other two after it.
std::vector<Flag> AnswerFlags(std::vector<Flag> flags);

// Writes what was asked for; the page gets its kind, title, command and
// version here. Whether tables are to be printed: not if one of the files is
// standard output.
absl::StatusOr<bool> WriteAnswer(const Arguments& arguments,
                                 const google::protobuf::Message& json,
                                 absl::FunctionRef<std::string()> csv,
                                 absl::FunctionRef<pb::Page()> page);

// --json and --csv of an answer that is a list of rows, written as JSON;
// `member` is the list's name if it is part of an object.
std::vector<Flag> RowsFlags();
// Whether the table is to be printed: not if there is such a file.
absl::StatusOr<bool> WriteRows(const Arguments& arguments,
                               const std::string& json,
                               absl::string_view member = "");

// The page alone, at `path`.
absl::Status WritePage(const Arguments& arguments, const std::string& path,
                       absl::FunctionRef<pb::Page()> page);

// The same of a scenario's report: a line of CSV for every number, and a page
// with the sources of every part. The report gets its version here.
absl::StatusOr<bool> WriteReport(const Arguments& arguments,
                                 const pb::Scenario& scenario,
                                 pb::Report report,
                                 const pb::Picture* picture = nullptr);

// Where the constants of a scenario come from.
void AddSources(const pb::Scenario& scenario, pb::Page* page);

}  // namespace orrery
