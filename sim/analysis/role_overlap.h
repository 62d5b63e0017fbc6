#pragma once
// What can run beside the kernels of a role, whatever happens when.
//
// A call that a kernel needs, or that needs the kernel, directly or by way of
// other tasks of the rank, never runs beside it. What is left of each stream
// lies between the last task that is done before the kernel starts and the
// first that waits for its end. It follows from streams and dependencies alone.
//
// A loop is looked at over three turns, a first, a last and one between: more
// have nothing else beside them. What is said of a task that is run many times
// is the worst of these.
//
// Cost: O((places + dependencies) * streams) time; beside the result, a row of
// numbers per task with dependencies.
#include <vector>

#include "base/ids.h"
#include "workload/program/program.h"

namespace orrery {

struct RoleOverlap {
  // By place, of kernels: time at worst as a multiple of that alone, beside all
  // that can hold a part of the chip. Empty if one can be stopped.
  std::vector<double> at_worst;
  // The same beside collectives that only wait.
  std::vector<double> spinning;
  // Of all these, by how much collectives that wait stretch what is lost to
  // those that run.
  double most_spinning = 1;
  // By place, of calls: whether kernels can run beside it.
  std::vector<bool> beside_kernels;
  // Whether kernels of several streams share the chip.
  bool kernels_share = false;
};

RoleOverlap OverlapOf(const Role& role,
                      const IdVector<StreamId, Stream>& streams);

}  // namespace orrery
