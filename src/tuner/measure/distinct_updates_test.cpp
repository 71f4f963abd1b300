#include "tuner/measure/distinct_updates.h"

#include <gtest/gtest.h>

#include <set>

#include "base/testing.h"
#include "tuner/measure/random_data.h"

namespace wootz {
namespace {

Problem scatter(ScatterKind kind, int64_t axis, const Dims& data, const Dims& indices, const Dims& updates) {
  ScatterParams params;
  params.kind = kind;
  params.axis = axis;
  Problem p;
  p.params = params;
  const auto add = [](std::vector<TensorDesc>* list, DType dtype, const Dims& dims) {
    TensorDesc& t = list->emplace_back();
    t.dtype = dtype;
    t.dims = dims;
  };
  add(&p.inputs, DType::kF32, data);
  add(&p.inputs, DType::kI64, indices);
  add(&p.inputs, DType::kF32, updates);
  add(&p.outputs, DType::kF32, data);
  return p;
}
std::vector<HostTensor> operands(const Problem& p) {
  std::vector<HostTensor> made;
  for (const TensorDesc& t : p.inputs)
    made.push_back(std::move(random_tensor(t.dtype, t.dims, test_seed(), 1)).value());
  return made;
}
bool one_value(const HostTensor& t) {
  for (int64_t i = 1; i < t.volume(); ++i)
    if (t.get_f64(i) != t.get_f64(0)) return false;
  return true;
}

TEST(DistinctUpdates, ElementsOfALineGoToDifferentPlaces) {
  const Problem p = scatter(ScatterKind::kElements, 1, {4, 5, 3}, {3, 4, 2}, {3, 4, 2});
  std::vector<HostTensor> in = operands(p);
  ASSERT_TRUE(make_updates_distinct(p, &in).ok());
  for (int64_t a = 0; a < 3; ++a)
    for (int64_t c = 0; c < 2; ++c) {
      std::set<int64_t> seen;
      for (int64_t b = 0; b < 4; ++b) seen.insert(in[1].get_i64((a * 4 + b) * 2 + c));
      EXPECT_EQ(seen.size(), 4u);
      EXPECT_TRUE(*seen.begin() >= 0 && *seen.rbegin() < 5);
    }
  EXPECT_FALSE(one_value(in[2]));
}

TEST(DistinctUpdates, TuplesDiffer) {
  const Problem p = scatter(ScatterKind::kNd, 0, {3, 4, 6}, {2, 5, 2}, {2, 5, 6});
  std::vector<HostTensor> in = operands(p);
  ASSERT_TRUE(make_updates_distinct(p, &in).ok());
  std::set<std::pair<int64_t, int64_t>> seen;
  for (int64_t n = 0; n < 10; ++n) seen.emplace(in[1].get_i64(n * 2), in[1].get_i64(n * 2 + 1));
  EXPECT_EQ(seen.size(), 10u);
  for (const auto& [a, b] : seen) EXPECT_TRUE(a >= 0 && a < 3 && b >= 0 && b < 4) << a << " " << b;
  EXPECT_FALSE(one_value(in[2]));
}

TEST(DistinctUpdates, WhereTheyMustMeetTheyAreEqual) {
  for (const Problem& p :
       {scatter(ScatterKind::kElements, 0, {2}, {5}, {5}), scatter(ScatterKind::kNd, 0, {2, 3}, {4, 1}, {4, 3})}) {
    std::vector<HostTensor> in = operands(p);
    ASSERT_TRUE(make_updates_distinct(p, &in).ok());
    EXPECT_TRUE(one_value(in[2]));
  }
  // Constants are the model's own.
  Problem p = scatter(ScatterKind::kElements, 0, {9}, {5}, {5});
  p.inputs[1].constant = true;
  std::vector<HostTensor> in = operands(p);
  ASSERT_TRUE(make_updates_distinct(p, &in).ok());
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(in[1].get_i64(i), 0);
  EXPECT_TRUE(one_value(in[2]));
}

TEST(DistinctUpdates, WhatCombinesIsLeftAsItIs) {
  Problem p = scatter(ScatterKind::kElements, 0, {9}, {5}, {5});
  p.as<ScatterParams>().reduction = ScatterReduction::kAdd;
  std::vector<HostTensor> in = operands(p);
  const int64_t before = in[1].get_i64(3);
  ASSERT_TRUE(make_updates_distinct(p, &in).ok());
  EXPECT_EQ(in[1].get_i64(3), before);
  EXPECT_FALSE(one_value(in[2]));
}

}  // namespace
}  // namespace wootz
