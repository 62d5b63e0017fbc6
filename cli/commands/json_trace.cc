#include "cli/commands/json_trace.h"

#include <absl/strings/ascii.h>
#include <absl/strings/string_view.h>

namespace orrery {
namespace {

using Read = absl::FunctionRef<std::string(int64_t at, size_t most)>;

class Scanner {
 public:
  explicit Scanner(Read read) : read_(read) {}

  bool IsTrace() {
    if (Peek() == '[') {
      Take();
      return IsEvent();
    }
    if (!FindMember("traceEvents") || Peek() != '[') return false;
    Take();
    return Peek() == ']' || IsEvent();
  }

 private:
  static constexpr int kEnd = -1;

  // The next byte; with `blanks` it may be a blank.
  int Peek(bool blanks = false) {
    for (;; ++next_) {
      if (next_ == part_.size()) {
        at_ += static_cast<int64_t>(part_.size());
        part_ = read_(at_, size_t{1} << 20);
        next_ = 0;
        if (part_.empty()) return kEnd;
      }
      const auto c = static_cast<unsigned char>(part_[next_]);
      if (blanks || !absl::ascii_isspace(c)) return c;
    }
  }
  void Take() { ++next_; }
  bool Takes(char wanted) {
    if (Peek() != wanted) return false;
    Take();
    return true;
  }

  // A text without its quotes, of which only the beginning is kept.
  bool TakeText(std::string* text) {
    constexpr size_t kKept = 32;
    text->clear();
    if (!Takes('"')) return false;
    for (bool escaped = false;; Take()) {
      const int c = Peek(/*blanks=*/true);
      if (c == kEnd) return false;
      if (c == '"' && !escaped) break;
      escaped = c == '\\' && !escaped;
      if (text->size() < kKept) text->push_back(static_cast<char>(c));
    }
    Take();
    return true;
  }

  // One value, braces and all.
  bool SkipValue() {
    std::string text;
    int64_t depth = 0;
    bool any = false;
    for (;;) {
      const int c = Peek();
      if (c == kEnd) return false;
      if (depth == 0 && any && (c == ',' || c == '}' || c == ']')) return true;
      any = true;
      if (c == '"') {
        if (!TakeText(&text)) return false;
        continue;
      }
      depth += (c == '{' || c == '[') - (c == '}' || c == ']');
      if (depth < 0) return false;
      Take();
    }
  }

  // Stops before the value of the first member of that name.
  bool FindMember(absl::string_view name) {
    if (!Takes('{')) return false;
    std::string key;
    do {
      if (!TakeText(&key) || !Takes(':')) return false;
      if (key == name) return true;
      if (!SkipValue()) return false;
    } while (Takes(','));
    return false;
  }

  bool IsEvent() { return FindMember("ph"); }

  Read read_;
  std::string part_;
  int64_t at_ = 0;
  size_t next_ = 0;
};

}  // namespace

bool IsJsonTrace(Read read) { return Scanner(read).IsTrace(); }

}  // namespace orrery
