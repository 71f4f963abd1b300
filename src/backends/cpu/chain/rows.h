// A chain by bands of rows: for a band of the result's rows, the rows of the middle tensor that it reads, and the rows
// of the input that those read. Pure arithmetic on extents.
#pragma once

#include <vector>

#include "backend/chain.h"

namespace wootz::cpu {

// Rows [first, first + count) of a tensor, and the padding that the band's problem has above and below them.
struct RowSpan {
  int64_t first = 0, count = 0, above = 0, below = 0;
  bool operator==(const RowSpan&) const = default;
};
struct Band {
  RowSpan x, middle;             // padding: of the first problem around x's rows, of the second around the middle's
  int64_t first = 0, count = 0;  // rows of the result
  // Bands of one shape share their kernels.
  bool same_shape(const Band& o) const {
    const auto same = [](const RowSpan& a, const RowSpan& b) {
      return a.count == b.count && a.above == b.above && a.below == b.below;
    };
    return count == o.count && same(x, o.x) && same(middle, o.middle);
  }
};

// Bands of `rows` rows of a result with `extent` of them. Errors: a band that would read no row.
Result<std::vector<Band>> cut_rows(const ChainParts& parts, int64_t x_extent, int64_t middle_extent, int64_t extent,
                                   int64_t rows);

// The two problems of one band of one image, all in channels-last layout.
ChainParts band_problem(const ChainParts& whole, const Band& band);

// Whether bands can be cut at all: four axes, operands of expressions that a band finds its rows in.
Status can_cut(const ChainParts& parts);

}  // namespace wootz::cpu
