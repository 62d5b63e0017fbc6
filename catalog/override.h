#pragma once
// --set PATH=VALUE: any field of any message, by reflection.
//
//   training.parallel.tensor=4
//   training.schedule=INTERLEAVED_1F1B           enums by name
//   system.chip.memory=96 GB                     quantities as in a preset
//   training.layers_per_stage=10,11,11,10        a whole list
//   system.chip.peak[0].rate=900 TFLOP/s         one entry, by position
//   system.chip.peak[BF16].rate=900 TFLOP/s      or by its enum or name
//   cost.price[run/goodput]=0.95                 or by its id, added if new
//   system.scale_up.fabric.torus={shape: [4,4]}  a message, as textproto
//   training.layers_per_stage=                   nothing: as if it were not
//   said
//
// An override is what a file would say: it changes what was said, before any
// preset is merged under it, and its value is read by the reader of files. A
// text needs no quotes. Where a path names an entry of a list that only a
// preset has, the whole list is said with that entry changed.
//
// An error is one line that quotes the path up to where it went wrong and says
// what would be legal there.
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <google/protobuf/message.h>

#include <string>

namespace orrery {

struct Override {
  std::string path;
  std::string value;
};

// Splits "PATH=VALUE" at the first '='.
absl::StatusOr<Override> ParseOverride(absl::string_view text);

// Whether the path names an entry of a list.
bool NamesEntry(const Override& override_value);

// `base` is the same message with the presets under it, from which lists are
// taken over whose entries are named; without it there are only those of
// `message`.
absl::Status ApplyOverride(const Override& override_value,
                           google::protobuf::Message* message,
                           const google::protobuf::Message* base = nullptr);

// An error if the override takes a field back and `message`, in which presets
// have been merged under what was said, has it all the same.
absl::Status CheckTakenBack(const Override& override_value,
                            const google::protobuf::Message& message);

}  // namespace orrery
