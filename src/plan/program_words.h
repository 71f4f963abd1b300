// Words of a program's text, by number (plan/codes.h).
#pragma once

namespace wootz::program_words {

inline constexpr const char* kShapeOps[] = {"const",    "symbol", "add", "mul", "floor_div",
                                            "ceil_div", "mod",    "min", "max"};
inline constexpr const char* kSources[] = {"input_dim", "input_value", "data_dependent"};
inline constexpr const char* kKinds[] = {"input", "output", "constant", "intermediate", "view", "shape", "subview"};

}  // namespace wootz::program_words
