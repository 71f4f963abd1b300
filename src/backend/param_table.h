// How a table of parameters (families.def, op_kernels.def) becomes lists of fields, a ParamField a line. Only for the
// files that hold these lists. Reading the table defines
//   the block's macro as PARAM_FIELDS(Name, Struct), PARAM as PARAM_FIELD, END as PARAM_FIELDS_END.
#pragma once

#include "backend/params.h"

namespace wootz {

template <typename P>
inline const P kDefaults{};

template <size_t kLines>
constexpr std::span<const ParamField> fields_of(const ParamField (&lines)[kLines]) {
  return {lines, kLines - 1};
}

#define PARAM_FIELDS(Name, Struct) \
  namespace fields_##Name {        \
    using Params = Struct;         \
    constexpr ParamField all[] = {
#define PARAM_FIELD(type, name, value, range, meaning) \
  {#name, #type, meaning, range, [](void* p) { return param_ref(static_cast<Params*>(p)->name); }},
#define PARAM_FIELDS_END(Name)                     \
  { "", "", "", kAny, nullptr }                    \
  }                                                \
  ; /* the last line is none: no array is empty */ \
  }

}  // namespace wootz
