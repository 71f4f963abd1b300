// Providers by name, as tactics say it.
#pragma once

#include <span>
#include <string_view>

#include "backend/kernel.h"

namespace wootz {

// Null: none of them has that name.
const Provider* provider_named(std::string_view name, std::span<const Provider* const> providers);

}  // namespace wootz
