// orrery sweep: many scenarios at once, the best of them, and all as a table.
#include <absl/strings/str_cat.h>

#include <optional>

#include "base/file.h"
#include "base/file_writer.h"
#include "base/format.h"
#include "base/line_log.h"
#include "base/mix_bits.h"
#include "base/parallel.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "catalog/textproto.h"
#include "cli/commands/commands.h"
#include "cli/flags/number_flags.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/scenario.h"
#include "cli/print/output.h"
#include "cli/print/progress.h"
#include "cli/print/sweep_text.h"
#include "cli/print/version.h"
#include "run/search/sweep.h"

namespace orrery {
namespace {

// Rows between two entries of the journal: many estimates, few simulations.
constexpr int64_t kEstimatesAtOnce = 1 << 14;
constexpr int64_t kSimulationsAtOnce = 8;
constexpr int64_t kMostShown = 1000;

absl::StatusOr<pb::Study> ReadStudy(const Catalog& catalog,
                                    const Arguments& arguments) {
  const std::string& name = arguments.positional()[0];
  ASSIGN_OR_RETURN(pb::Study study, catalog.Study(name));
  if (!study.has_name()) study.set_name(name);
  for (const std::string& set : arguments.All("set")) study.add_set(set);
  return study;
}

// Tells studies apart: whatever changes a row changes it.
absl::StatusOr<std::string> Title(const Catalog& catalog,
                                  const pb::Study& proto, const Study& study) {
  ASSIGN_OR_RETURN(const pb::Scenario base,
                   MergeScenario(catalog, study.scenario(), study.sets()));
  uint64_t hash = 0;
  for (const char c :
       absl::StrCat(PrintTextproto(proto), PrintTextproto(base), kVersion)) {
    hash = MixBits(hash + kSplitMixIncrement + static_cast<unsigned char>(c));
  }
  return fmt::format("# orrery sweep {:016x} {}", hash, SweepHeader(study));
}

// Where rows go: the summary, the journal and the table of all.
class RowSink {
 public:
  RowSink(SweepSummary* summary, LineLog* journal, FileWriter* csv)
      : summary_(*summary), journal_(journal), csv_(csv) {}

  absl::Status Add(absl::Span<const SweepRow> rows) {
    std::vector<std::string> records;
    for (const SweepRow& row : rows) {
      summary_.Add(row);
      if (journal_ || csv_) records.push_back(SweepRecord(row));
    }
    if (journal_) {
      RETURN_IF_ERROR(journal_->Append(records));
      RETURN_IF_ERROR(journal_->Sync());
    }
    return AddToTable(records);
  }
  absl::Status AddToTable(absl::Span<const std::string> records) {
    if (csv_ == nullptr) return absl::OkStatus();
    std::string text;
    for (const std::string& record : records) {
      absl::StrAppend(&text, record, "\n");
    }
    return csv_->Append(text);
  }

 private:
  SweepSummary& summary_;
  LineLog* journal_;
  FileWriter* csv_;
};

// Rows of an earlier run: the next point is the number of them.
absl::StatusOr<int64_t> Resume(const Study& study, const LineLog& journal,
                               SweepSummary* summary, RowSink* sink) {
  int64_t next = 0;
  for (const std::string& line : journal.lines()) {
    ASSIGN_OR_RETURN(const SweepRow row, ParseSweepRecord(study, line));
    if (row.point != next++) {
      return absl::DataLossError(
          fmt::format("the journal has point {} where {} belongs; remove it",
                      row.point, next - 1));
    }
    summary->Add(row);
  }
  RETURN_IF_ERROR(sink->AddToTable(journal.lines()));
  return next;
}

absl::StatusOr<ExitCode> RunStudy(const Arguments& arguments) {
  const Catalog catalog;
  ASSIGN_OR_RETURN(const pb::Study proto, ReadStudy(catalog, arguments));
  absl::StatusOr<Study> made = Study::FromProto(proto);
  if (!made.ok()) return Annotate(made.status(), arguments.positional()[0]);
  const Study study = *std::move(made);
  ASSIGN_OR_RETURN(const std::string title, Title(catalog, proto, study));
  ASSIGN_OR_RETURN(const int64_t best, CountFlag(arguments, "best", 10));
  std::optional<LineLog> journal;
  if (const auto path = arguments.Get("journal")) {
    ASSIGN_OR_RETURN(LineLog log, LineLog::Open(*path, title));
    journal.emplace(std::move(log));
  }
  std::optional<FileWriter> csv;
  if (const auto path = arguments.Get("csv")) {
    ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(*path));
    csv.emplace(std::move(file));
    RETURN_IF_ERROR(csv->Append(SweepHeader(study) + "\n"));
  }
  const auto shown = static_cast<int>(
      std::min(std::max<int64_t>(best, study.simulate()), kMostShown));
  SweepSummary summary(study, shown);
  RowSink sink(&summary, journal ? &*journal : nullptr, csv ? &*csv : nullptr);
  int64_t next = 0;
  if (journal) {
    ASSIGN_OR_RETURN(next, Resume(study, *journal, &summary, &sink));
    if (journal->torn() > 0) {
      fmt::print(stderr,
                 "orrery: the journal's last line was torn; its point "
                 "is done again\n");
    }
  }
  Progress progress(arguments);
  const Sweep sweep(study, catalog);
  const bool simulates = study.method() == pb::Study::SIMULATE ||
                         study.method() == pb::Study::TUNE;
  const int64_t step = simulates ? kSimulationsAtOnce : kEstimatesAtOnce;
  while (next < study.points()) {
    progress.Tell("sweeping", static_cast<double>(next) /
                                  static_cast<double>(study.points()));
    const int64_t end = std::min(study.points(), next + step);
    RETURN_IF_ERROR(sink.Add(sweep.Rows(next, end)));
    next = end;
  }
  std::vector<SweepRow> simulated;
  if (study.simulate() > 0) {
    simulated.resize(
        std::min(summary.best().size(), static_cast<size_t>(study.simulate())));
    progress.Tell("simulating the best", 0);
    InParallel(simulated.size(), [&](size_t i) {
      simulated[i] = sweep.Simulated(summary.best()[i].point);
    });
  }
  progress.Wipe();
  if (csv) RETURN_IF_ERROR(csv->Commit());
  if (arguments.Get("csv") != "-") {
    RETURN_IF_ERROR(Print(SweepText(study, summary, simulated)).status());
  }
  return summary.answered() > 0 ? ExitCode::kDone : ExitCode::kNo;
}

}  // namespace

Command SweepCommand() {
  return {.name = "sweep",
          .operands = "STUDY",
          .min_operands = 1,
          .max_operands = 1,
          .summary = "Try many machines and plans; show the best of them.",
          .details =
              "A study names a scenario and the fields that vary "
              "(docs/search.md). Points are\nestimated, simulated or tuned; "
              "those that break a rule or do not fit are counted\nby reason. "
              "With --journal a sweep that was stopped goes on where it was. "
              "Exit code\n1 if no point has an answer.\n\n"
              "  orrery sweep tensor_or_pipeline\n"
              "  orrery sweep tensor_or_pipeline --csv -",
          .flags = {SetFlag(),
                    {.name = "csv",
                     .value = "FILE",
                     .help = "every point as a row (- is stdout, without "
                             "tables)"},
                    {.name = "journal",
                     .value = "FILE",
                     .help = "keep what is done there, and go on from it"},
                    {.name = "best",
                     .value = "N",
                     .help = "how many points to show (10)"},
                    ProgressFlag()},
          .run = RunStudy};
}

}  // namespace orrery
