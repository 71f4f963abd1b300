// The shape program: what the extents of a network's tensors are computed by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/indices.h"
#include "base/status.h"

namespace wootz {

// A DAG of integer expressions in order of definition. Expression i may use only expressions < i.
enum class ShapeOp : uint8_t { kConst, kSymbol, kAdd, kMul, kFloorDiv, kCeilDiv, kMod, kMin, kMax };
struct ShapeExpr {
  ShapeOp op = ShapeOp::kConst;
  int64_t value = 0;                      // kConst: the value; kSymbol: index into the symbols
  std::vector<ExpressionIndex> operands;  // otherwise: 2 or more (kAdd, kMul, kMin, kMax) or exactly 2
  SymbolIndex symbol() const { return SymbolIndex(value); }  // only of kSymbol
};

// What an operator of two values gives: quotients rounded down or up, remainders with the divisor's sign. False:
// overflow, a division by zero, or an operator of no values.
bool apply_shape_op(ShapeOp op, int64_t a, int64_t b, int64_t* out);

enum class SymbolSource : uint8_t {
  kInputDim,       // extent `axis` of network input `tensor`
  kInputValue,     // element `axis` of the network input shape tensor `tensor`
  kDataDependent,  // extent `axis` of tensor `tensor`, known when the step that makes it has run
};
struct PlanSymbol {
  std::string name;
  SymbolSource source = SymbolSource::kInputDim;
  TensorIndex tensor;
  int32_t axis = 0;
};

// Values of all expressions under a binding of symbols; unknown[i] where a symbol used has none (value < 0).
struct ShapeValues {
  IndexedVector<ExpressionIndex, int64_t> values;
  IndexedVector<ExpressionIndex, uint8_t> known;
};
// Works out expression `index`, if what it needs is known: true. `out` has room for all of them. Errors: overflow,
// division by zero.
Result<bool> evaluate_shape(const IndexedVector<ExpressionIndex, ShapeExpr>& exprs, ExpressionIndex index,
                            std::span<const int64_t> symbol_values, ShapeValues* out);

}  // namespace wootz
