// orrery collective and orrery validate collectives, from the outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/format.h"
#include "base/json.h"
#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

ProgramResult Collective(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"collective", "--system", "dgx_h100_ib400"});
  return RunOrrery(flags);
}

std::string CollectiveRefusal(std::vector<std::string> flags) {
  const ProgramResult result = Collective(std::move(flags));
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_THAT(result.out, IsEmpty());
  return result.err;
}

// One member of every row.
std::vector<double> Column(std::vector<std::string> flags, const char* name) {
  flags.insert(flags.end(), {"--json", "-"});
  const ProgramResult result = Collective(std::move(flags));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<double> values;
  const JsonValue json = ParseJson(result.out).value();
  for (const JsonValue& row : *json.Find("rows")->array()) {
    values.push_back(row.Find(name)->number()->value);
  }
  return values;
}

TEST(CollectiveCommand, DoublesFromTheFirstSizeToTheLast) {
  EXPECT_THAT(Column({"--size", "1MB..4MB"}, "size_bytes"),
              testing::ElementsAre(1e6, 2e6, 4e6));
  const ProgramResult table = Collective({"--nodes", "2", "--size", "64MB"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("algbw"), HasSubstr("busbw"),
                               HasSubstr("bound us"), HasSubstr("64000000")));
}

TEST(CollectiveCommand, WrongWordsAreRefusedWithTheRightOnes) {
  EXPECT_THAT(CollectiveRefusal({"--nodes", "0"}), HasSubstr("from 1 to"));
  EXPECT_THAT(CollectiveRefusal({"--size", "16GB..1KB"}),
              HasSubstr("1KB..16GB"));
  EXPECT_THAT(CollectiveRefusal({"--op", "allreduce"}),
              HasSubstr("'all_reduce'?"));
  EXPECT_THAT(CollectiveRefusal({"--op", "nonsense"}),
              AllOf(HasSubstr("all_reduce, "), HasSubstr("moe_dispatch"),
                    HasSubstr("moe_combine")));
  EXPECT_THAT(CollectiveRefusal({"--op", "moe_combin"}),
              HasSubstr("'moe_combine'?"));
  EXPECT_THAT(CollectiveRefusal({"--chips", "9"}), HasSubstr("from 1 to 8"));
  EXPECT_THAT(CollectiveRefusal({"--algorithm", "rang"}), HasSubstr("'ring'?"));
  EXPECT_THAT(CollectiveRefusal({"--algorithm", "pxn", "--op", "all_to_all"}),
              HasSubstr("needs several islands"));
  EXPECT_THAT(CollectiveRefusal({"--fidelity", "fluffy"}),
              HasSubstr("STEPPED"));
  EXPECT_THAT(CollectiveRefusal({"--algorithm", "sharp", "--nodes", "4"}),
              HasSubstr("`reduces` of the fabric"));
  EXPECT_THAT(CollectiveRefusal({"--experts", "8"}), HasSubstr("moe_dispatch"));
  EXPECT_THAT(CollectiveRefusal({"--op", "moe_combine", "--experts", "12"}),
              HasSubstr("a multiple of the 8 chips"));
  EXPECT_THAT(CollectiveRefusal({"--op", "moe_combine", "--algorithm", "ring"}),
              HasSubstr("every copy by itself"));
  EXPECT_THAT(CollectiveRefusal({"--set", "training.parallel.tensor=4"}),
              HasSubstr("fields of the system alone"));
  EXPECT_THAT(
      CollectiveRefusal({"--set", "system.fault={from: 3 remaining: 0}"}),
      HasSubstr("cut off from each other"));
}

// Nothing is faster than its bound, and a token that crosses once per node is
// faster than its copies.
TEST(CollectiveCommand, ExpertsAreReachedOncePerNode) {
  for (const char* op : {"moe_dispatch", "moe_combine"}) {
    const std::vector<std::string> flags = {"--nodes", "4",      "--op",
                                            op,        "--size", "64MB"};
    std::vector<std::string> direct = flags;
    direct.insert(direct.end(), {"--algorithm", "direct"});
    const double once = Column(flags, "time_s")[0];
    EXPECT_LT(once, Column(direct, "time_s")[0]);
    EXPECT_GT(once, Column(flags, "lower_bound_s")[0]);
  }
}

class UserTable : public testing::Test {
 protected:
  ~UserTable() override { std::filesystem::remove(file_); }
  ProgramResult Validate(const std::string& text) {
    std::ofstream(file_) << text;
    return RunOrrery({"validate", "collectives", file_, "--rows"});
  }
  const std::string file_ = TestFile("collectives.csv");
};

TEST_F(UserTable, IsReadWhateverTheOrderOfItsColumns) {
  const ProgramResult result = Validate(
      "\xef\xbb\xbf"
      "notes,system,time_us,num_gpus,size_bytes,collective\r\n"
      "red,dgx_h100_ib400,313,8,64000000,all_reduce\r\n");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 rows predicted, 0 refused"));
}

TEST_F(UserTable, ListsEveryRowItCannotUse) {
  const ProgramResult result = Validate(
      "system,time_us,num_gpus,size_bytes,collective\n"
      "dgx_h100_ib400,313,8,64000000,all_reduce\n"
      "nosuch,313,8,64000000,all_reduce\n"
      "dgx_h100_ib400,313,eight,64000000,all_reduce\n"
      "dgx_h100_ib400,313\n"
      "dgx_h100_ib400,,8,64000000,all_reduce\n");
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("1 rows predicted, 4 refused"),
                    HasSubstr("line 3: system.preset: there is no"),
                    HasSubstr("line 4: column 'num_gpus' must be"),
                    HasSubstr("line 5: the row has 2 fields, the header has 5"),
                    HasSubstr("line 6: column 'time_us' must be")));
}

}  // namespace
}  // namespace orrery
