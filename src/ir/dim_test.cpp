#include "ir/dim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/testing.h"

namespace wootz {
namespace {

const Dim kA = Dim::symbol(0), kB = Dim::symbol(1), kC = Dim::symbol(2);

std::optional<int64_t> value_of(const Dim& d, std::vector<int64_t> symbols) {
  return d.evaluate([&](SymbolId id) -> std::optional<int64_t> {
    if (id < 0 || static_cast<size_t>(id) >= symbols.size()) return std::nullopt;
    return symbols[static_cast<size_t>(id)];
  });
}

TEST(Dim, NumbersFold) {
  EXPECT_EQ(Dim(3) + 4, Dim(7));
  EXPECT_EQ(Dim(3) - 4, Dim(-1));
  EXPECT_EQ(floor_div(-7, 2), Dim(-4));
  EXPECT_EQ(ceil_div(-7, 2), Dim(-3));
  EXPECT_EQ(ceil_div(7, 2), Dim(4));
  EXPECT_EQ(mod(-7, 3), Dim(2));
  EXPECT_EQ(mod(7, -3), Dim(-2));
  EXPECT_EQ(floor_div(7, -2), Dim(-4));
  EXPECT_EQ(dim_min(3, 5), Dim(3));
  EXPECT_EQ(dim_max(3, 5), Dim(5));
  EXPECT_TRUE((kA * 0).is_const());
}

TEST(Dim, EqualPolynomialsAreEqual) {
  EXPECT_EQ(kA + kB, kB + kA);
  EXPECT_EQ((kA + kB) * kC, kC * kA + kB * kC);
  EXPECT_EQ((kA + 1) * (kA - 1), kA * kA - 1);
  EXPECT_EQ(kA - kA, Dim(0));
  EXPECT_EQ(2 * (kA + 3) - kA, kA + 6);
  EXPECT_EQ(kA * kB * kC, kC * (kB * kA));
  EXPECT_FALSE(kA == kB);
  EXPECT_FALSE(kA * 2 == kA);
  EXPECT_FALSE(kA == Dim(0));
}

TEST(Dim, DivisionsCancel) {
  EXPECT_EQ(floor_div(kA * 768, 768), kA);
  EXPECT_EQ(floor_div(kA * kB * 64, kB), kA * 64);
  EXPECT_EQ(floor_div(4 * kA, 2), 2 * kA);
  EXPECT_EQ(floor_div((kA + 1) * (kB + 2) * 768, (kB + 2) * 8), 96 * (kA + 1));
  EXPECT_EQ(floor_div(kA * kB, kA * kC), floor_div(kB, kC));
  EXPECT_EQ(floor_div(kA, 1), kA);
  EXPECT_EQ(floor_div(kA, kA), Dim(1));
  EXPECT_EQ(mod(kA, 1), Dim(0));
  EXPECT_EQ(mod(6 * kA * kB, 3), Dim(0));
  EXPECT_EQ(mod(kA * kB, kB), Dim(0));
  EXPECT_EQ(ceil_div(kA * kB, kB), kA);
  EXPECT_EQ(floor_div(0, kA), Dim(0));
}

TEST(Dim, QuotientsHaveOneSpelling) {
  // The extent of a convolution, written in two ways.
  EXPECT_EQ(floor_div(kA + 6 - 7, 2) + 1, floor_div(kA + 1, 2));
  EXPECT_EQ(ceil_div(kA, 2), floor_div(kA + 1, 2));
  EXPECT_EQ(floor_div(floor_div(kA, 2), 3), floor_div(kA, 6));
  EXPECT_EQ(floor_div(floor_div(kA + 1, 2) + 1, 2), floor_div(kA + 3, 4));
  EXPECT_EQ(floor_div(2 * kA + 1, 4), floor_div(kA, 2));
  EXPECT_EQ(floor_div(3 * kA, 2), kA + floor_div(kA, 2));
  EXPECT_EQ(mod(kA + 7, 3), mod(kA + 1, 3));
}

TEST(Dim, MinimaAndMaxima) {
  EXPECT_EQ(dim_min(kA, kA), kA);
  EXPECT_EQ(dim_min(kA, kA + 1), kA);
  EXPECT_EQ(dim_max(kA, kA + 1), kA + 1);
  EXPECT_EQ(dim_max(dim_max(kA, 3), 7), dim_max(7, kA));
  EXPECT_EQ(dim_min(dim_min(kA, kB), kC), dim_min(kC, dim_min(kB, kA)));
  EXPECT_EQ(value_of(dim_min(kA, dim_max(kB, 4)), {9, 2}), 4);
}

TEST(Dim, TextIsReadable) {
  EXPECT_EQ(floor_div(kA * kB + 1, 2).to_string(), "(s0*s1+1)/2");
  EXPECT_EQ((kA - 3).to_string(), "s0-3");
  EXPECT_EQ((Dim(-1) * kA).to_string(), "-s0");
  EXPECT_EQ(ceil_div(kA, kB).to_string(), "ceil_div(s0,s1)");
  EXPECT_EQ((2 * floor_div(kA, kB)).to_string(), "2*(s0/s1)");
  EXPECT_EQ(floor_div(kA * kB + 1, 2).to_string([](SymbolId id) { return id == 0 ? "N" : "H"; }), "(N*H+1)/2");
  EXPECT_EQ(shape_to_string({kA, 3, kB + 1}), "[s0,3,s1+1]");
}

TEST(Dim, UndefinedExpressionsEqualNothing) {
  for (const Dim& d :
       {floor_div(kA, 0), mod(kA, 0), Dim(INT64_MAX) + 1, Dim(INT64_MAX) * kA * 2, floor_div(1, 0) + kA}) {
    EXPECT_FALSE(d.is_const());
    EXPECT_FALSE(d == d) << d.to_string();
    EXPECT_FALSE(value_of(d, {1, 1, 1}).has_value());
  }
}

TEST(Dim, GrowthIsBounded) {
  Dim sum = 0;
  for (int i = 0; i < 5000; ++i) sum = sum + Dim::symbol(i);
  EXPECT_LT(sum.to_string().size(), 100u);
  Dim square = kA;
  for (int i = 0; i < 200; ++i) square = square * (square + kB);
  EXPECT_LT(square.size(), 2000);
  Dim nested = kA;
  for (int i = 0; i < 5000; ++i) nested = dim_min(floor_div(nested, kB), kC + i) + floor_div(nested, kC);
  EXPECT_LT(nested.size(), 2000);
  // Within bounds: a product of sums too large to expand.
  Dim wide = 0;
  std::vector<int64_t> values;
  for (int i = 0; i < 12; ++i) {
    wide = wide + Dim::symbol(i);
    values.push_back(i);
  }
  const Dim product = (wide + 1) * (wide * 2 + 5);
  EXPECT_EQ(value_of(product, values), 67 * 137);
  EXPECT_EQ(floor_div(product, wide + 1), wide * 2 + 5);
}

TEST(Dim, EvaluateRefusesWhatHasNoValue) {
  EXPECT_EQ(value_of(kA + kB, {1}), std::nullopt);
  EXPECT_EQ(value_of(floor_div(kA, kB), {1, 0}), std::nullopt);
  EXPECT_EQ(value_of(kA * kB, {INT64_MAX, 2}), std::nullopt);
  EXPECT_EQ(value_of(kA + 1, {INT64_MAX}), std::nullopt);
  EXPECT_EQ(value_of(floor_div(kA, kB), {INT64_MIN, -1}), std::nullopt);
}

TEST(Dim, SubstituteAndSymbols) {
  const Dim d = floor_div(kA * kB + kA, kC) + dim_max(kA, 2);
  EXPECT_EQ(d.substitute([](SymbolId id) { return id == 2 ? Dim(4) : Dim::symbol(id); }),
            floor_div(kA * kB + kA, 4) + dim_max(kA, 2));
  EXPECT_EQ(d.substitute([](SymbolId) { return Dim(6); }), Dim(13));
  std::vector<SymbolId> symbols;
  d.collect_symbols(&symbols);
  std::sort(symbols.begin(), symbols.end());
  EXPECT_EQ(symbols, (std::vector<SymbolId>{0, 1, 2}));
}

// Every rewriting keeps the value: random expressions against plain arithmetic.
struct Expression {
  Dim dim;
  std::optional<int64_t> value;
};

Expression random_expression(std::mt19937_64& rng, const std::vector<int64_t>& symbols, int depth) {
  if (depth == 0 || rng() % 5 == 0) {
    if (rng() % 2) {
      const auto c = static_cast<int64_t>(rng() % 13) - 4;
      return {Dim(c), c};
    }
    const size_t id = rng() % symbols.size();
    return {Dim::symbol(static_cast<SymbolId>(id)), symbols[id]};
  }
  const Expression x = random_expression(rng, symbols, depth - 1), y = random_expression(rng, symbols, depth - 1);
  const auto floor_of = [](int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); };
  const auto op = rng() % 8;
  const bool divides = op >= 3 && op <= 5;
  Expression r;
  switch (op) {
    case 0: r.dim = x.dim + y.dim; break;
    case 1: r.dim = x.dim - y.dim; break;
    case 2: r.dim = x.dim * y.dim; break;
    case 3: r.dim = floor_div(x.dim, y.dim); break;
    case 4: r.dim = ceil_div(x.dim, y.dim); break;
    case 5: r.dim = mod(x.dim, y.dim); break;
    case 6: r.dim = dim_min(x.dim, y.dim); break;
    default: r.dim = dim_max(x.dim, y.dim); break;
  }
  if (!x.value || !y.value || (divides && *y.value == 0)) return r;
  const int64_t a = *x.value, b = *y.value;
  switch (op) {
    case 0: r.value = a + b; break;
    case 1: r.value = a - b; break;
    case 2: r.value = a * b; break;
    case 3: r.value = floor_of(a, b); break;
    case 4: r.value = floor_of(a, b) + (a % b != 0); break;
    case 5: r.value = a - floor_of(a, b) * b; break;
    case 6: r.value = std::min(a, b); break;
    default: r.value = std::max(a, b); break;
  }
  return r;
}

TEST(Dim, RandomExpressionsKeepTheirValue) {
  const uint64_t seed = test_seed();
  std::mt19937_64 rng(seed);
  int checked = 0;
  for (int i = 0; i < 8000; ++i) {
    std::vector<int64_t> symbols;
    for (int k = 0; k < 3; ++k) symbols.push_back(static_cast<int64_t>(rng() % 20) + 1);
    const Expression e = random_expression(rng, symbols, 4);
    if (!e.value) continue;
    const std::optional<int64_t> found = value_of(e.dim, symbols);
    ASSERT_EQ(found, e.value) << e.dim.to_string() << " at " << symbols[0] << ' ' << symbols[1] << ' ' << symbols[2];
    const auto keep = [](SymbolId id) { return Dim::symbol(id); };
    ASSERT_EQ(value_of(e.dim.substitute(keep), symbols), e.value) << e.dim.to_string();
    ++checked;
  }
  EXPECT_GT(checked, 2000);
}

TEST(Shape, Broadcasting) {
  const auto broadcast = [](const Shape& a, const Shape& b) {
    const Result<Shape> r = broadcast_shapes(a, b);
    return r.ok() ? shape_to_string(*r) : r.status().message();
  };
  EXPECT_EQ(broadcast({2, 3}, {3}), "[2,3]");
  EXPECT_EQ(broadcast({}, {kA}), "[s0]");
  EXPECT_EQ(broadcast({kA, 1, 4}, {1, kB, 1}), "[s0,s1,4]");
  EXPECT_EQ(broadcast({kA}, {kB}), "[s0]");
  EXPECT_EQ(broadcast({kA}, {7}), "[7]");
  EXPECT_EQ(broadcast({7}, {kA}), "[7]");
  EXPECT_EQ(broadcast({0}, {1}), "[0]");
  EXPECT_EQ(broadcast({2, 3}, {2}), "shapes [2,3] and [2] do not broadcast: 3 against 2 in dimension 1 of the result");
}

TEST(Shape, ConcreteAndVolume) {
  EXPECT_EQ(to_dims({2, 3}), (Dims{2, 3}));
  EXPECT_EQ(to_dims({kA, 3}), std::nullopt);
  EXPECT_EQ(to_dims(Shape(9, Dim(1))), std::nullopt);
  EXPECT_EQ(volume({}), Dim(1));
  EXPECT_EQ(volume({kA, 3, kB}), 3 * kA * kB);
  EXPECT_EQ(to_shape(Dims{4, 5}), (Shape{4, 5}));
}

}  // namespace
}  // namespace wootz
