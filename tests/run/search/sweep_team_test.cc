// A sweep shared among processes, with threads and mailboxes in their place.
#include "run/search/sweep_team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "catalog/textproto.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;

// Mailboxes of ranks.
class Post {
 public:
  explicit Post(int ranks) : boxes_(static_cast<size_t>(ranks)) {}

  void Put(int to, Letter letter) {
    const std::lock_guard lock(mutex_);
    ++letters_;
    boxes_[static_cast<size_t>(to)].push_back(std::move(letter));
  }
  std::optional<Letter> Take(int rank) {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_[static_cast<size_t>(rank)];
    if (box.empty()) return std::nullopt;
    Letter letter = std::move(box.front());
    box.pop_front();
    return letter;
  }
  int ranks() const { return static_cast<int>(boxes_.size()); }
  int64_t letters() const { return letters_; }

 private:
  std::mutex mutex_;
  std::vector<std::deque<Letter>> boxes_;
  int64_t letters_ = 0;
};

class PostedRank {
 public:
  PostedRank(Post& post, int rank) : post_(post), rank_(rank) {}
  int size() const { return post_.ranks(); }
  void Send(int to, const std::string& text) { post_.Put(to, {rank_, text}); }
  std::optional<Letter> Receive() { return post_.Take(rank_); }

 private:
  Post& post_;
  int rank_;
};
static_assert(Peers<PostedRank>);
static_assert(Peers<NoPeers>);

// 3 x 3 x 40 points; micro-batches of 3 do not divide the batch, and tensor 3
// no chips.
constexpr char kTeamStudy[] = R"~(
  name: "team"
  scenario: "quickstart"
  axis { path: "training.parallel.tensor" value: "1" value: "2" value: "3" }
  axis { path: "training.parallel.data" expression: "chips / (tensor * 2)" }
  axis { path: "training.micro_batch" value: "1" value: "2" value: "3" }
  axis { path: "training.bucket" range { from: 1 to: 40 step: 1 } unit: "MB" }
  objective { expression: "step_time_s" }
)~";

class SweepTeamTest : public ::testing::Test {
 protected:
  SweepTeamTest() : study_(Read(kTeamStudy)) {}

  static Study Read(const std::string& text) {
    pb::Study proto;
    CHECK(ParseTextproto(text, "study", &proto).ok());
    auto study = Study::FromProto(proto);
    CHECK(study.ok()) << study.status();
    return *std::move(study);
  }
  SweepJob Job(const std::string& title, int64_t block, int threads) const {
    return {.study = study_,
            .catalog = catalog_,
            .title = title,
            .begin = 0,
            .end = study_.points(),
            .point_of = kSame,
            .method = study_.method(),
            .block = block,
            .threads = threads};
  }
  std::string Records(const std::vector<SweepRow>& rows) const {
    std::string text;
    for (const SweepRow& row : rows) text += SweepRecord(row) + "\n";
    return text;
  }
  std::string Alone(int64_t block, int threads) const {
    NoPeers none;
    SweepTeam team(none);
    std::string text;
    EXPECT_THAT(team.Run(Job("", block, threads),
                         [&](std::vector<SweepRow> rows) {
                           text += Records(rows);
                           return absl::OkStatus();
                         }),
                IsOk());
    return text;
  }

  static constexpr auto kSame = [](int64_t i) { return i; };
  const Study study_;
  const Catalog catalog_;
};

TEST_F(SweepTeamTest, RowsDoNotDependOnBlocksThreadsOrRanks) {
  const std::string one = Alone(/*block=*/1000, /*threads=*/1);
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 3 * 3 * 40);
  EXPECT_THAT(one, HasSubstr("not a whole number"));
  EXPECT_EQ(Alone(1, 4), one);
  EXPECT_EQ(Alone(7, 2), one);
  for (const int ranks : {2, 4}) {
    // The leader works as well, or only leads.
    for (const int own : {0, 2}) {
      Post post(ranks);
      std::vector<std::thread> others;
      for (int rank = 1; rank < ranks; ++rank) {
        others.emplace_back([&, rank] {
          PostedRank me(post, rank);
          ServeSweep<PostedRank>(study_, catalog_, "title", rank, me);
        });
      }
      std::string text;
      PostedRank leader(post, 0);
      {
        SweepTeam team(leader);
        EXPECT_THAT(team.Run(Job("title", 7, own),
                             [&](std::vector<SweepRow> rows) {
                               text += Records(rows);
                               return absl::OkStatus();
                             }),
                    IsOk());
      }
      for (std::thread& other : others) other.join();
      EXPECT_EQ(text, one) << ranks << " ranks, " << own << " own threads";
      // 360 points in 52 blocks.
      if (own == 0) {
        EXPECT_GE(post.letters(), 2 * 52);
      }
    }
  }
}

TEST_F(SweepTeamTest, AnErrorOfTheSinkSendsEverybodyHome) {
  Post post(3);
  std::vector<std::thread> others;
  for (int rank = 1; rank < 3; ++rank) {
    others.emplace_back([&, rank] {
      PostedRank me(post, rank);
      ServeSweep<PostedRank>(study_, catalog_, "title", 2, me);
    });
  }
  PostedRank leader(post, 0);
  {
    SweepTeam team(leader);
    EXPECT_THAT(
        team.Run(Job("title", 3, 1),
                 [&](std::vector<SweepRow>) {
                   return absl::ResourceExhaustedError("disk full");
                 }),
        StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("disk full")));
  }
  for (std::thread& other : others) other.join();
}

TEST_F(SweepTeamTest, APeerThatReadSomethingElseIsRefused) {
  const std::pair<absl::StatusOr<Study>, const char*> cases[] = {
      {study_, "has read another study"},
      {absl::NotFoundError("there is no file"), "rank 1: there is no file"}};
  for (const auto& [study, words] : cases) {
    Post post(2);
    std::thread other([&] {
      PostedRank me(post, 1);
      ServeSweep(study, catalog_, "another title", 1, me);
    });
    PostedRank leader(post, 0);
    {
      SweepTeam team(leader);
      EXPECT_THAT(
          team.Run(Job("title", 3, 0),
                   [](std::vector<SweepRow>) { return absl::OkStatus(); }),
          StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words)));
    }
    other.join();
  }
}

// However late a block is, no more than a window is taken beyond it.
TEST(BlockQueue, GivesRowsInOrderAndHoldsAWindow) {
  BlockQueue queue(10, 30, {.points = 3, .window = 2});
  const auto rows_of = [](const PointBlock& block) {
    std::vector<SweepRow> rows;
    for (int64_t p = block.begin; p < block.end; ++p) {
      rows.emplace_back().point = p;
    }
    return rows;
  };
  const auto first = queue.TryTake();
  const auto second = queue.TryTake();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*second, (PointBlock{13, 16}));
  EXPECT_FALSE(queue.TryTake().has_value());
  queue.Put(*second, rows_of(*second));
  EXPECT_TRUE(queue.Ready().empty());
  queue.Put(*first, rows_of(*first));
  queue.Put(*first, rows_of(*first));
  EXPECT_EQ(queue.Ready().size(), 6u);
  std::vector<int64_t> points;
  while (const auto block = queue.TryTake()) {
    queue.Put(*block, rows_of(*block));
    for (const SweepRow& row : queue.Ready()) points.push_back(row.point);
  }
  EXPECT_TRUE(queue.done());
  ASSERT_EQ(points.size(), 14u);
  EXPECT_EQ(points.front(), 16);
  EXPECT_EQ(points.back(), 29);
}

TEST_F(SweepTeamTest, LettersAreReadAsWritten) {
  SweepRow answered;
  answered.point = 5;
  answered.values = {"1", "16", "2", "3"};
  answered.columns = {0.1 + 0.2};
  SweepRow refused;
  refused.point = 6;
  refused.values = {"3", "", "", ""};
  refused.problem = "data: 'chips / 3' is \"5.3\", not a whole number";
  const RowsLetter rows{{5, 7}, {answered, refused}};
  const auto read = ReadLetter(study_, WriteLetter(rows));
  ASSERT_TRUE(read && std::holds_alternative<RowsLetter>(*read));
  const RowsLetter& again = std::get<RowsLetter>(*read);
  EXPECT_EQ(again.block, rows.block);
  EXPECT_EQ(Records(again.rows), Records(rows.rows));
  EXPECT_EQ(again.rows[0].columns[0], 0.1 + 0.2);
  EXPECT_EQ(again.rows[1].problem, refused.problem);
  for (const char* odd : {"", "work 1 2", "rows 0 2\n0,1,16,1,1,,0.5", "hello",
                          "rows 0 1\n0,1,16,1,1,,half"}) {
    EXPECT_FALSE(ReadLetter(study_, odd).has_value()) << odd;
  }
}

}  // namespace
}  // namespace orrery
