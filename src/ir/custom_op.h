// What an op is that the application brings along: held by nodes of op Plugin as an attribute.
#pragma once

#include <string>
#include <vector>

#include "ir/op_def.h"

namespace wootz {

// What comes of its operands, as far as that is known before it runs. Extents are expressions over symbols of their own
// (the functions below), whatever the graph's symbols are.
struct CustomResults {
  struct Size {
    int output = 0;  // a scalar i32 or i64 that the op writes; others' extents depend on it
    Dim opt, most;
  };
  std::vector<DType> types;
  std::vector<Shape> shapes;
  std::vector<Size> sizes;
};

class CustomOp {
 public:
  virtual ~CustomOp() = default;

  struct Identity {
    std::string name, version, space;  // of who can make it again
    std::string timing;                // what, with types and extents, tells it from others; empty: nothing does
  };
  virtual Identity identity() const = 0;
  virtual int num_outputs() const = 0;
  // Constant extents are numbers, all others are extent_symbol(); elements of shape operands in the same way, by
  // value_symbol(). Absent operands have neither.
  virtual Result<CustomResults> results(const std::vector<TypeInfo>& operands,
                                        const std::vector<std::vector<Dim>>& shape_operands) const = 0;
  // Operand that the op overwrites with output `o`, or -1.
  virtual int aliased_input(int output) const = 0;

  static constexpr int kMostElements = 64;  // of one shape operand
  static Dim extent_symbol(int operand, int axis) { return Dim::symbol(operand * limits::kMaxRank + axis); }
  static Dim value_symbol(int operand, int element) { return Dim::symbol(kValues + operand * kMostElements + element); }
  static Dim size_symbol(int output) { return Dim::symbol(kSizes + output); }

  // What such a symbol stands for.
  enum class Kind : uint8_t { kExtent, kValue, kSize };
  struct Meaning {
    Kind kind = Kind::kExtent;
    int tensor = 0;  // operand, shape operand or output
    int index = 0;   // axis or element
  };
  static Meaning meaning(SymbolId id) {
    if (id >= kSizes) return {Kind::kSize, id - kSizes, 0};
    if (id >= kValues) return {Kind::kValue, (id - kValues) / kMostElements, (id - kValues) % kMostElements};
    return {Kind::kExtent, id / limits::kMaxRank, id % limits::kMaxRank};
  }

 private:
  static constexpr SymbolId kValues = 1 << 22, kSizes = 1 << 28;
};

}  // namespace wootz
