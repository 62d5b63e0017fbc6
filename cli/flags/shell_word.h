#pragma once
// A word as a shell reads it back: quoted where it has to be.
#include <string>

namespace orrery {

std::string ShellWord(const std::string& word);

}  // namespace orrery
