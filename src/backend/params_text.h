// Parameters as text, both ways, and whether they are what their table allows.
#pragma once

#include "backend/param_reader.h"
#include "backend/params.h"

namespace wootz {

// "{strides=[2,2];groups=8}": in the table's order, without what is as in `defaults`. Equal parameters, and no others,
// have equal texts.
void append_params(const ParamTable& table, const void* params, std::string* text);
// Into `params`, which is as in `defaults`. Errors name family, parameter, value and what is allowed; ranges are
// checked.
Status parse_params(const ParamTable& table, ParamReader& in, void* params);
// The ranges and choices of all parameters.
Status check_params(const ParamTable& table, const void* params);

// The value of one parameter, appended to the text.
void append_value(const ParamRef& ref, std::string* text);

}  // namespace wootz
