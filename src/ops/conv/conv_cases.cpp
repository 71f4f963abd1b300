#include "ops/cases.h"

namespace wootz::ops {
namespace {

struct ConvCase {
  const char* name;
  Dims x, w;
  AttrMap attrs;
  bool bias = false;
  DType dtype = DType::kF32;
};

std::vector<int64_t> ints(std::initializer_list<int64_t> v) { return v; }

}  // namespace

void conv_cases(CaseList& list) {
  const ConvCase forward[] = {
      {"conv/1x1", {1, 16, 7, 7}, {24, 16, 1, 1}, {}, true},
      {"conv/3x3", {2, 8, 9, 11}, {16, 8, 3, 3}, {{"pads", ints({1, 1, 1, 1})}}, true},
      {"conv/3x3_stride2",
       {1, 16, 15, 14},
       {32, 16, 3, 3},
       {{"strides", ints({2, 2})}, {"pads", ints({1, 1, 1, 1})}},
       true},
      {"conv/7x7_stem", {1, 3, 32, 32}, {16, 3, 7, 7}, {{"strides", ints({2, 2})}, {"pads", ints({3, 3, 3, 3})}}},
      {"conv/depthwise", {1, 32, 12, 12}, {32, 1, 3, 3}, {{"pads", ints({1, 1, 1, 1})}, {"groups", int64_t{32}}}, true},
      {"conv/depthwise_stride2",
       {2, 17, 13, 9},
       {17, 1, 5, 5},
       {{"pads", ints({2, 2, 2, 2})}, {"strides", ints({2, 2})}, {"groups", int64_t{17}}},
       true},
      {"conv/grouped", {1, 12, 8, 8}, {18, 4, 3, 3}, {{"groups", int64_t{3}}}, true},
      {"conv/dilated", {1, 4, 14, 14}, {6, 4, 3, 3}, {{"dilations", ints({2, 3})}, {"pads", ints({2, 3, 1, 0})}}},
      {"conv/same_lower",
       {1, 4, 10, 7},
       {6, 4, 4, 2},
       {{"strides", ints({2, 3})}, {"auto_pad", std::string("SAME_LOWER")}}},
      {"conv/1d", {2, 5, 31}, {7, 5, 4}, {{"strides", ints({3})}, {"pads", ints({2, 1})}}, true},
      {"conv/3d",
       {1, 3, 6, 7, 8},
       {4, 3, 3, 2, 3},
       {{"strides", ints({1, 2, 1})}, {"pads", ints({1, 0, 1, 1, 1, 0})}},
       true},
      {"conv/channels_odd", {1, 37, 5, 5}, {19, 37, 3, 3}, {{"pads", ints({1, 1, 1, 1})}}, true},
      {"conv/f16", {1, 16, 8, 8}, {16, 16, 3, 3}, {{"pads", ints({1, 1, 1, 1})}}, true, DType::kF16},
      {"conv/f16_depthwise",
       {1, 24, 9, 21},
       {24, 1, 5, 5},
       {{"pads", ints({2, 2, 2, 2})}, {"strides", ints({2, 2})}, {"groups", int64_t{24}}},
       true,
       DType::kF16},
      {"conv/f16_pixel", {2, 40, 1, 1}, {16, 40, 1, 1}, {}, true, DType::kF16},
      {"conv/bf16", {1, 16, 8, 8}, {16, 16, 3, 3}, {{"pads", ints({1, 1, 1, 1})}}, true, DType::kBF16},
  };
  const ConvCase transposed[] = {
      {"conv_transpose/2x2_stride2", {1, 8, 6, 5}, {8, 6, 2, 2}, {{"strides", ints({2, 2})}}, true},
      {"conv_transpose/3x3",
       {2, 4, 5, 5},
       {4, 3, 3, 3},
       {{"strides", ints({2, 2})}, {"pads", ints({1, 1, 1, 1})}, {"output_padding", ints({1, 1})}},
       true},
      {"conv_transpose/grouped_dilated",
       {1, 6, 5, 4},
       {6, 2, 3, 3},
       {{"groups", int64_t{3}}, {"dilations", ints({2, 2})}}},
      {"conv_transpose/1d", {1, 3, 9}, {3, 4, 4}, {{"strides", ints({3})}, {"pads", ints({1, 2})}}, true},
      {"conv_transpose/3d", {1, 2, 3, 4, 3}, {2, 3, 2, 3, 2}, {{"strides", ints({2, 1, 2})}}, true},
  };
  const auto add = [&](const ConvCase& c, const char* op, int64_t channels) {
    std::vector<HostTensor> inputs{list.random(c.dtype, c.x), list.random(c.dtype, c.w)};
    if (c.bias) inputs.push_back(list.random(c.dtype, {channels}));
    list.add(c.name, op, std::move(inputs), c.attrs, 1, {false, true, true}, c.w.volume() / c.w[0]);
  };
  for (const ConvCase& c : forward) add(c, "Conv", c.w[0]);
  for (const ConvCase& c : transposed) {
    const auto groups = c.attrs.find("groups");
    add(c, "ConvTranspose", c.w[1] * (groups == c.attrs.end() ? 1 : std::get<int64_t>(groups->second)));
  }
  for (const DType x : {DType::kU8, DType::kI8}) {
    const std::string suffix = std::string("_") + dtype_name(x);
    list.add("conv/quantized" + suffix, "Conv",
             {list.random(x, {1, 16, 9, 9}, -100, 100), list.random(DType::kI8, {12, 16, 3, 3}, -100, 100),
              list.random(DType::kF32, {12})},
             {{"pads", ints({1, 1, 1, 1})},
              {"x_scale", std::vector<double>{0.02}},
              {"x_zero", std::vector<double>{3}},
              {"w_scale", std::vector<double>{.01, .02, .03, .01, .02, .03, .01, .02, .03, .01, .02, .03}}},
             1, {false, true, true}, 144);
  }
  for (const DType x : {DType::kF8E4M3, DType::kF8E5M2})
    list.add(std::string("conv/quantized_") + dtype_name(x), "Conv",
             {list.random(x, {1, 16, 9, 9}), list.random(DType::kF8E4M3, {8, 16, 3, 3}), list.random(DType::kF32, {8})},
             {{"pads", ints({1, 1, 1, 1})},
              {"x_scale", std::vector<double>{0.2}},
              {"w_scale", std::vector<double>{.1, .2, .3, .1, .2, .1, .3, .4}}},
             1, {false, true, true}, 144);
  list.add("conv_integer/zero_points", "ConvInteger",
           {list.random(DType::kU8, {1, 3, 6, 6}, 0, 255), list.random(DType::kI8, {4, 3, 3, 3}, -128, 127),
            HostTensor::scalar<uint8_t>(7), list.random(DType::kI8, {4}, -4, 4)},
           {{"pads", ints({1, 1, 1, 1})}}, 1, {false, true, true, true});
}

}  // namespace wootz::ops
