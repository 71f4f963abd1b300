#include "build/settings.h"

#include <algorithm>

namespace wootz {

const char* why_one_program(const BuildSettings& settings) {
  const auto direct = [](const BorderWish& wish) { return wish.direct; };
  if (settings.backend == "reference") return "the reference has one kernel for everything";
  if (std::any_of(settings.border.begin(), settings.border.end(), direct))
    return "inputs and outputs that no reformat stands beside have one format in all of them";
  return settings.one_program ? "its weights are brought in step by step" : nullptr;
}

}  // namespace wootz
