// Dimensions in the text form: sums and products of numbers and symbols, `/` (toward minus infinity), and the functions
// that Dim::to_string() writes. Part of ir/text.h.
#pragma once

#include <string>
#include <unordered_map>

#include "ir/dim.h"
#include "ir/scanner.h"

namespace wootz {

using SymbolsByName = std::unordered_map<std::string, SymbolId>;

// *work counts what folding has cost so far, over the whole text: more than the text's length pays for is refused, so
// that no text takes long for its length.
Result<Dim> parse_dim(Scanner& in, const SymbolsByName& symbols, uint64_t* work);

}  // namespace wootz
