#pragma once
// Attention kernels that are described by another one.
//
// How a framework's own kernel compares with FlashAttention-2 is known where
// nobody timed it by itself. An entry that is `like` another has the constants
// of that one, but for what it sets itself; `slowdown` times as long take its
// products (their efficiency) and what is exposed of its softmax. The forward
// softmax cannot be more than exposed. `like` and `slowdown` have acted then
// and are gone.
#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include "proto/kernels.pb.h"

namespace orrery {

// The implementation of this name; null if there is none.
const pb::FlashAttention* FindAttention(const pb::Kernels& kernels,
                                        absl::string_view name);

// Whether one of the implementations is like another.
bool ResemblesAnother(const pb::Kernels& kernels);

// Completes the entries of `kernels` that are like one of `library`; those of
// the library that it does not name itself stay beside them. The library may be
// `kernels` itself. Names that are not there are an error that lists those that
// are.
absl::Status CompleteAttention(const pb::Kernels& library,
                               pb::Kernels* kernels);

}  // namespace orrery
