#include "backend/relayout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/tensor.h"
#include "base/testing.h"

namespace wootz {
namespace {

// There and back, elements of parts of bytes too; what pads is zeros.
TEST(Relayout, MovesThereAndBack) {
  std::mt19937_64 random(test_seed());
  const Dims dims = {2, static_cast<int64_t>(random() % 40 + 1), 3, static_cast<int64_t>(random() % 60 + 1)};
  const int64_t points = dims[2] * dims[3];
  for (const DType type : {DType::kI4, DType::kU2, DType::kI8, DType::kF16, DType::kI64})
    for (int l = 0; l < kLayoutCount; ++l) {
      const auto layout = static_cast<Layout>(l);
      if (layout == Layout::kOpaque) continue;
      SCOPED_TRACE(fmt::format("{} {} {}", dtype_name(type), layout_name(layout), dims.to_string()));
      HostTensor rows = HostTensor::allocate(type, dims).value(), back = HostTensor::allocate(type, dims).value();
      for (size_t i = 0; i < rows.bytes(); ++i)
        static_cast<uint8_t*>(rows.mutable_data())[i] = static_cast<uint8_t>(random());
      const ChannelOrder order = channel_order(layout, dims[1]);
      const Dims stored = {2, order.groups, points, order.lanes};
      HostTensor moved = HostTensor::allocate(type, stored).value();
      std::memset(moved.mutable_data(), 0xFF, moved.bytes());
      ASSERT_EQ(moved.bytes(), layout_bytes(layout, type, dims));
      ASSERT_TRUE(move_to_layout(rows.data(), Layout::kLinear, moved.mutable_data(), layout, type, dims).ok());
      ASSERT_TRUE(move_to_layout(moved.data(), layout, back.mutable_data(), Layout::kLinear, type, dims).ok());
      for (int64_t n = 0; n < 2; ++n)
        for (int64_t c = 0; c < order.groups * order.lanes; ++c)
          for (int64_t p = 0; p < points; ++p) {
            const int64_t at = ((n * order.groups + c / order.lanes) * points + p) * order.lanes + c % order.lanes;
            const int64_t row = (n * dims[1] + c) * points + p;
            if (c >= dims[1]) {
              EXPECT_EQ(moved.get_f64(at), 0) << "padding";
            } else if (type == DType::kF16) {
              EXPECT_EQ(static_cast<const uint16_t*>(moved.data())[at], static_cast<const uint16_t*>(rows.data())[row]);
            } else {
              EXPECT_EQ(moved.get_i64(at), rows.get_i64(row));
            }
          }
      for (int64_t i = 0; type != DType::kF16 && i < rows.volume(); ++i) ASSERT_EQ(back.get_i64(i), rows.get_i64(i));
    }
  EXPECT_FALSE(move_to_layout(nullptr, Layout::kOpaque, nullptr, Layout::kLinear, DType::kI8, dims).ok());
}

// Images whose channels go last, or come from there, against the places of the elements themselves.
TEST(Relayout, TranspositionsThatMoveNothing) {
  const std::vector<std::vector<int64_t>> perms = {
      {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 2, 3}, {0, 2, 1, 3}, {3, 1, 2, 0}};
  for (const Dims& x : {Dims{2, 3, 4, 5}, Dims{1, 3, 4, 5}, Dims{2, 1, 4, 5}, Dims{2, 3, 1, 1}})
    for (const std::vector<int64_t>& perm : perms)
      for (const Layout from : {Layout::kLinear, Layout::kChannelsLast})
        for (const Layout to : {Layout::kLinear, Layout::kChannelsLast}) {
          Dims y;
          for (const int64_t axis : perm) y.push_back(x[static_cast<size_t>(axis)]);
          const Dims xs = layout_strides(from, x), ys = layout_strides(to, y);
          bool same = true;
          for (size_t a = 0; a < y.size(); ++a) same = same && (y[a] == 1 || ys[a] == xs[static_cast<size_t>(perm[a])]);
          EXPECT_EQ(stays_in_place(perm, from, to, [&](size_t a) { return x[a] == 1; }), same)
              << x.to_string() << " to " << y.to_string() << ", " << layout_name(from) << " to " << layout_name(to);
        }
  EXPECT_FALSE(stays_in_place({0, 1, 1}, Layout::kLinear, Layout::kLinear, [](size_t) { return false; }));
  EXPECT_FALSE(stays_in_place({0, 1, 2}, Layout::kBlocked8, Layout::kLinear, [](size_t) { return false; }));
}

}  // namespace
}  // namespace wootz
