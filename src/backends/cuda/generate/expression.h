// Pointwise expressions as lines of CUDA C++.
#pragma once

#include <string>
#include <vector>

#include "backend/kernel.h"

namespace wootz::cuda {

// Whether the compiler may fuse a product and the sum behind it. It does so within its basic blocks, whose ends hang on
// how many neighbours a thread computes: the bits then differ from kernel to kernel.
enum class Products { kFused, kRounded };

// Whether w_quantize_by() takes it: where quotients stay far from the ends of the range of floats, that is all but the
// float below each power of two, by which a quotient next to a half is rounded the other way.
bool is_ordinary_scale(double scale);

// Whether w_quotient_by() takes it: all but three significands, by which a quotient next to a half comes out on the
// other side.
bool has_even_inverse(double scale);

// `ordinary`: so many operands, the last, are constants, of which is_ordinary_scale() says yes where they are scales.
// `as_floats`: of operands of bytes, what they are as floats, where that is less work than to convert the byte.
// `in_words`: eight results of 8-bit floats may be given as two words.
struct ExpressionRules {
  Products products = Products::kFused;
  size_t ordinary = 0;
  std::vector<std::string> as_floats = {};
  bool in_words = false;
};

struct ExpressionText {
  std::string lines;                 // a constant for each value: t0, t1, ...
  std::vector<std::string> results;  // in their register types, or, of 8-bit floats, as they are stored: Put takes both
  std::vector<std::string> given;    // what a result of 8-bit floats is rounded from, saturating; empty: it is another
};
// `inputs[k]`: source of operand k in its register type. Of an empty expression, the first is the result. Errors: a
// type or operation that has no form here.
Result<ExpressionText> expression_text(const PointwiseExpr& expr, const std::vector<std::string>& inputs,
                                       const ExpressionRules& rules = {});

// Of a kernel that is not pointwise itself and whose results are of the register type of `type`. Errors: what
// expression_text() or the kernel cannot read, compute or store.
Status check_epilogue(const Problem& problem, DType type);

}  // namespace wootz::cuda
