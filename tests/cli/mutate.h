#pragma once
// Damage, in the ways inputs get damaged.
#include <string>
#include <vector>

#include "base/random.h"

namespace orrery {

// `text` with one to three random injuries: cut short, bytes changed, numbers
// made huge or negative, lines lost, doubled or swapped, words misspelt,
// unknown fields added, braces unbalanced, or nothing left but noise.
std::string Mutate(std::string text, Rng* rng);

// The path of every field of a scenario, as for --set.
std::vector<std::string> FieldPaths();

}  // namespace orrery
