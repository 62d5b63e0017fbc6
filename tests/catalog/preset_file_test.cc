#include "catalog/preset_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/format.h"
#include "catalog/resolve.h"
#include "catalog/scenario_parts.h"
#include "catalog/textproto.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A folder of files that name each other.
class PresetFile : public testing::Test {
 protected:
  PresetFile()
      : folder_(
            fmt::format("{}/orrery_presets_{}", testing::TempDir(), getpid())) {
    std::filesystem::create_directories(folder_ + "/parts");
  }
  ~PresetFile() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  std::string folder_;
};

constexpr const char* kTraining =
    "training { global_batch: 8 sequence: 4096 parallel { tensor: 8 } }";

TEST_F(PresetFile, StandsWhereverAPresetDoes) {
  Write("parts/chip.textproto",
        "preset: \"h100_sxm\" name: \"mine\" memory: \"96 GB\"");
  Write("parts/system.textproto",
        "preset: \"dgx_h100_ib400\" name: \"my_system\" chip { preset: "
        "\"chip.textproto\" }");
  Write("model.textproto",
        "# proto-message: Model\npreset: \"llama3_8b\" name: \"my_model\" "
        "layers: 4");
  const std::string scenario = Write(
      "run.textproto",
      fmt::format("model {{ preset: \"model.textproto\" }} system {{ preset: "
                  "\"parts/system.textproto\" nodes: 1 }} {}",
                  kTraining));
  ASSERT_OK_AND_ASSIGN(const pb::Scenario s,
                       ResolveScenario(Catalog(), scenario, {}));
  EXPECT_EQ(s.name(), "run");
  EXPECT_EQ(s.model().name(), "my_model");
  EXPECT_EQ(s.model().layers(), 4);
  EXPECT_EQ(s.model().hidden(), 4096);
  EXPECT_EQ(s.system().name(), "my_system");
  EXPECT_EQ(s.system().chip().name(), "mine");
  EXPECT_EQ(s.system().chip().memory(), "96 GB");
  EXPECT_EQ(s.system().chip().compute_units(), 132);
  EXPECT_EQ(s.kernels().name(), "hopper_trtllm_2025");
  // What is shown needs none of the files any more.
  ASSERT_OK_AND_ASSIGN(
      const pb::Scenario again,
      ResolveScenarioText(Catalog(), PrintTextproto(s), "elsewhere", {}));
  EXPECT_EQ(PrintTextproto(again), PrintTextproto(s));
}

TEST_F(PresetFile, OfACommandLineIsRelativeToTheWorkingFolder) {
  const std::string model =
      Write("model.textproto", "preset: \"llama3_8b\" name: \"m\" layers: 4");
  const std::string relative =
      std::filesystem::relative(model, std::filesystem::current_path());
  for (const std::string& path : {model, relative}) {
    ASSERT_OK_AND_ASSIGN(
        const pb::Scenario s,
        ResolveScenario(Catalog(), "quickstart",
                        {fmt::format("model.preset={}", path)}));
    EXPECT_EQ(s.model().layers(), 4);
  }
}

TEST_F(PresetFile, ThatIsMissingOrOfAnotherKindIsNamed) {
  const std::string model =
      Write("model.textproto", "# proto-message: Model\nname: \"m\" layers: 4");
  EXPECT_THAT(ResolveChip(Catalog(), model).status().message(),
              AllOf(HasSubstr(model), HasSubstr("holds a Model"),
                    HasSubstr("a Chip is needed")));
  EXPECT_THAT(ResolveChip(Catalog(), "h100_sxm.textproto").status().message(),
              AllOf(HasSubstr("no chip 'h100_sxm.textproto'"),
                    HasSubstr("No such file")));
  EXPECT_THAT(ResolveChip(Catalog(), "h100_smx").status().message(),
              HasSubstr("did you mean 'h100_sxm'?"));
}

TEST_F(PresetFile, MayNotGoInACircle) {
  const std::string chip =
      Write("chip.textproto", "preset: \"chip.textproto\" name: \"c\"");
  EXPECT_THAT(ResolveChip(Catalog(), chip).status().message(),
              HasSubstr("names a file that names a file"));
}

}  // namespace
}  // namespace orrery
