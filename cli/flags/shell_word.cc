#include "cli/flags/shell_word.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/string_view.h>

#include <algorithm>

namespace orrery {

std::string ShellWord(const std::string& word) {
  constexpr absl::string_view kPlain = "/._-+=:,@%";
  const bool plain =
      !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
               kPlain.find(c) != absl::string_view::npos;
      });
  return plain ? word : "'" + absl::StrReplaceAll(word, {{"'", "'\\''"}}) + "'";
}

}  // namespace orrery
