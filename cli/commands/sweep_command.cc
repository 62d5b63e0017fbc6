// orrery sweep: many scenarios at once, the best of them, and all as a table.
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/file_writer.h"
#include "base/format.h"
#include "base/line_log.h"
#include "base/mix_bits.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "catalog/textproto.h"
#include "cli/commands/commands.h"
#include "cli/flags/number_flags.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/scenario.h"
#include "cli/page/answer.h"
#include "cli/print/json.h"
#include "cli/print/output.h"
#include "cli/print/progress.h"
#include "cli/print/sweep_text.h"
#include "cli/print/version.h"
#include "cli/ranks/ranks.h"
#include "run/search/axis_rules.h"
#include "run/search/sweep_team.h"

namespace orrery {
namespace {

// Points that one thread works out in a row: simulations take long enough to be
// handed out one by one.
constexpr int64_t kEstimatesAtOnce = 512;
// Rows are put on the disk when there are so many, or when it is time.
constexpr size_t kRowsAtOnce = 1 << 14;
constexpr std::chrono::seconds kMostUnsaved{1};
constexpr int64_t kMostShown = 1000;

absl::StatusOr<pb::Study> ReadStudy(const Catalog& catalog,
                                    const Arguments& arguments) {
  const std::string& name = arguments.positional()[0];
  ASSIGN_OR_RETURN(pb::Study study, catalog.Study(name));
  if (!study.has_name()) study.set_name(name);
  for (const std::string& set : arguments.All("set")) study.add_set(set);
  return study;
}

// Tells studies apart: whatever changes a row changes it. An error if the
// study and its scenario do not go together.
absl::StatusOr<std::string> Title(const Catalog& catalog,
                                  const pb::Study& proto, const Study& study) {
  std::vector<std::string> sets;
  std::copy_if(study.sets().begin(), study.sets().end(),
               std::back_inserter(sets),
               [](const std::string& set) { return !IsOfTechnology(set); });
  ASSIGN_OR_RETURN(const pb::Scenario base,
                   MergeScenario(catalog, study.scenario(), sets));
  RETURN_IF_ERROR(base.has_training() ? study.KeptOfTraining().status()
                                      : study.KeptOfServing().status());
  RETURN_IF_ERROR(CheckTechnology(catalog, study, base));
  uint64_t hash = 0;
  for (const char c :
       absl::StrCat(PrintTextproto(proto), PrintTextproto(base), kVersion)) {
    hash = MixBits(hash + kSplitMixIncrement + static_cast<unsigned char>(c));
  }
  return fmt::format("# orrery sweep {:016x} {}", hash, SweepHeader(study));
}

using RowWriter = std::function<std::string(const SweepRow&)>;

// Every row in a file, one after the other: CSV or JSON.
class RowFile {
 public:
  // The error says why there can be no file. `path` may be nothing.
  static absl::StatusOr<RowFile> Create(const std::optional<std::string>& path,
                                        const std::string& before,
                                        RowWriter write,
                                        absl::string_view between) {
    RowFile file(std::move(write), between);
    if (path) {
      ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(*path));
      file.writer_.emplace(std::move(writer));
      RETURN_IF_ERROR(file.writer_->Append(before));
    }
    return file;
  }

  absl::Status Add(absl::Span<const SweepRow> rows) {
    if (!writer_) return absl::OkStatus();
    std::string text;
    for (const SweepRow& row : rows) {
      absl::StrAppend(&text, first_ ? "" : between_, write_(row));
      first_ = false;
    }
    return writer_->Append(text);
  }
  absl::Status Finish(absl::string_view after) {
    if (!writer_) return absl::OkStatus();
    RETURN_IF_ERROR(writer_->Append(after));
    return writer_->Commit();
  }

 private:
  RowFile(RowWriter write, absl::string_view between)
      : write_(std::move(write)), between_(between) {}

  std::optional<FileWriter> writer_;
  RowWriter write_;
  absl::string_view between_;
  bool first_ = true;
};

// Where rows go: the summary, the journal and the tables of all.
class RowSink {
 public:
  RowSink(bool estimates, SweepSummary* summary, LineLog* journal, RowFile* csv,
          RowFile* json)
      : estimates_(estimates),
        summary_(*summary),
        journal_(journal),
        csv_(*csv),
        json_(*json) {}

  // An error if not even the first point with an answer has the numbers that
  // the study asks for.
  absl::Status Add(std::vector<SweepRow> rows) {
    for (const SweepRow& row : rows) {
      if (row.problem.empty()) answered_ = true;
      if (answered_ || !absl::StartsWith(row.problem, kLacksNumber)) continue;
      return absl::InvalidArgumentError(fmt::format(
          "point {}: {}; objectives, constraints and columns can ask for what "
          "the method of the study gives, which 'orrery {} SCENARIO --json -' "
          "prints",
          row.point, row.problem, estimates_ ? "estimate" : "simulate"));
    }
    std::move(rows.begin(), rows.end(), std::back_inserter(waiting_));
    const auto now = std::chrono::steady_clock::now();
    if (waiting_.size() < kRowsAtOnce && now < saved_ + kMostUnsaved) {
      return absl::OkStatus();
    }
    saved_ = now;
    return Save();
  }
  // What has been added and is not saved.
  absl::Status Save() {
    if (journal_) {
      std::vector<std::string> records;
      records.reserve(waiting_.size());
      for (const SweepRow& row : waiting_) records.push_back(SweepRecord(row));
      RETURN_IF_ERROR(journal_->Append(records));
      RETURN_IF_ERROR(journal_->Sync());
    }
    RETURN_IF_ERROR(Show(waiting_));
    waiting_.clear();
    return absl::OkStatus();
  }
  // Of rows that are in the journal.
  absl::Status Show(absl::Span<const SweepRow> rows) {
    for (const SweepRow& row : rows) summary_.Add(row);
    RETURN_IF_ERROR(csv_.Add(rows));
    return json_.Add(rows);
  }

 private:
  const bool estimates_;
  bool answered_ = false;
  SweepSummary& summary_;
  LineLog* journal_;
  RowFile& csv_;
  RowFile& json_;
  std::vector<SweepRow> waiting_;
  std::chrono::steady_clock::time_point saved_ =
      std::chrono::steady_clock::now();
};

// Rows of an earlier run: the next point is the number of them.
absl::StatusOr<int64_t> Resume(const Study& study, const LineLog& journal,
                               RowSink* sink) {
  int64_t next = 0;
  for (const std::string& line : journal.lines()) {
    ASSIGN_OR_RETURN(const SweepRow row, ParseSweepRecord(study, line));
    if (row.point != next++) {
      return absl::DataLossError(
          fmt::format("the journal has point {} where {} belongs; remove it",
                      row.point, next - 1));
    }
    RETURN_IF_ERROR(sink->Show({&row, 1}));
  }
  return next;
}

// A study as it was typed and read, with what tells it from others.
struct NamedStudy {
  Study study;
  std::string title;
};

absl::StatusOr<NamedStudy> FindStudy(const Catalog& catalog,
                                     const Arguments& arguments) {
  ASSIGN_OR_RETURN(const pb::Study proto, ReadStudy(catalog, arguments));
  absl::StatusOr<Study> study = Study::FromProto(proto);
  if (!study.ok()) {
    return Annotate(study.status(), arguments.positional()[0]);
  }
  ASSIGN_OR_RETURN(std::string title, Title(catalog, proto, *study));
  return NamedStudy{*std::move(study), std::move(title)};
}

// The sweep as the process does it that has the files and the terminal.
template <Peers P>
absl::StatusOr<ExitCode> LeadSweep(const Arguments& arguments,
                                   const Catalog& catalog,
                                   const NamedStudy& named, int threads,
                                   SweepTeam<P>& team) {
  const Study& study = named.study;
  ASSIGN_OR_RETURN(const int64_t best, CountFlag(arguments, "best", 10));
  std::optional<LineLog> journal;
  if (const auto path = arguments.Get("journal")) {
    if (*path == "-") {
      return absl::InvalidArgumentError(
          "--journal: a journal is read again when a sweep goes on, and is a "
          "file of its own, not standard output");
    }
    ASSIGN_OR_RETURN(LineLog log, LineLog::Open(*path, named.title));
    journal.emplace(std::move(log));
  }
  // A row with a problem is as wide as the others.
  const std::string no_columns(study.columns().size() + 2, ',');
  ASSIGN_OR_RETURN(RowFile csv,
                   RowFile::Create(
                       arguments.Get("csv"), SweepHeader(study) + "\n",
                       [&](const SweepRow& row) {
                         return SweepRecord(row) +
                                (row.columns.empty() ? no_columns : "");
                       },
                       "\n"));
  ASSIGN_OR_RETURN(RowFile json,
                   RowFile::Create(arguments.Get("json"), "{\"rows\": [\n",
                                   SweepJson, ",\n"));
  const auto shown = static_cast<int>(
      std::min(std::max<int64_t>(best, study.simulate()), kMostShown));
  SweepSummary summary(study, shown);
  const bool simulates = study.method() == pb::Study::SIMULATE ||
                         study.method() == pb::Study::TUNE;
  RowSink sink(!simulates, &summary, journal ? &*journal : nullptr, &csv,
               &json);
  int64_t next = 0;
  if (journal) {
    ASSIGN_OR_RETURN(next, Resume(study, *journal, &sink));
    if (journal->torn() > 0) {
      fmt::print(stderr,
                 "orrery: the journal's last line was torn; its point "
                 "is done again\n");
    }
  }
  Progress progress(arguments);
  RETURN_IF_ERROR(team.Run(
      {.study = study,
       .catalog = catalog,
       .title = named.title,
       .begin = next,
       .end = study.points(),
       .point_of = [](int64_t i) { return i; },
       .method = study.method(),
       .block = simulates ? 1 : kEstimatesAtOnce,
       .threads = threads},
      [&](std::vector<SweepRow> rows) {
        progress.Tell("sweeping", static_cast<double>(rows.back().point) /
                                      static_cast<double>(study.points()));
        return sink.Add(std::move(rows));
      }));
  RETURN_IF_ERROR(sink.Save());
  std::vector<SweepRow> simulated;
  const auto confirmed = std::min<int64_t>(
      static_cast<int64_t>(summary.best().size()), study.simulate());
  RETURN_IF_ERROR(team.Run(
      {.study = study,
       .catalog = catalog,
       .title = named.title,
       .begin = 0,
       .end = confirmed,
       .point_of =
           [&](int64_t i) {
             return summary.best()[static_cast<size_t>(i)].point;
           },
       .method = pb::Study::SIMULATE,
       .block = 1,
       .threads = static_cast<int>(std::min<int64_t>(threads, confirmed))},
      [&](std::vector<SweepRow> rows) {
        std::move(rows.begin(), rows.end(), std::back_inserter(simulated));
        progress.Tell("simulating the best",
                      static_cast<double>(simulated.size()) /
                          static_cast<double>(confirmed));
        return absl::OkStatus();
      }));
  progress.Wipe();
  RETURN_IF_ERROR(csv.Finish("\n"));
  const pb::SweepResult result = summary.ToProto(simulated);
  RETURN_IF_ERROR(
      json.Finish(absl::StrCat("\n],\n\"summary\": ", ToJson(result), "}\n")));
  if (const auto html = arguments.Get("html")) {
    RETURN_IF_ERROR(WritePage(arguments, *html, [&] {
      pb::Page page;
      *page.mutable_sweep() = result;
      return page;
    }));
  }
  if (arguments.Get("csv") != "-" && arguments.Get("json") != "-" &&
      arguments.Get("html") != "-") {
    RETURN_IF_ERROR(Print(SweepText(study, summary, simulated)).status());
  }
  return summary.answered() > 0 ? ExitCode::kDone : ExitCode::kNo;
}

absl::StatusOr<ExitCode> RunStudy(const Arguments& arguments) {
  const Catalog catalog;
  ASSIGN_OR_RETURN(std::optional<Ranks> ranks, Ranks::Join());
  const absl::StatusOr<NamedStudy> named = FindStudy(catalog, arguments);
  if (!ranks) {
    if (!named.ok()) return named.status();
    const auto threads =
        static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    NoPeers none;
    SweepTeam alone(none);
    return LeadSweep(arguments, catalog, *named, threads, alone);
  }
  if (ranks->rank() > 0) {
    ServeSweep(named.ok() ? absl::StatusOr<Study>(named->study)
                          : absl::StatusOr<Study>(named.status()),
               catalog, named.ok() ? named->title : "", ranks->processors(),
               *ranks);
    return ExitCode::kDone;
  }
  SweepTeam team(*ranks);
  if (!named.ok()) return named.status();
  return LeadSweep(arguments, catalog, *named, ranks->processors(), team);
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
              "With --journal a sweep that was stopped is\ncontinued. Under "
              "mpirun its processes share the points. Exit code 1 if no point\n"
              "has an answer.\n\n"
              "  orrery sweep tensor_or_pipeline\n"
              "  orrery sweep tensor_or_pipeline --csv -\n"
              "  mpirun -n 8 orrery sweep tensor_or_pipeline",
          .flags = {SetFlag(),
                    {.name = "csv",
                     .value = "FILE",
                     .help = "every point as a row (- is stdout, without "
                             "tables)"},
                    {.name = "json",
                     .value = "FILE",
                     .help = "the same as JSON, with the best and the front"},
                    HtmlFlag(),
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
