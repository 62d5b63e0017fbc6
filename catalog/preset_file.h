#pragma once
// Files in the place of presets.
//
// Wherever a preset is named (`preset`, `like`, `default_kernels`, --chip,
// --model ...) the path of a file with one such message may stand instead: what
// is no preset's name and has a dot or a slash is a path. In a file it is
// relative to that file, on the command line to the working folder.
#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <google/protobuf/message.h>

#include <string>

namespace orrery {

class Catalog;

bool LooksLikePath(absl::string_view name);

// Paths in a message that was read from `file`, as the working folder has them.
void RebasePaths(const Catalog& catalog, const std::string& file,
                 google::protobuf::Message* message);

// An error if the comment "# proto-message: Model" at the top of a file says
// that it holds something else than `wanted`.
absl::Status CheckMessageComment(absl::string_view text,
                                 absl::string_view origin,
                                 const google::protobuf::Descriptor& wanted);

}  // namespace orrery
