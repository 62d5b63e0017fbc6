#pragma once
// Where two scenarios differ, part by part.
//
//   for (const ScenarioPart& part : DifferingParts(a, b)) {
//     part.changes;            // {"system.nodes: 4 -> 8"}
//     CopyPart(part, b, &a);   // a with b's nodes
//   }
//
// A part is what makes sense to change by itself: a model, a machine or a
// library of another name as a whole, else one field of it; of a plan one
// field, but all degrees of parallelism together.
#include <string>
#include <vector>

#include "proto/scenario.pb.h"

namespace orrery {

struct ScenarioPart {
  // "system", "system.nodes", "training.parallel".
  std::string path;
  // A line each, with what was and what is; long lists are cut, and say so.
  std::vector<std::string> changes;
};

// In the order of the schema. Names, descriptions and sources do not count.
std::vector<ScenarioPart> DifferingParts(const pb::Scenario& first,
                                         const pb::Scenario& second);

// Makes the part of `to` that of `from`.
void CopyPart(const ScenarioPart& part, const pb::Scenario& from,
              pb::Scenario* to);

}  // namespace orrery
