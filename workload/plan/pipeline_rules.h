#pragma once
// Rules of pipelines: which degrees, pieces and micro-batches a schedule takes,
// and how layers are spread over its stages. Violations go to the reader.
#include <vector>

#include "proto/training.pb.h"
#include "topology/machine/field_reader.h"
#include "workload/plan/stage_layout.h"

namespace orrery {

struct ScheduleChoice {
  PipelineSchedule schedule;
  int pipeline;
  int virtual_stages;
  int micro_batches;
};
void CheckSchedule(const ScheduleChoice& choice, const FieldReader& fields);

// Layers of each of the pipeline x virtual_stages pieces, in model order: as
// the user says, or evenly. Of no use after a violation.
std::vector<int> ReadLayersPerStage(const pb::Training& proto, int layers,
                                    int pipeline, int virtual_stages,
                                    const FieldReader& fields);

}  // namespace orrery
