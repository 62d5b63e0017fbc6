#include "workload/model/module.h"

#include <gtest/gtest.h>

#include "proto/training.pb.h"

namespace orrery {
namespace {

TEST(ModuleSet, HasWhatItWasMadeOf) {
  ModuleSet set = Module::kNorm | Module::kLatentUp;
  EXPECT_TRUE(set.Has(Module::kNorm));
  EXPECT_TRUE(set.Has(Module::kLatentUp));
  EXPECT_FALSE(set.Has(Module::kMlp));
  set |= Module::kMlp;
  EXPECT_TRUE(set.Has(Module::kMlp));
  EXPECT_TRUE(ModuleSet(Module::kMlp).Meets(set));
  EXPECT_FALSE(ModuleSet(Module::kMoe).Meets(set));
  EXPECT_TRUE(kNoModule.empty());
  EXPECT_FALSE(kNoModule.Meets(set));
}

// Plans turn the schema's numbers, which begin at 1, into modules.
TEST(Module, StandsInTheOrderOfTheSchema) {
  const auto number = [](Module module) {
    return static_cast<int>(module) + 1;
  };
  EXPECT_EQ(number(Module::kAttentionCore), pb::Training::ATTENTION_CORE);
  EXPECT_EQ(number(Module::kNorm), pb::Training::NORM);
  EXPECT_EQ(number(Module::kMlpActivation), pb::Training::MLP_ACTIVATION);
  EXPECT_EQ(number(Module::kMlp), pb::Training::MLP);
  EXPECT_EQ(number(Module::kMoe), pb::Training::MOE);
  EXPECT_EQ(number(Module::kLatentUp), pb::Training::MLA_UP_PROJECTION);
  EXPECT_EQ(pb::Training::Module_MAX, pb::Training::MLA_UP_PROJECTION);
}

}  // namespace
}  // namespace orrery
