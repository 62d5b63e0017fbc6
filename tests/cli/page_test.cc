// Pages: whole, by themselves, and proof against what names may hold.
#include "cli/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/json.h"
#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// What stands in the page's data element.
std::string DataOf(const std::string& html) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = html.find(open) + open.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

TEST(Page, NoTextOfTheUsersBecomesMarkup) {
  const std::string nasty =
      "</script><script>alert(1)</script><!-- & \"' <img src=x onerror=y>";
  pb::Page page;
  page.set_kind("simulate");
  page.set_title(nasty);
  page.set_command(nasty);
  page.mutable_report()->set_scenario(nasty);
  const std::string html = PageHtml(page);
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<!--")));
  // The text itself arrives whole.
  const auto data = ParseJson(DataOf(html));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(*data->Find("title")->string(), nasty);
  EXPECT_EQ(*data->Find("report")->Find("scenario")->string(), nasty);
}

TEST(Page, LoadsNothing) {
  const std::string html = PageHtml(pb::Page());
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* loader : {" src=", "@import", "url(", "<link", "fetch(",
                             "XMLHttpRequest", "innerHTML", "eval("}) {
    EXPECT_THAT(html, Not(HasSubstr(loader))) << loader;
  }
  EXPECT_EQ(CountOf(html, "<script"), CountOf(html, "</script>"));
}

class PageCommands : public ::testing::Test {
 protected:
  // The data of the page that a command writes.
  static JsonValue Data(std::vector<std::string> words) {
    const std::string file = TestFile("page.html");
    words.insert(words.end(), {"--html", file});
    const ProgramResult run = RunOrrery(words);
    // A missed bar of a validation is an answer.
    EXPECT_LE(run.exit_code, words[0] == "validate" ? 1 : 0) << run.err;
    EXPECT_FALSE(run.out.empty());
    const auto html = ReadFile(file);
    EXPECT_TRUE(html.ok());
    std::filesystem::remove(file);
    const auto data = ParseJson(DataOf(*html));
    EXPECT_TRUE(data.ok()) << data.status();
    EXPECT_THAT(*data->Find("command")->string(),
                HasSubstr("orrery " + words[0]));
    return *data;
  }
};

TEST_F(PageCommands, AStepHasItsPipelineAndItsMemory) {
  const JsonValue data = Data({"simulate", "quickstart"});
  const JsonValue* picture = data.Find("picture");
  ASSERT_NE(picture, nullptr);
  const auto& lanes = *picture->Find("lanes")->array();
  ASSERT_EQ(lanes.size(), 2);  // PP 2
  // 64 sequences over 4 data ranks, one at a time: 16 micro-batches forward and
  // backward.
  int passes = 0;
  for (const JsonValue& slice : *lanes[0].Find("slices")->array()) {
    passes += slice.Find("micro_batch") != nullptr;
  }
  EXPECT_EQ(passes, 2 * (64 / 4));
  // The largest total is the peak of the report.
  double most = 0;
  for (const JsonValue& sample : *picture->Find("memory")->array()) {
    double total = 0;
    for (const JsonValue& bytes : *sample.Find("bytes")->array()) {
      total += bytes.number()->value;
    }
    most = std::max(most, total);
  }
  EXPECT_EQ(
      most,
      data.Find("report")->Find("memory")->Find("peak_bytes")->number()->value);
  EXPECT_GT(data.Find("sources")->array()->size(), 5);
}

TEST_F(PageCommands, EveryCommandHasItsAnswer) {
  EXPECT_NE(
      Data({"explain", "quickstart", "--no-sensitivities"}).Find("explanation"),
      nullptr);
  EXPECT_NE(Data({"cost", "quickstart"}).Find("report")->Find("cost"), nullptr);
  EXPECT_NE(Data({"check", "quickstart"}).Find("report")->Find("difference"),
            nullptr);
  EXPECT_NE(
      Data({"compare", "quickstart", "--change", "training.micro_batch=2"})
          .Find("comparison"),
      nullptr);
  EXPECT_NE(Data({"tune", "quickstart", "--simulate", "1"}).Find("tuning"),
            nullptr);
  EXPECT_NE(Data({"sweep", "tensor_or_pipeline"}).Find("sweep"), nullptr);
  EXPECT_NE(Data({"validate", "kernels"}).Find("accuracy"), nullptr);
}

TEST(AnswerCsv, HasEveryNumberOfTheReport) {
  const ProgramResult run = RunOrrery({"simulate", "quickstart", "--csv", "-"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("field,value\nscenario,quickstart\n"));
  EXPECT_THAT(run.out, HasSubstr("\nbreakdown.bubble_s,"));
  EXPECT_THAT(run.out, HasSubstr("\nmemory.stages[1].peak_bytes,"));
}

TEST(CompareCommand, TakesReportsThatWereSaved) {
  const std::string before = TestFile("before.json");
  const std::string after = TestFile("after.json");
  ASSERT_EQ(RunOrrery({"simulate", "quickstart", "--json", before}).exit_code,
            0);
  ASSERT_EQ(RunOrrery({"simulate", "quickstart", "--set",
                       "training.micro_batch=2", "--json", after})
                .exit_code,
            0);
  const ProgramResult run = RunOrrery({"compare", before, after, "--csv", "-"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nbreakdown.bubble_s,"));
  std::ofstream(after) << "{\"suites\": []}";
  const ProgramResult wrong = RunOrrery({"compare", before, after});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("is not a report"));
  std::filesystem::remove(before);
  std::filesystem::remove(after);
}

TEST(CompareCommand, WantsASecond) {
  const ProgramResult run = RunOrrery({"compare", "quickstart"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--change PATH=VALUE"));
}

}  // namespace
}  // namespace orrery
