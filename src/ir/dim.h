// Symbolic dimensions: an integer, or an expression over symbols (input dimensions, values of input shape tensors,
// data-dependent sizes). Immutable values, kept in a canonical form so that equal sums compare equal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dims.h"

namespace wootz {

using SymbolId = int32_t;

enum class DimOp : uint8_t { kConst, kSymbol, kAdd, kMul, kFloorDiv, kCeilDiv, kMod, kMin, kMax };

class Dim {
 public:
  Dim(int64_t value = 0) : value_(value) {}  // NOLINT: a number is a dimension
  static Dim symbol(SymbolId id);

  bool is_const() const { return node_ == nullptr; }
  int64_t value() const { return value_; }  // only when is_const()
  bool is_symbol(SymbolId* id = nullptr) const;
  bool operator==(const Dim& o) const;  // provably equal
  std::string to_string() const;        // "32", "s0", "(s0*s1+1)/2", "mod(s0,4)": also the canonical key
  // The same with symbols written as `name` says.
  std::string to_string(const std::function<std::string(SymbolId)>& name) const;
  int size() const;  // operations and leaves: what working with it costs

  // Quotients are taken toward minus infinity, mod has the divisor's sign. A symbolic divisor is taken not to be 0:
  // floor_div(s0*s1, s1) is s0. An expression that overflows, divides by the constant 0, or grows beyond all reason
  // becomes "1/0": it equals nothing, not even itself, and evaluates to nullopt.

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floor_div(const Dim& a, const Dim& b);  // b const and > 0, or symbolic (checked when evaluated)
  friend Dim ceil_div(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);
  friend Dim dim_min(const Dim& a, const Dim& b);
  friend Dim dim_max(const Dim& a, const Dim& b);

  // Value under a binding of every symbol used; nullopt on a missing symbol, overflow or division by zero.
  std::optional<int64_t> evaluate(const std::function<std::optional<int64_t>(SymbolId)>& binding) const;
  // Rewrites symbols (renaming, substitution of known values).
  Dim substitute(const std::function<Dim(SymbolId)>& map) const;
  void collect_symbols(std::vector<SymbolId>* out) const;

  struct Node;
  DimOp op() const;
  // Operands of a non-leaf, for serialization.
  std::span<const Dim> operands() const;

 private:
  static Dim make(DimOp op, std::vector<Dim> operands);
  int64_t value_ = 0;
  std::shared_ptr<const Node> node_;
};

Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
Dim mod(const Dim& a, const Dim& b);
Dim dim_min(const Dim& a, const Dim& b);
Dim dim_max(const Dim& a, const Dim& b);

using Shape = std::vector<Dim>;

Shape to_shape(const Dims& dims);
// Concrete extents when every dimension is a constant.
std::optional<Dims> to_dims(const Shape& shape);
std::string shape_to_string(const Shape& shape);  // "[s0,3,224,224]"
Dim volume(const Shape& shape);
// NumPy broadcasting. Unequal symbolic dimensions: a symbol against 1 gives the symbol; two different symbols are taken
// to be equal (checked at run time) and give the first.
Result<Shape> broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace wootz
