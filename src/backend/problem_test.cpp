#include "backend/problem_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace wootz {
namespace {

TEST(Family, NamesReadBack) {
  std::set<std::string> names;
  for (int f = 0; f < kFamilyCount; ++f) {
    const auto family = static_cast<Family>(f);
    EXPECT_TRUE(names.insert(family_name(family)).second);
    Family back;
    ASSERT_TRUE(family_from_name(family_name(family), &back));
    EXPECT_EQ(back, family);
  }
  Family back;
  EXPECT_FALSE(family_from_name("invalid", &back));
  EXPECT_STREQ(family_name(static_cast<Family>(200)), "invalid");
  EXPECT_STREQ(layout_name(Layout::kBlocked16), "blocked16");
  EXPECT_STREQ(layout_name(static_cast<Layout>(200)), "invalid");
}

TEST(Layout, Bytes) {
  EXPECT_EQ(layout_bytes(Layout::kLinear, DType::kF32, {2, 3, 4, 5}), 480u);
  EXPECT_EQ(layout_bytes(Layout::kChannelsLast, DType::kF16, {2, 3, 4, 5}), 240u);
  EXPECT_EQ(layout_bytes(Layout::kBlocked8, DType::kF32, {2, 3, 4, 5}), 2u * 8 * 20 * 4);
  EXPECT_EQ(layout_bytes(Layout::kBlocked16, DType::kI8, {1, 17, 4, 5}), 32u * 20);
  EXPECT_EQ(layout_bytes(Layout::kBlocked16, DType::kI8, {1, 16, 4, 5}), 16u * 20);
  EXPECT_EQ(layout_bytes(Layout::kBlocked16, DType::kF32, {3, 5}), 60u);  // no channel dimension
  EXPECT_EQ(layout_bytes(Layout::kLinear, DType::kI4, {3}), 2u);
  EXPECT_EQ(layout_bytes(Layout::kLinear, DType::kF32, {}), 4u);
  EXPECT_EQ(layout_bytes(Layout::kLinear, DType::kF32, {0, INT64_MAX}), 0u);
  EXPECT_EQ(layout_bytes(Layout::kBlocked8, DType::kF32, {1, INT64_MAX, INT64_MAX}), SIZE_MAX);
  EXPECT_EQ(layout_bytes(Layout::kLinear, DType::kF64, {INT64_MAX}), SIZE_MAX);
  EXPECT_EQ(layout_bytes(Layout::kLinear, DType::kF32, {-1}), SIZE_MAX);
  EXPECT_EQ(layout_bytes(Layout::kBlocked2, DType::kF16, {2, 3, 4, 5}), 2u * 4 * 20 * 2);
  EXPECT_EQ(layout_bytes(Layout::kBlocked32, DType::kI8, {2, 33, 4}), 2u * 64 * 4);
  EXPECT_EQ(layout_bytes(Layout::kChannelsLast8, DType::kF16, {2, 3, 4, 5}), 2u * 8 * 20 * 2);
  EXPECT_EQ(layout_bytes(Layout::kChannelsLast16, DType::kI8, {1, 0, 4, 5}), 0u);
}

TEST(Layout, AllAreOneForm) {
  const auto order = [](Layout layout, int64_t channels) {
    const ChannelOrder o = channel_order(layout, channels);
    return std::pair(o.groups, o.lanes);
  };
  EXPECT_EQ(order(Layout::kLinear, 5), std::pair(int64_t{5}, int64_t{1}));
  EXPECT_EQ(order(Layout::kChannelsLast, 5), std::pair(int64_t{1}, int64_t{5}));
  EXPECT_EQ(order(Layout::kBlocked4, 5), std::pair(int64_t{2}, int64_t{4}));
  EXPECT_EQ(order(Layout::kChannelsLast8, 9), std::pair(int64_t{1}, int64_t{16}));
  for (int l = 0; l < kLayoutCount; ++l) {
    const auto layout = static_cast<Layout>(l);
    Layout back;
    ASSERT_TRUE(layout_from_name(layout_name(layout), &back));
    EXPECT_EQ(back, layout);
    if (layout == Layout::kOpaque) continue;
    const ChannelOrder o = channel_order(layout, 37);
    EXPECT_EQ(layout_bytes(layout, DType::kU8, {2, 37, 3}), static_cast<size_t>(2 * o.groups * o.lanes * 3))
        << layout_name(layout);
  }
  EXPECT_FALSE(at_border_only(Layout::kBlocked16));
  EXPECT_TRUE(at_border_only(Layout::kChannelsLast8));
}

TEST(Layout, Strides) {
  EXPECT_EQ(layout_strides(Layout::kLinear, {2, 3, 4, 5}), (Dims{60, 20, 5, 1}));
  EXPECT_EQ(layout_strides(Layout::kChannelsLast, {2, 3, 4, 5}), (Dims{60, 1, 15, 3}));
  EXPECT_EQ(layout_strides(Layout::kChannelsLast, {2, 3, 4}), (Dims{12, 1, 3}));
  EXPECT_EQ(layout_strides(Layout::kChannelsLast, {2, 3}), (Dims{3, 1}));
}

Problem conv() {
  Problem p;
  p.params = ConvParams{.strides = {2, 2}, .x_scale = {0.1}};
  p.inputs.resize(2);
  p.inputs[0] = {DType::kF32, Layout::kChannelsLast, {1, 3, 8, 8}, {4, 3, 8, 8}, false};
  p.inputs[1] = {DType::kF32, Layout::kLinear, {16, 3, 3, 3}, {16, 3, 3, 3}, true};
  p.outputs = {{DType::kF32, Layout::kLinear, {1, 16, 4, 4}, {4, 16, 4, 4}, false}};
  p.num_main = 2;
  p.epilogue.outputs.push_back(p.epilogue.push(PwOp::kRelu, DType::kF32, p.epilogue.input(0, DType::kF32)));
  return p;
}

TEST(Problem, KeyIsReadable) {
  Problem p = conv();
  p.as<ConvParams>().x_scale.clear();
  p.as<ConvParams>().groups = 3;
  EXPECT_EQ(p.key(),
            "conv{strides=[2,2];groups=3}(f32:channels_last[1x3x8x8]<=[4x3x8x8],f32:linear[16x3x3x3]const)->"
            "(f32:linear[1x16x4x4]<=[4x16x4x4])main=2;acc=f32;epilogue={v0=input.f32(0); v1=relu.f32(v0); out v1}");
}

// Every part of a problem shows in its key.
TEST(Problem, KeyTellsProblemsApart) {
  using Change = void (*)(Problem&);
  const Change changes[] = {
      [](Problem&) {},
      [](Problem& p) { p.set_family(Family::kGemm); },
      [](Problem& p) { p.as<ConvParams>().groups = 2; },
      [](Problem& p) { p.as<ConvParams>().strides = {22}; },
      [](Problem& p) { p.as<ConvParams>().strides.clear(); },
      [](Problem& p) {
        p.as<ConvParams>().pads = {2, 2};
      },
      [](Problem& p) { p.as<ConvParams>().has_bias = true; },
      [](Problem& p) { p.as<ConvParams>().x_scale[0] = std::nextafter(0.1, 1.0); },
      [](Problem& p) { p.params = OpParams{.node = "a\";op=\"x"}; },
      [](Problem& p) { p.params = OpParams{.op = "a"}; },
      [](Problem& p) { p.passing = true; },
      [](Problem& p) { p.inputs[0].dtype = DType::kF16; },
      [](Problem& p) { p.inputs[0].layout = Layout::kBlocked8; },
      [](Problem& p) { p.inputs[0].dims[0] = 2; },
      [](Problem& p) { p.inputs[0].max_dims[0] = 8; },
      [](Problem& p) { p.inputs[1].constant = false; },
      [](Problem& p) { p.outputs[0].dtype = DType::kF16; },
      [](Problem& p) { p.outputs.clear(); },
      [](Problem& p) { p.num_main = 1; },
      [](Problem& p) { p.acc_dtype = DType::kI32; },
      [](Problem& p) { p.epilogue = {}; },
      [](Problem& p) { p.epilogue.code[1].op = PwOp::kTanh; },
  };
  std::set<std::string> keys;
  for (const Change& change : changes) {
    Problem p = conv();
    change(p);
    EXPECT_TRUE(keys.insert(p.key()).second) << p.key();
  }
  EXPECT_EQ(conv().key(), conv().key());
}

TEST(Problem, KeysReadBack) {
  Problem p = conv();
  for (const bool passing : {false, true}) {
    p.passing = passing;
    const Result<Problem> read = parse_problem(p.key());
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(read->key(), p.key());
    EXPECT_EQ(read->params, p.params);
    EXPECT_EQ(read->inputs[0].max_dims, p.inputs[0].max_dims);
    EXPECT_TRUE(read->inputs[1].constant);
  }
  const std::string key = p.key();
  size_t refused = 0;
  for (size_t end = 0; end < key.size(); ++end) {  // what is read is what is written, also where both are shorter
    const Result<Problem> read = parse_problem(key.substr(0, end));
    if (read.ok()) EXPECT_EQ(read->key(), key.substr(0, end));
    refused += !read.ok();
  }
  EXPECT_GE(refused + 4, key.size());
  EXPECT_FALSE(parse_problem(key + "x").ok());
}

}  // namespace
}  // namespace wootz
