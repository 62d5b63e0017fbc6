#pragma once
// An answer as one HTML page that needs nothing else: no network, no files.
//
// The page holds the answer as JSON and scripts that draw it. Whatever the
// answer says is text: no name, title or path of the user's can become markup
// or script.
#include <string>

#include "proto/page.pb.h"

namespace orrery {

std::string PageHtml(const pb::Page& page);

// Text for the inside of an element or of a quoted attribute.
std::string HtmlText(const std::string& text);
// JSON for the inside of a script element: nothing in it ends the element.
std::string ScriptJson(const std::string& json);

}  // namespace orrery
