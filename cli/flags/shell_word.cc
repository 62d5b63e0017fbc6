#include "cli/flags/shell_word.h"

#include <absl/strings/str_replace.h>

namespace orrery {

std::string ShellWord(const std::string& word) {
  const bool plain =
      !word.empty() &&
      word.find_first_of(" \t\n'\"$`\\|&;<>(){}*?[]#~!") == std::string::npos;
  return plain ? word : "'" + absl::StrReplaceAll(word, {{"'", "'\\''"}}) + "'";
}

}  // namespace orrery
