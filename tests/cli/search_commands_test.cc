// tune and sweep as a user types them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;

// 8 x 5 x 3 x 2 = 240 points, in journal entries of 8.
constexpr char kStudy[] = R"~(
  name: "kill"
  scenario: "quickstart"
  axis { path: "training.bucket"
         value: "1 MB" value: "2 MB" value: "3 MB" value: "4 MB"
         value: "5 MB" value: "6 MB" value: "7 MB" value: "8 MB" }
  axis { path: "system.nodes" range { from: 4 to: 8 step: 1 } }
  axis { path: "training.parallel.tensor" value: "1" value: "2" value: "4" }
  axis { path: "training.parallel.data" expression: "chips / (tensor * 2)"
}
  axis { path: "training.sharding" value: "ZERO_0" value: "ZERO_1" }
  objective { expression: "step_time_s" }
  method: SIMULATE
)~";

class SearchCommands : public ::testing::Test {
 protected:
  SearchCommands()
      : folder_(::testing::TempDir() + "search_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/study.textproto") << kStudy;
  }
  ~SearchCommands() override { std::filesystem::remove_all(folder_); }
  const std::string folder_;
};

TEST_F(SearchCommands, AKilledSweepLosesAndRepeatsNothing) {
  const std::string study = folder_ + "/study.textproto";
  const std::string whole = folder_ + "/whole.csv";
  const std::string resumed = folder_ + "/resumed.csv";
  const std::string journal = folder_ + "/journal";
  ASSERT_EQ(RunOrrery({"sweep", study, "--csv", whole}).exit_code, 0);
  Rng rng(7, "kills");
  for (int kill_number = 0; kill_number < 6; ++kill_number) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::string binary = std::getenv("ORRERY_BINARY");
      close(1);
      close(2);
      execl(binary.c_str(), "orrery", "sweep", study.c_str(), "--journal",
            journal.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + rng.Below(200)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  ASSERT_EQ(RunOrrery({"sweep", study, "--journal", journal, "--csv", resumed})
                .exit_code,
            0);
  EXPECT_EQ(*ReadFile(whole), *ReadFile(resumed));
}

TEST_F(SearchCommands, AJournalOfAnotherStudyIsRefused) {
  const std::string study = folder_ + "/study.textproto";
  const std::string journal = folder_ + "/journal";
  std::ofstream(journal) << "# orrery sweep 0000000000000000 point\n0\n";
  const auto run = RunOrrery({"sweep", study, "--journal", journal});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("is of something else"));
}

// A small study of estimates, for what does not depend on how long it takes.
constexpr char kQuick[] = R"~(
  name: "quick"
  scenario: "quickstart"
  axis { path: "training.parallel.tensor" value: "1" value: "2" value: "4" }
  axis { path: "training.parallel.data" expression: "chips / (tensor * 2)" }
  axis { path: "training.micro_batch" value: "1" value: "2" value: "3" }
  objective { expression: "step_time_s" }
  objective { expression: "memory.peak_bytes" }
)~";

TEST_F(SearchCommands, ATornLastLineIsDoneAgain) {
  const std::string study = folder_ + "/quick.textproto";
  std::ofstream(study) << kQuick;
  const std::string journal = folder_ + "/journal";
  const std::string whole = folder_ + "/whole.csv";
  const std::string again = folder_ + "/again.csv";
  ASSERT_EQ(RunOrrery({"sweep", study, "--journal", journal, "--csv", whole})
                .exit_code,
            0);
  const std::string complete = *ReadFile(journal);
  // Cut in the middle of every line but the title, one after the other.
  size_t line = complete.find('\n') + 1;
  int cuts = 0;
  while (line < complete.size()) {
    const size_t end = complete.find('\n', line);
    std::ofstream(journal) << complete.substr(0, line + (end - line) / 2);
    const auto run =
        RunOrrery({"sweep", study, "--journal", journal, "--csv", again});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("torn"));
    EXPECT_EQ(*ReadFile(again), *ReadFile(whole));
    EXPECT_EQ(*ReadFile(journal), complete);
    line = end + 1;
    ++cuts;
  }
  EXPECT_EQ(cuts, 9);  // 3 x 3 points
}

TEST_F(SearchCommands, AStudyThatChangedIsNotMixedWithItsJournal) {
  const std::string study = folder_ + "/quick.textproto";
  const std::string journal = folder_ + "/journal";
  std::ofstream(study) << kQuick;
  ASSERT_EQ(RunOrrery({"sweep", study, "--journal", journal}).exit_code, 0);
  const auto changed = RunOrrery({"sweep", study, "--journal", journal, "--set",
                                  "training.sequence=2048"});
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_THAT(changed.err, HasSubstr("is of something else"));
}

TEST_F(SearchCommands, JsonHasEveryPointAndWhatIsBest) {
  const std::string study = folder_ + "/quick.textproto";
  std::ofstream(study) << kQuick;
  const auto run = RunOrrery({"sweep", study, "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = ParseJson(run.out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->Find("rows")->array()->size(), 9u);
  const JsonValue& summary = *json->Find("summary");
  EXPECT_EQ(summary.Find("points")->number()->value, 9);
  EXPECT_FALSE(summary.Find("front")->array()->empty());
}

TEST_F(SearchCommands, ServingIsSweptByClosedForm) {
  const std::string study = folder_ + "/serving.textproto";
  std::ofstream(study) << R"~(
    scenario: "llama3_70b_fp8_serving"
    axis { path: "inference.batch" geometric { from: 8 to: 64 factor: 2 } }
    objective { expression: "inference.decode_tokens_per_s" maximize: true }
    objective { expression: "inference.time_per_output_token_s" }
    column { name: "USD" expression: "cost.dollars_per_million_tokens" }
  )~";
  const auto run = RunOrrery({"sweep", study});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  // Larger batches are faster for all and slower for each.
  EXPECT_THAT(run.out, HasSubstr("Pareto front: 4 points"));
}

TEST_F(SearchCommands, LimitsAskForWhatRequestsHave) {
  const auto run =
      RunOrrery({"tune", "llama3_70b_fp8_serving", "--limit", "mfu > 5"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err,
              HasSubstr("--limit: 'mfu > 5': an inference scenario has no "
                        "'mfu'"));
}

TEST_F(SearchCommands, ServingIsTunedUnderLimits) {
  const auto run =
      RunOrrery({"tune", "llama3_70b_fp8_serving", "--objective", "cost",
                 "--limit", "inference.time_per_output_token_s < 0.03",
                 "--simulate", "3", "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = ParseJson(run.out);
  ASSERT_TRUE(json.ok());
  const auto& plans = *json->Find("plans")->array();
  // Three of the search and, as it keeps to the limit, the plan as given.
  ASSERT_EQ(plans.size(), 4u);
  EXPECT_EQ(json->Find("plans_simulated")->number()->value, 3);
  double last = 0;
  std::set<std::string> different;
  for (const JsonValue& plan : plans) {
    different.insert(*plan.Find("description")->string());
    const double cost = plan.Find("objective")->number()->value;
    EXPECT_GE(cost, last);
    last = cost;
    EXPECT_LT(plan.Find("report")
                  ->Find("inference")
                  ->Find("time_per_output_token_s")
                  ->number()
                  ->value,
              0.03);
  }
  EXPECT_EQ(different.size(), 4u);
  EXPECT_TRUE(different.contains("as given"));
  EXPECT_LE(plans[0].Find("objective")->number()->value,
            json->Find("said")->Find("objective")->number()->value);
  // What it prints, typed, is what it simulated.
  std::vector<std::string> typed = {"simulate", "llama3_70b_fp8_serving",
                                    "--json", "-"};
  for (const JsonValue& setting : *plans[0].Find("settings")->array()) {
    typed.insert(typed.end(), {"--set", *setting.string()});
  }
  const auto again = ParseJson(RunOrrery(typed).out);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->Find("inference")->Find("end_to_end_s")->number()->value,
            plans[0]
                .Find("report")
                ->Find("inference")
                ->Find("end_to_end_s")
                ->number()
                ->value);
}

TEST_F(SearchCommands, ANewScenarioRuns) {
  const std::string file = folder_ + "/mine.textproto";
  ASSERT_EQ(RunOrrery({"new", file, "--model", "llama3_8b", "--tensor", "4"})
                .exit_code,
            0);
  EXPECT_EQ(RunOrrery({"estimate", file}).exit_code, 0);
  const auto twice = RunOrrery({"new", file});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr("is there already"));
  const auto served = RunOrrery({"new", "-", "--inference", "--tensor", "2"});
  EXPECT_EQ(served.exit_code, 0) << served.err;
  EXPECT_EQ(RunOrrery({"estimate", "-"}, served.out).exit_code, 0);
  const auto wrong =
      RunOrrery({"new", folder_ + "/wrong.textproto", "--tensor", "3"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/wrong.textproto"));
}

TEST_F(SearchCommands, CompletionsAndTheManualKnowEveryFlag) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = RunOrrery({"completion", shell});
    EXPECT_EQ(script.exit_code, 0);
    for (const char* word : {"compare", "no-causes", "quickstart",
                             "tensor_or_pipeline", "dgx_h100_ib400"}) {
      EXPECT_THAT(script.out, HasSubstr(word)) << shell;
    }
  }
  EXPECT_EQ(RunOrrery({"completion", "tcsh"}).exit_code, 2);
  const auto manual = RunOrrery({"man"});
  EXPECT_EQ(manual.exit_code, 0);
  EXPECT_THAT(manual.out, HasSubstr(".B \\-\\-no\\-causes"));
}

// What bash offers for the words typed so far.
TEST_F(SearchCommands, BashCompletesWhatIsTyped) {
  const std::string script = folder_ + "/complete.bash";
  std::ofstream(script) << RunOrrery({"completion", "bash"}).out
                        << "COMP_WORDS=(orrery simulate quick)\nCOMP_CWORD=2\n"
                           "_orrery\necho ${COMPREPLY[0]} > "
                        << folder_ << "/offered\n";
  ASSERT_EQ(std::system(("bash " + script).c_str()), 0);
  EXPECT_EQ(*ReadFile(folder_ + "/offered"), "quickstart\n");
}

// Chips that nobody has built, along axes: an H100 from its own budget is an
// H100, whatever number of dies its area is cut into, and a die of 1000 mm2
// cannot be made.
TEST_F(SearchCommands, ChipsAreDerivedAlongAxes) {
  const std::string study = folder_ + "/chips.textproto";
  std::ofstream(study) << R"~(
    scenario: "quickstart"
    technology {}
    axis { path: "technology.dies" value: "1" value: "2" }
    axis { name: "whole" path: "technology.area"
           expression: "814 / dies + (dies == 1) * extra" unit: "mm2" }
    axis { name: "sold" case { name: "market" }
           case { name: "at cost" set: "technology.markup=1" } }
    objective { expression: "cost.dollars_per_step" }
    column { expression: "step_time_s" }
    column { expression: "technology.made_dollars" }
    column { expression: "technology.sold_dollars" }
  )~";
  // 'extra' is no axis: said, with what makes the machine.
  const auto wrong = RunOrrery({"sweep", study});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err,
              HasSubstr("'extra', which is not an axis before it; this "
                        "axis makes the machine"));
  std::string text = *ReadFile(study);
  text.replace(text.find("scenario"), 0,
               "axis { name: \"extra\" case { name: \"0\" set: "
               "\"technology.stacks=5\" } case { name: \"186\" set: "
               "\"technology.stacks=5\" } }\n");
  std::ofstream(study) << text;
  const auto run = RunOrrery({"sweep", study, "--csv", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto table = CsvTable::Parse(run.out);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->rows().size(), 8u);  // 2 x 2 x 2
  const auto base =
      ParseJson(RunOrrery({"estimate", "quickstart", "--json", "-"}).out);
  ASSERT_TRUE(base.ok());
  const double step = base->Find("step_time_s")->number()->value;
  // Quantities of a derived chip are written with five digits.
  constexpr double kDigits = 1e-3;
  int refused = 0;
  for (const CsvTable::Row& row : table->rows()) {
    if (row.Get("problem")) {
      EXPECT_THAT(*row.Get("problem"), HasSubstr("does not fit the reticle"));
      ++refused;
      continue;
    }
    EXPECT_NEAR(*row.Number("step_time_s") / step, 1, kDigits);
    const double made = *row.Number("technology.made_dollars");
    const double sold = *row.Number("technology.sold_dollars");
    EXPECT_GT(made, 1000);
    if (row.Get("sold") == "at cost") {
      EXPECT_DOUBLE_EQ(sold, made);
    } else {
      EXPECT_GT(sold, 2 * made);
    }
  }
  EXPECT_EQ(refused, 2);  // one die of 1000 mm2, sold either way
}

// All of them at once, and before any point is worked out.
TEST_F(SearchCommands, AWrongTechnologyIsExplained) {
  const std::string study = folder_ + "/technology.textproto";
  const auto refusal = [&](const std::string& text) {
    std::ofstream(study) << text
                         << "axis { path: \"training.micro_batch\" value: "
                            "\"1\" value: \"2\" }";
    const auto run = RunOrrery({"sweep", study});
    EXPECT_EQ(run.exit_code, 2) << run.out;
    return run.err;
  };
  const std::string all = refusal(
      "scenario: \"quickstart\" technology { power: \"1 GW\" process: \"foo\" "
      "dies: 0 hbm: \"x\" }");
  for (const char* words :
       {"technology.power: must be", "technology.dies: must be",
        "technology.process: must be one of n10", "technology.hbm: must be"}) {
    EXPECT_THAT(all, HasSubstr(words));
  }
  EXPECT_THAT(
      refusal("scenario: \"llama3_70b_tpu_v6e\" technology { dies: 2 }"),
      HasSubstr("chip 'tpu_v6e' has no package"));
  EXPECT_THAT(
      refusal("scenario: \"quickstart\" technology { power: \"100 kW\" }"),
      HasSubstr("is more than 2 W/mm2"));
}

TEST_F(SearchCommands, AWrongStudyIsExplained) {
  std::ofstream(folder_ + "/wrong.textproto") << R"~(
    axis { path: "training.parallel.tensor" }
    axis { path: "training.micro_batch" range { from: 4 to: 1 step: 1 } }
    axis { path: "training.parallel.data" expression: "chips / (" }
    constraint: "mfu >"
  )~";
  const auto run = RunOrrery({"sweep", folder_ + "/wrong.textproto"});
  EXPECT_EQ(run.exit_code, 2);
  for (const char* line :
       {"scenario: is missing", "axis[0]: has exactly one of",
        "axis[1]: a range has from <= to", "axis[2].expression",
        "constraint[0]"}) {
    EXPECT_THAT(run.err, HasSubstr(line));
  }
}

// A point of a study that tunes is what tune finds, with as much kept.
TEST_F(SearchCommands, AStudyKeepsWhatTuneKeeps) {
  const std::vector<std::string> kept = {
      "tensor",   "context",         "expert",        "sequence_parallel",
      "schedule", "sharding",        "recompute",     "pipeline",
      "order",    "dispatch_method", "context_method"};
  std::string study = R"~(
    scenario: "quickstart"
    axis { path: "system.nodes" value: "4" }
    column { expression: "mfu" }
    method: TUNE
  )~";
  std::vector<std::string> tune = {"tune", "quickstart", "--simulate",
                                   "1",    "--json",     "-"};
  for (const std::string& field : kept) {
    study += "keep: \"" + field + "\"\n";
    tune.insert(tune.end(), {"--keep", field});
  }
  const std::string file = folder_ + "/keep.textproto";
  std::ofstream(file) << study;
  const auto swept = RunOrrery({"sweep", file, "--csv", "-"});
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  const auto tuned = RunOrrery(tune);
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  const auto table = CsvTable::Parse(swept.out);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->rows().size(), 1u);
  const auto json = ParseJson(tuned.out);
  ASSERT_TRUE(json.ok());
  const JsonValue& best = json->Find("plans")->array()->front();
  EXPECT_EQ(*table->rows()[0].Number("step_time_s"),
            best.Find("report")->Find("step_time_s")->number()->value);

  // Where nothing is searched nothing can be kept, and only what is searched.
  std::ofstream(file) << R"~(
    scenario: "quickstart"
    axis { path: "system.nodes" value: "4" }
    keep: "tensr"
  )~";
  const auto wrong = RunOrrery({"sweep", file});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("keep: goes with method: TUNE"));
  EXPECT_THAT(wrong.err,
              HasSubstr("keep: 'tensr' is nothing that is searched"));
}

TEST_F(SearchCommands, TuneNamesWhatMayBeKept) {
  const auto run = RunOrrery({"tune", "quickstart", "--keep", "tensr"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("tensor, context, pipeline"));
}

TEST_F(SearchCommands, TuneBeatsOrKeepsThePlan) {
  const auto run =
      RunOrrery({"tune", "quickstart", "--simulate", "2", "--json", "-"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"against_said\""));
}

}  // namespace
}  // namespace orrery
