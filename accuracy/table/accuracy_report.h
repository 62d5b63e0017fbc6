#pragma once
// An accuracy table as a message, for JSON.
#include "accuracy/table/accuracy_table.h"
#include "proto/accuracy.pb.h"

namespace orrery {

pb::AccuracySuite ToProto(const AccuracyTable& table);

}  // namespace orrery
