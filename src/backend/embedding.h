// Family embedding: rows of tables by indices, added up and normalized.
#pragma once

#include <optional>
#include <span>

#include "backend/program.h"

namespace wootz {

// Steps as one: gathers of rows, the last of which may have the others' results among the operands of its expression,
// and a normalization of what that one gives. No other step reads what is in between. Nullopt: they are something else.
// Name and provenance are the caller's to give.
std::optional<Step> make_embedding(std::span<const Step> steps);

// What a problem of the family says of its inputs. Everything is checked: it may come from a plan file.
struct EmbeddingOperands {
  int tables = 1;  // pairs of a table and indices, from input 0 on
  int added = 0;   // operands of the sum, after them
  int scale = -1;  // the input, or none
  int bias = -1;   // likewise
  int first_added() const { return 2 * tables; }
};
Result<EmbeddingOperands> embedding_operands(const Problem& problem);

}  // namespace wootz
