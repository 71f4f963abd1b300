// Whole numbers that an op takes as an attribute, as a constant operand, or as an operand that only running tells.
#pragma once

#include <optional>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {

class Numbers {
 public:
  // The attribute, else operand `input`; absent where the op has neither. Errors: an operand of no integers.
  static Result<Numbers> read(const Problem& problem, const BindArgs& args, const MaybeInts& attribute, size_t input);

  bool present() const { return known_.has_value() || input_ >= 0; }
  size_t count() const { return count_; }
  const std::optional<std::vector<int64_t>>& known() const { return known_; }
  // Source of number k, an s64, in terms of the operands p.
  std::string at(size_t k) const {
    return known_ ? fmt::format("({}ll)", (*known_)[k]) : fmt::format("(s64)w_get(p.x{}[{}])", input_, k);
  }

 private:
  std::optional<std::vector<int64_t>> known_;
  int input_ = -1;
  size_t count_ = 0;
};

}  // namespace wootz::cuda
