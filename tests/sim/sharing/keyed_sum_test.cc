#include "sim/sharing/keyed_sum.h"

#include <gmock/gmock.h>

#include "sim/sharing/transfer_plan.h"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Uses = std::vector<ResourceUse>;

ResourceUse Use(int resource, double weight) {
  return {static_cast<ResourceId>(resource), weight};
}

TEST(KeyedSum, ACanonicalListHasEachKeyOnceInOrder) {
  EXPECT_THAT(Canonical(Uses{Use(2, 1), Use(0, 3), Use(2, 4)}),
              ElementsAre(Use(0, 3), Use(2, 5)));
  EXPECT_THAT(Canonical(Uses{}), IsEmpty());
}

// 1 + 2^-53 is 1, and 2^-53 + 2^-53 + 1 is more: the order of addition shows,
// so it must not be that of the list.
TEST(KeyedSum, TheOrderOfEntriesDoesNotShow) {
  constexpr double kTiny = 0x1p-53;
  const Uses rising = {Use(0, kTiny), Use(0, kTiny), Use(0, 1)};
  const Uses falling = {Use(0, 1), Use(0, kTiny), Use(0, kTiny)};
  EXPECT_EQ(Canonical(rising), Canonical(falling));
  EXPECT_GT(Canonical(falling)[0].weight, 1);
}

TEST(KeyedSum, KeysOfBothListsAreKept) {
  const Uses a = {Use(0, 1), Use(3, 2), Use(5, 1)};
  const Uses b = {Use(1, 7), Use(3, 4)};
  EXPECT_THAT(Sum(a, b),
              ElementsAre(Use(0, 1), Use(1, 7), Use(3, 6), Use(5, 1)));
  EXPECT_EQ(Sum(a, Uses{}), a);
  EXPECT_EQ(Sum(Uses{}, b), b);
}

// 2^-53 + 2^-53 + 1 is more than 1 + 2^-53 + 2^-53, so the order of addition
// shows: it is that of the lists, whichever way they are summed.
TEST(KeyedSum, AllAtOnceIsOneAfterTheOther) {
  constexpr double kTiny = 0x1p-53;
  const Uses a = {Use(0, kTiny), Use(2, 1)};
  const Uses b = {Use(0, kTiny), Use(2, kTiny)};
  const Uses c = {Use(0, 1), Use(1, 5), Use(2, kTiny)};
  const std::vector<const Uses*> others = {&b, &c};
  const Uses all = SumAll(a, absl::MakeConstSpan(others));
  EXPECT_EQ(all, Sum(Sum(a, b), c));
  EXPECT_GT(all[0].weight, 1);
  EXPECT_EQ(all[2].weight, 1);
  EXPECT_EQ(SumAll(a, {}), a);
}

}  // namespace
}  // namespace orrery
