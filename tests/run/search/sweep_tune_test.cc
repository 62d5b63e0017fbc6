// A sweep that tunes each of its points.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>

#include "catalog/catalog.h"
#include "run/search/study.h"
#include "run/search/sweep_worker.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

// GPT 1T as published (TP 8, PP 64) on GB200 with NVLink domains of 8 to 64
// chips, and the fastest plan on four nodes with a slow network, where closed
// forms prefer one that takes half as long again.
constexpr const char* kStudies[] = {
    R"~(
      scenario: "megatron_1t_selective"
      set: "system.preset=gb200_nvl72"
      set: "training.precision=BF16"
      set: "training.global_batch=128"
      axis {
        name: "domain"
        case { name: "8" set: "system.chips_per_node=8" set: "system.nodes=64"
               set: "system.scale_out.nics_per_node=8"
               set: "system.host.cpus_per_node=4" }
        case { name: "32" set: "system.chips_per_node=32" set: "system.nodes=16"
               set: "system.scale_out.nics_per_node=32"
               set: "system.host.cpus_per_node=16" }
        case { name: "64" set: "system.chips_per_node=64" set: "system.nodes=8"
               set: "system.scale_out.nics_per_node=64"
               set: "system.host.cpus_per_node=32" }
      }
      objective { expression: "step_time_s" }
      method: TUNE
      keep: "recompute" keep: "micro_batch" keep: "sequence_parallel")~",
    R"~(
      scenario: "quickstart"
      set: "system.preset=a100_opa100x4"
      set: "training.sequence=2048"
      set: "training.parallel.tensor=2"
      set: "training.parallel.pipeline=4"
      set: "training.parallel.sequence_parallel=false"
      set: "training.schedule=INTERLEAVED_1F1B"
      set: "training.virtual_stages=3"
      axis { path: "system.nodes" value: "1" value: "2" value: "4" }
      objective { expression: "step_time_s" }
      method: TUNE)~"};

// The plan as given is one of those that are compared, and what a larger domain
// or more nodes of the same kind allow includes what fewer allow.
TEST(SweepTune, IsNeverSlowerThanThePlanAsGivenNorOnABetterMachine) {
  for (const char* text : kStudies) {
    SCOPED_TRACE(text);
    pb::Study proto;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto));
    ASSERT_OK_AND_ASSIGN(const Study study, Study::FromProto(proto));
    const Catalog catalog;
    SweepWorker worker(study, catalog);
    double before = std::numeric_limits<double>::infinity();
    for (int64_t point = 0; point < 3; ++point) {
      const SweepRow given = worker.Row(point, pb::Study::SIMULATE);
      const SweepRow tuned = worker.Row(point, pb::Study::TUNE);
      ASSERT_EQ(given.problem, "");
      ASSERT_EQ(tuned.problem, "");
      EXPECT_LE(tuned.columns[0], given.columns[0]) << point;
      EXPECT_LE(tuned.columns[0], before) << point;
      before = tuned.columns[0];
    }
  }
}

}  // namespace
}  // namespace orrery
