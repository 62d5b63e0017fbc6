#include "cli/print/completion.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>

#include "base/format.h"

namespace orrery {
namespace {

std::vector<std::string> NamesOf(absl::Span<const Command> commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  return names;
}

// Flags whose value is a file.
bool IsFile(const Flag& flag) { return flag.value == "FILE"; }

// "auto|nearly|off" as words; nothing if the value is free.
std::vector<std::string> WordsOf(const Flag& flag) {
  std::vector<std::string> words = absl::StrSplit(flag.value, '|');
  return words.size() > 1 ? words : std::vector<std::string>();
}

// Inside single quotes of any of the shells.
std::string Quoted(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}});
}

std::string FishQuoted(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}});
}

// In a description of _arguments, brackets and colons have a meaning.
std::string ZshQuoted(absl::string_view text) {
  return Quoted(
      absl::StrReplaceAll(text, {{"[", "\\["}, {"]", "\\]"}, {":", "\\:"}}));
}

// roff: no line may begin with a control character, and a hyphen is a minus.
std::string Roff(absl::string_view text) {
  std::string roff = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  std::string lines;
  for (const absl::string_view line : absl::StrSplit(roff, '\n')) {
    if (!line.empty() && (line[0] == '.' || line[0] == '\'')) lines += "\\&";
    absl::StrAppend(&lines, line, "\n");
  }
  lines.pop_back();
  return lines;
}

}  // namespace

std::string BashCompletion(absl::Span<const Command> commands,
                           const OperandNames& names) {
  std::string text = fmt::format(
      "# Completion of orrery for bash: eval \"$(orrery completion bash)\"\n"
      "_orrery() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}}\n"
      "  local before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{} help --help --version' -- \"$word\"))\n"
      "    return\n  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n"
      "  help) COMPREPLY=($(compgen -W '{}' -- \"$word\")) ;;\n",
      absl::StrJoin(NamesOf(commands), " "),
      absl::StrJoin(NamesOf(commands), " "));
  for (const Command& command : commands) {
    std::vector<std::string> flags = {"--help"};
    std::string values;
    for (const Flag& flag : command.flags) {
      flags.push_back(absl::StrCat("--", flag.name));
      if (flag.value.empty()) continue;
      const std::vector<std::string> words = WordsOf(flag);
      values += fmt::format(
          "    --{}) COMPREPLY=({}); return ;;\n", flag.name,
          IsFile(flag)    ? std::string("$(compgen -f -- \"$word\")")
          : words.empty() ? std::string()
                          : fmt::format("$(compgen -W '{}' -- \"$word\")",
                                        absl::StrJoin(words, " ")));
    }
    text += fmt::format("  {})\n", command.name);
    if (!values.empty()) {
      text += fmt::format("    case $before in\n{}    esac\n", values);
    }
    text += fmt::format(
        "    if [[ $word == -* ]]; then\n"
        "      COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n"
        "    else\n"
        "      COMPREPLY=($(compgen -W '{}' -- \"$word\") $(compgen -f -- "
        "\"$word\"))\n"
        "    fi ;;\n",
        absl::StrJoin(flags, " "), absl::StrJoin(names(command.operands), " "));
  }
  return text + "  esac\n}\ncomplete -o filenames -F _orrery orrery\n";
}

std::string ZshCompletion(absl::Span<const Command> commands,
                          const OperandNames& names) {
  std::string text =
      "#compdef orrery\n"
      "# Completion of orrery for zsh: orrery completion zsh > "
      "~/.zfunc/_orrery\n"
      "_orrery() {\n  local -a commands\n  commands=(\n";
  for (const Command& command : commands) {
    text +=
        fmt::format("    '{}:{}'\n", command.name, ZshQuoted(command.summary));
  }
  text +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n"
      "    return\n  fi\n  local name=$words[2]\n  shift words\n"
      "  (( CURRENT -= 1 ))\n  case $name in\n";
  for (const Command& command : commands) {
    text += fmt::format("  {})\n    _arguments \\\n", command.name);
    for (const Flag& flag : command.flags) {
      const std::vector<std::string> words = WordsOf(flag);
      text += fmt::format(
          "      '{}--{}[{}]{}' \\\n", flag.repeated ? "*" : "", flag.name,
          ZshQuoted(flag.help),
          flag.value.empty() ? std::string()
          : IsFile(flag)     ? std::string(":file:_files")
          : words.empty()
              ? fmt::format(":{}:", ZshQuoted(flag.value))
              : fmt::format(":value:({})", absl::StrJoin(words, " ")));
    }
    const std::vector<std::string> known = names(command.operands);
    text += fmt::format("      '*:{}:{}' ;;\n", ZshQuoted(command.operands),
                        known.empty()
                            ? std::string("_files")
                            : fmt::format("_alternative \"names:name:({})\" "
                                          "\"files:file:_files\"",
                                          absl::StrJoin(known, " ")));
  }
  return text +
         "  esac\n}\nif [ \"$funcstack[1]\" = _orrery ]; then _orrery "
         "\"$@\"; else compdef _orrery orrery; fi\n";
}

std::string FishCompletion(absl::Span<const Command> commands,
                           const OperandNames& names) {
  std::string text =
      "# Completion of orrery for fish: orrery completion fish | source\n";
  for (const Command& command : commands) {
    text += fmt::format(
        "complete -c orrery -n __fish_use_subcommand -f -a '{}' -d '{}'\n",
        command.name, FishQuoted(command.summary));
    const std::string within =
        fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
    for (const Flag& flag : command.flags) {
      const std::vector<std::string> words = WordsOf(flag);
      text += fmt::format(
          "complete -c orrery {} -l {}{} -d '{}'\n", within, flag.name,
          flag.value.empty() ? std::string()
          : IsFile(flag)     ? std::string(" -r")
          : words.empty()
              ? std::string(" -x")
              : fmt::format(" -x -a '{}'", absl::StrJoin(words, " ")),
          FishQuoted(flag.help));
    }
    const std::vector<std::string> known = names(command.operands);
    if (known.empty()) continue;
    text += fmt::format("complete -c orrery {} -a '{}'\n", within,
                        absl::StrJoin(known, " "));
  }
  return text;
}

std::string ManualPage(absl::Span<const Command> commands,
                       absl::string_view version) {
  std::string text = fmt::format(
      ".TH ORRERY 1 \"\" \"orrery {}\" \"User Commands\"\n"
      ".SH NAME\norrery \\- simulate training and inference of large language "
      "models\n.SH SYNOPSIS\n.B orrery\n.I COMMAND\n[operands] [flags]\n"
      ".SH COMMANDS\n",
      version);
  for (const Command& command : commands) {
    text += fmt::format(".SS \"orrery {}{}{}\"\n{}\n", Roff(command.name),
                        command.operands.empty() ? "" : " ",
                        Roff(command.operands), Roff(command.summary));
    text += fmt::format(".PP\n.nf\n{}\n.fi\n", Roff(command.details));
    for (const Flag& flag : command.flags) {
      text +=
          fmt::format(".TP\n.B \\-\\-{}{}{}\n{}{}\n", Roff(flag.name),
                      flag.value.empty() ? "" : " ", Roff(flag.value),
                      Roff(flag.help), flag.repeated ? " (repeatable)" : "");
    }
  }
  return text +
         ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\nnegative result: a plan "
         "does not fit, a bar is missed\n.TP\n2\ninvalid input\n.TP\n3\n"
         "internal error\n";
}

}  // namespace orrery
