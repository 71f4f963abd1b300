// Grids of Attention: an operand of 8 bits is one, whose scale and zero point are attributes, and scores and weights
// may be rounded to one.
#pragma once

#include <string>

#include "ir/op_def.h"

namespace wootz::ops {

struct AttentionGrids {
  struct Operand {
    std::vector<double> scale;  // none: a float
    double zero = 0;
  };
  struct Rounding {
    double scale = 0, zero = 0;  // 0: nothing is rounded
    DType type = DType::kInvalid;
    double of(double x) const;
  };
  Operand operands[3];  // query, key and value
  Rounding scores, weights;

  // Empty text, or what is wrong with them. `heads`, `sizes`: of keys and values; -1: not known.
  static std::string read(const Node& node, const DType (&types)[3], int64_t heads, const int64_t (&sizes)[3],
                          AttentionGrids* out);
  // The number that element d of head h stands for.
  double value(int operand, double x, int64_t h, int64_t d, int64_t heads, int64_t size) const;
};

// The type of operands that are not of 8 bits, and of the result; kInvalid: they differ.
DType attention_type(const Node& node, const DType (&types)[3]);

// The attributes of operand 0 (query), 1 (key) or 2 (value).
const char* scale_attr(int operand);
const char* zero_attr(int operand);

}  // namespace wootz::ops
