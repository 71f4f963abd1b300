#include "base/rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "base/half.h"
#include "base/testing.h"
#include "base/thread_pool.h"

namespace wootz {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Grid {
  const char* name;
  const NumberGrid& grid;
  float (*nearest)(float value);  // by the conversions of base/half.h, or by its definition
  float (*neighbour)(float on_grid, int steps);
};

float tf32_by_arithmetic(float v) {
  const float step = std::ldexp(1.0f, std::max(std::ilogb(v), -126) - 10);
  return v == 0 ? v : std::nearbyint(v / step) * step;
}
template <int Step>
float step_bits(float on_grid, int steps) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(on_grid) + static_cast<uint32_t>(steps * Step));
}
float step_half(float on_grid, int steps) { return f16_to_f32(static_cast<uint16_t>(f32_to_f16(on_grid) + steps)); }

const Grid kGrids[] = {
    {"tf32", kTf32Grid, tf32_by_arithmetic, step_bits<1 << 13>},
    {"bf16", kBf16Grid, [](float v) { return bf16_to_f32(f32_to_bf16(v)); }, step_bits<1 << 16>},
    {"f16", kF16Grid, [](float v) { return f16_to_f32(f32_to_f16(v)); }, step_half},
};

class Rounding : public testing::TestWithParam<const Grid*> {
 protected:
  void SetUp() override {
    const uint64_t seed = test_seed();
    random_.seed(seed);
  }
  // Weights of many magnitudes around `scale`, some of them on the grid.
  std::vector<float> weights(size_t n, double scale, double spread) {
    std::normal_distribution<double> normal;
    std::vector<float> made;
    for (size_t i = 0; i < n; ++i) {
      made.push_back(static_cast<float>(scale * normal(random_) * std::exp2(spread * normal(random_))));
      if (random_() % 8 == 0) made.back() = grid().nearest(made.back());
    }
    return made;
  }
  std::vector<float> rounded(std::vector<float> w, const WeightRows& rows) {
    round_rows(w, rows, grid().grid);
    return w;
  }
  const Grid& grid() const { return *GetParam(); }
  std::mt19937_64 random_;
};

WeightRows one_row(const std::vector<float>& w) { return {{}, {{static_cast<int64_t>(w.size()), 1}}}; }

TEST_P(Rounding, EveryWeightTakesANeighbourAndErrorsStayBounded) {
  size_t moved = 0;
  for (int round = 0; round < 400; ++round) {
    const double scale = std::exp2(static_cast<double>(random_() % 40) - 28);  // in f16 down to its denormal numbers
    const std::vector<float> w = weights(1 + random_() % 300, scale, static_cast<double>(random_() % 4));
    const std::vector<float> q = rounded(w, one_row(w));
    double sum = 0, squares = 0, nearest_sum = 0, nearest_squares = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      const float nearest = grid().nearest(w[i]);
      if (std::isinf(nearest)) {
        ASSERT_EQ(q[i], w[i]);
        continue;
      }
      ASSERT_EQ(grid().nearest(q[i]), q[i]) << "not on the grid: " << w[i];
      ASSERT_EQ(std::signbit(q[i]), std::signbit(w[i]));
      const float a = std::fabs(q[i]), v = std::fabs(w[i]);
      if (a != v) {  // nothing between
        const float next = grid().neighbour(a, a < v ? 1 : -1);
        ASSERT_TRUE(a < v ? next > v : next < v) << w[i] << " became " << q[i];
      }
      moved += q[i] != nearest;
      const double e = static_cast<double>(q[i]) - w[i], n = static_cast<double>(nearest) - w[i];
      sum += e, squares += e * e, nearest_sum += n, nearest_squares += n * n;
    }
    ASSERT_LE(std::fabs(sum), std::fabs(nearest_sum) * (1 + 1e-9) + 1e-300);
    ASSERT_LE(squares, nearest_squares * kSquaredErrorGrowth * (1 + 1e-9));
  }
  EXPECT_GT(moved, 400u);
}

// Sparse tactics rely on it.
TEST_P(Rounding, ZerosStay) {
  for (int round = 0; round < 32; ++round) {
    std::vector<float> w = weights(1 + random_() % 300, std::exp2(static_cast<double>(random_() % 40) - 28), 1);
    for (size_t i = 0; i < w.size(); ++i)
      if (i % 4 < 2) w[i] = 0;
    const std::vector<float> q = rounded(w, one_row(w));
    for (size_t i = 0; i < w.size(); ++i) ASSERT_TRUE(i % 4 >= 2 || q[i] == 0) << i;
  }
}

TEST_P(Rounding, ErrorsOfARowCancel) {
  double sums = 0, nearest_sums = 0, squares = 0, nearest_squares = 0;
  for (int round = 0; round < 64; ++round) {
    const std::vector<float> w = weights(576, 0.05, 0);
    const std::vector<float> q = rounded(w, one_row(w));
    double sum = 0, nearest = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      const double e = static_cast<double>(q[i]) - w[i], n = static_cast<double>(grid().nearest(w[i])) - w[i];
      sum += e, nearest += n, squares += e * e, nearest_squares += n * n;
    }
    sums += std::fabs(sum), nearest_sums += std::fabs(nearest);
  }
  EXPECT_LT(sums, 0.05 * nearest_sums);
  EXPECT_LT(squares, 1.02 * nearest_squares);
}

// What it is for: results of positive operands come closer, those of others do not suffer.
TEST_P(Rounding, ProductsOfPositiveOperandsComeCloser) {
  constexpr size_t kRows = 4096, kDepth = 288;
  const std::vector<float> w = weights(kRows * kDepth, 0.05, 0);
  const std::vector<float> q = rounded(w, matrix_rows({kRows, kDepth}, true));
  std::normal_distribution<double> normal;
  double after[2] = {}, before[2] = {};
  for (size_t r = 0; r < kRows; ++r) {
    double e[2] = {}, n[2] = {};
    for (size_t i = r * kDepth; i < (r + 1) * kDepth; ++i) {
      const double x = normal(random_), of_q = static_cast<double>(q[i]) - w[i];
      const double of_nearest = static_cast<double>(grid().nearest(w[i])) - w[i];
      const double operand[2] = {std::max(0.0, x), x};
      for (int k = 0; k < 2; ++k) e[k] += of_q * operand[k], n[k] += of_nearest * operand[k];
    }
    for (int k = 0; k < 2; ++k) after[k] += e[k] * e[k], before[k] += n[k] * n[k];
  }
  // Of squares, the part of the mean goes: 1 - mean^2 / mean of squares = 1 - 1 / pi.
  EXPECT_LT(after[0], 0.8 * before[0]);
  EXPECT_GT(after[0], 0.55 * before[0]);
  EXPECT_LT(after[1], 1.1 * before[1]);
}

TEST_P(Rounding, WhatHasNoNeighboursStays) {
  const float largest = std::numeric_limits<float>::max(), top = std::bit_cast<float>(grid().grid.largest);
  std::vector<float> w{kInf, -kInf, std::nanf(""), 0.0f, -0.0f, largest, -largest, top, -top, 1.0f};
  const size_t special = w.size();
  for (int i = 0; i < 50; ++i) w.push_back(1 + std::ldexp(static_cast<float>(random_() % 512), -20));
  const std::vector<float> q = rounded(w, one_row(w));
  for (size_t i = 0; i < special; ++i) EXPECT_EQ(std::bit_cast<uint32_t>(q[i]), std::bit_cast<uint32_t>(w[i])) << w[i];
  double sum = 0;
  for (size_t i = special; i < w.size(); ++i) {
    ASSERT_TRUE(std::isfinite(q[i]));
    sum += static_cast<double>(q[i]) - w[i];
  }
  EXPECT_TRUE(std::isfinite(sum));
}

TEST_P(Rounding, DependsOnEachRowAlone) {
  const int64_t depth = 3 + static_cast<int64_t>(random_() % 200), n = 1 + static_cast<int64_t>(random_() % 70);
  const auto transposed = [](const std::vector<float>& w, int64_t rows, int64_t columns) {
    std::vector<float> t;
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t r = 0; r < rows; ++r) t.push_back(w[static_cast<size_t>(r * columns + c)]);
    return t;
  };
  const std::vector<float> w = weights(static_cast<size_t>(depth * n), 0.1, 1);
  const std::vector<float> q = rounded(w, matrix_rows({n, depth}, true));
  EXPECT_EQ(rounded(transposed(w, n, depth), matrix_rows({depth, n}, false)), transposed(q, n, depth));
  for (int64_t r = 0; r < n; ++r) {
    const std::vector<float> row(w.begin() + r * depth, w.begin() + (r + 1) * depth);
    EXPECT_EQ(rounded(row, one_row(row)), std::vector<float>(q.begin() + r * depth, q.begin() + (r + 1) * depth));
  }
  const std::vector<float> many = weights(1 << 18, 0.1, 1);
  const WeightRows rows = matrix_rows({1 << 12, 1 << 6}, true);
  const std::vector<float> expected = rounded(many, rows);
  const ParallelScope alone(1);
  EXPECT_EQ(rounded(many, rows), expected);
}

INSTANTIATE_TEST_SUITE_P(All, Rounding, testing::Values(&kGrids[0], &kGrids[1], &kGrids[2]),
                         [](const auto& info) { return info.param->name; });

// Of equals the first goes the other way: three eighths of a step below each, three steps in all, and squared errors
// that allow for one.
TEST(RoundingRows, EqualsGoInOrder) {
  std::vector<float> w(8, 1 + std::ldexp(0.375f, -10));
  round_rows(w, one_row(w), kTf32Grid);
  for (size_t i = 0; i < w.size(); ++i) EXPECT_EQ(w[i], i == 0 ? 1 + std::ldexp(1.0f, -10) : 1) << i;
}

// The row of every element, -1 where none is.
std::vector<int64_t> row_of_each(const WeightRows& layout, int64_t volume) {
  std::vector<int64_t> row(static_cast<size_t>(volume), -1);
  std::vector<WeightRows::Axis> axes = layout.rows;
  axes.insert(axes.end(), layout.terms.begin(), layout.terms.end());
  int64_t total = 1, terms = 1;
  for (const auto& a : axes) total *= a.extent;
  for (const auto& a : layout.terms) terms *= a.extent;
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i, at = 0;
    for (size_t a = axes.size(); a-- > 0; rest /= axes[a].extent) at += rest % axes[a].extent * axes[a].stride;
    EXPECT_EQ(row.at(static_cast<size_t>(at)), -1);
    row.at(static_cast<size_t>(at)) = i / terms;
  }
  return row;
}

// `place`: what two elements have in common when they meet in one result.
template <typename Place>
void expect_rows(const WeightRows& layout, const Dims& w, Place place) {
  const std::vector<int64_t> row = row_of_each(layout, w.volume());
  for (int64_t a = 0; a < w.volume(); ++a)
    for (int64_t b = 0; b < w.volume(); ++b) {
      ASSERT_GE(row[static_cast<size_t>(a)], 0);
      ASSERT_EQ(row[static_cast<size_t>(a)] == row[static_cast<size_t>(b)], place(a) == place(b)) << a << " " << b;
    }
}

TEST(RoundingRows, AreWhatOneResultSumsUp) {
  expect_rows(conv_rows({4, 3, 2, 2}), {4, 3, 2, 2}, [](int64_t e) { return e / 12; });
  expect_rows(matrix_rows({2, 5, 3}, false), {2, 5, 3}, [](int64_t e) { return std::pair(e / 15, e % 3); });
  expect_rows(matrix_rows({2, 5, 3}, true), {2, 5, 3}, [](int64_t e) { return e / 3; });
  expect_rows(matrix_rows({7}, false), {7}, [](int64_t) { return 0; });
  // [C, M/groups, 4, 6], two groups; steps of 2 and 3 over the result: a pixel sees taps of one remainder each.
  const Dims w{4, 3, 4, 6};
  const auto filter = [](int64_t e) { return std::pair(e / 72 / 2, e / 24 % 3); };
  expect_rows(transposed_conv_rows(w, 2, std::vector<int64_t>{2, 3}, std::vector<int64_t>{1, 1}), w,
              [&](int64_t e) { return std::pair(filter(e), std::pair(e / 6 % 4 % 2, e % 6 % 3)); });
  expect_rows(transposed_conv_rows(w, 2, {}, {}), w, filter);
  expect_rows(transposed_conv_rows(w, 2, std::vector<int64_t>{3, 4}, {}), w, filter);
}

}  // namespace
}  // namespace wootz
