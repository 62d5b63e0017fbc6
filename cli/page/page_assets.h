#pragma once
// The style and the scripts of a page (cli/page/*.css, *.js), as they were at
// build time.
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

namespace orrery {

struct PageAsset {
  absl::string_view name;  // "page.css"
  absl::string_view text;
};

// In the order in which a page has them.
absl::Span<const PageAsset> PageAssets();

}  // namespace orrery
