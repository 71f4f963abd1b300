#include "backend/providers.h"

#include <algorithm>

namespace wootz {

const Provider* provider_named(std::string_view name, std::span<const Provider* const> providers) {
  const auto found =
      std::find_if(providers.begin(), providers.end(), [&](const Provider* p) { return name == p->name(); });
  return found == providers.end() ? nullptr : *found;
}

}  // namespace wootz
