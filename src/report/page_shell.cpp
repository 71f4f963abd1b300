#include "report/page_shell.h"

namespace wootz {
namespace {

constexpr const char kCss[] =
#include "report/page_css.inc"
    ;

// JSON inside a script element: no tag can begin in it.
std::string script_safe(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

}  // namespace

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  if (const size_t at = text.find(what); at != std::string::npos) text.replace(at, what.size(), with);
  return text;
}

std::string whole_page(const std::string& title, const char* kind, const std::string& body, const std::string& json,
                       const char* script) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><link rel=\"icon\" href=\"data:,\"><title>";
  page += html_text(title) + " · " + kind + "</title><style>" + kCss + "</style></head><body>" + body;
  page += "<script type=\"application/json\" id=\"data\">" + script_safe(json) + "</script><script>" + script;
  return page + "</script></body></html>\n";
}

}  // namespace wootz
