// What every page for a browser has: the head with the looks, and data that its script reads.
#pragma once

#include <string>
#include <string_view>

namespace wootz {

std::string html_text(const std::string& text);
// `text` with the first `what` replaced.
std::string replaced(std::string text, std::string_view what, const std::string& with);
// A whole page: `title` and `kind` ("build report") are plain text, `body` is HTML, `json` the element with id "data".
std::string whole_page(const std::string& title, const char* kind, const std::string& body, const std::string& json,
                       const char* script);

}  // namespace wootz
