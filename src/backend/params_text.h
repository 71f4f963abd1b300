// What params.cpp and params_text.cpp have of each other.
#pragma once

#include "backend/params.h"

namespace wootz {

// The value of one parameter, appended to the text.
void append_value(const ParamRef& ref, std::string* text);
// The beginning of a text from anywhere, for a message.
std::string shown_text(std::string_view text);
// The value of a parameter that is not allowed, and what is.
Status refused_param(const ParamTable& table, const ParamField& field, const ParamRef& ref, std::string_view value);
// Range or choices of one parameter.
Status check_param(const ParamTable& table, const ParamField& field, const ParamRef& ref);

}  // namespace wootz
