#pragma once
// ArgumentBlock: arguments of an event as they lie in the file, one after the
// other, in memory that is used again.
//
//   block.Clear();
//   block.Append(what all runs of the kernel have in common);
//   block.Add(rank, 3);
//   writer.Slice(track, from, to, name, {.encoded = block.bytes()});
#include <absl/strings/string_view.h>

#include <cstdint>
#include <memory>

#include "traces/format/track_event.h"

namespace orrery {

class ArgumentBlock {
 public:
  void Clear() { size_ = 0; }
  void Add(ArgumentKey key, int64_t value);
  void Add(ArgumentKey key, double value);
  void Add(ArgumentKey key, ArgumentText value);
  void Add(const EventArgument& argument);
  // Those of another block.
  void Append(absl::string_view encoded);

  // Valid until the next change.
  absl::string_view bytes() const { return {buffer_.get(), size_}; }

 private:
  // Where so many more bytes may be written.
  char* Room(size_t bytes);
  void Took(const char* end);

  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t size_ = 0;
};

}  // namespace orrery
