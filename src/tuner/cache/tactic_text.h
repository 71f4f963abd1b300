// A tactic with the layouts that it wants, as one text: what timing caches call it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backend/kernel.h"

namespace wootz {

// "kernel?config@NCHW,OIHW>NCHW"; the layouts are those in `problem`.
std::string tactic_text(const Problem& problem, const Tactic& tactic);
// The reverse, for a problem of any layouts. Nullopt: the text is none for it.
std::optional<Candidate> tactic_from_text(const Problem& problem, const std::string& provider, std::string_view text);

// One problem whatever the layouts.
Problem without_layouts(const Problem& problem);

}  // namespace wootz
