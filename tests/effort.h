#pragma once
// Rounds: how often a test repeats itself on random input.
//
// The environment variable ORRERY_TEST_EFFORT is the percentage of the rounds
// to take, from 1 to 100; without it all are taken. The test preset asan sets
// it (CMakePresets.json), because there to start a program some thousand times
// takes many minutes. Fewer rounds are the first ones of all, so what fails
// with few fails with all.
//
//   for (int i = 0; i < Rounds(400); ++i) ...
#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/check.h"

namespace orrery {

inline int Rounds(int all) {
  const char* const set = std::getenv("ORRERY_TEST_EFFORT");
  if (set == nullptr) return all;
  const int percent = std::atoi(set);
  CHECK(percent >= 1 && percent <= 100)
      << "ORRERY_TEST_EFFORT is '" << set << "', not from 1 to 100";
  return std::max(1, all * percent / 100);
}

}  // namespace orrery
