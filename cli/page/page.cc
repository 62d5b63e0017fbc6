#include "cli/page/page.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>

#include "cli/page/page_assets.h"
#include "cli/print/json.h"

namespace orrery {

std::string HtmlText(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"},
                                    {"<", "&lt;"},
                                    {">", "&gt;"},
                                    {"\"", "&quot;"},
                                    {"'", "&#39;"}});
}

std::string ScriptJson(const std::string& json) {
  // In JSON these stand inside strings only.
  return absl::StrReplaceAll(
      json, {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

std::string PageHtml(const pb::Page& page) {
  std::string html = absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n"
      // Nothing is loaded from anywhere.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
      "'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<title>",
      HtmlText(page.title()), "</title>\n");
  for (const PageAsset& asset : PageAssets()) {
    if (!absl::EndsWith(asset.name, ".css")) continue;
    absl::StrAppend(&html, "<style>\n", asset.text, "</style>\n");
  }
  absl::StrAppend(
      &html,
      "</head>\n<body>\n<main id=\"page\"></main>\n<noscript><p>This page "
      "draws its answer with a script of its own; without scripts the numbers "
      "are in the JSON at the end of this file.</p></noscript>\n"
      "<script type=\"application/json\" id=\"data\">\n",
      ScriptJson(ToJson(page)), "</script>\n");
  for (const PageAsset& asset : PageAssets()) {
    if (!absl::EndsWith(asset.name, ".js")) continue;
    absl::StrAppend(&html, "<script>\n", asset.text, "</script>\n");
  }
  return html + "</body>\n</html>\n";
}

}  // namespace orrery
