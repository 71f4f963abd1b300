#include <cmath>

#include "ops/cases.h"

namespace wootz::ops {
namespace {

// Every code that is a number, in an order that mixes them.
HostTensor codes_of(DType type, const Dims& dims) {
  Result<HostTensor> made = HostTensor::allocate(type, dims);
  if (!made.ok()) return {};
  HostTensor tensor = std::move(made).value();
  const int64_t codes = int64_t{1} << dtype_bits(type);
  HostTensor all = *HostTensor::allocate(type, Dims{codes});
  auto* const bytes = static_cast<uint8_t*>(all.mutable_data());
  for (int64_t i = 0; i < codes; ++i)
    if (codes == 256)
      bytes[i] = static_cast<uint8_t>(i);
    else if (i % 2 == 0)
      bytes[i / 2] = static_cast<uint8_t>(i | (i + 1) << 4);
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    const double value = all.get_f64(i * 77 % codes);
    tensor.set_f64(i, std::isfinite(value) ? value : 0);
  }
  return tensor;
}

// Products by packed floats, whose scales may be small floats, too.
void packed_float_cases(CaseList& list) {
  struct Case {
    const char* name;
    DType x, w, scale;
    int64_t rows, depth, columns, block;
    double alpha;
    bool transposed;
  };
  const Case cases[] = {
      {"e2m1", DType::kF32, DType::kF4E2M1, DType::kF8E4M3, 1, 96, 40, 16, 0.03, false},
      {"e2m1_transposed", DType::kF32, DType::kF4E2M1, DType::kF8E4M3, 3, 160, 35, 16, 0.25, true},
      {"e2m1_ragged", DType::kF16, DType::kF4E2M1, DType::kF32, 2, 88, 48, 16, 1, true},
      {"e2m1_rows", DType::kF32, DType::kF4E2M1, DType::kF8E4M3, 40, 64, 64, 16, 0.1, true},
      {"e2m1_channel", DType::kF32, DType::kF4E2M1, DType::kF32, 5, 75, 33, 75, 1, false},
      {"e4m3_scales", DType::kF32, DType::kF8E4M3, DType::kF8E8M0, 1, 288, 64, 32, 1, false},
      {"e4m3_f16", DType::kF16, DType::kF8E4M3, DType::kF16, 7, 256, 33, 128, 1, true},
      {"e4m3_rows", DType::kF32, DType::kF8E4M3, DType::kF8E8M0, 19, 264, 70, 32, 1, true},
      {"e5m2_bf16", DType::kBF16, DType::kF8E5M2, DType::kF32, 2, 256, 48, 64, 1, false},
  };
  for (const Case& c : cases) {
    const Dims blocks{(c.depth + c.block - 1) / c.block, c.columns};
    HostTensor scale = list.random(c.scale, blocks);
    for (int64_t i = 0; c.scale == DType::kF8E8M0 && i < scale.volume(); ++i) scale.set_f64(i, std::exp2(i % 5 - 3));
    const double size = c.w == DType::kF8E5M2 ? 0x1p-12 : c.w == DType::kF8E4M3 ? 0x1p-6 : 1;  // for results of about 1
    HostTensor x = list.random(c.x, {c.rows, c.depth});
    for (int64_t i = 0; i < x.volume(); ++i) x.set_f64(i, x.get_f64(i) * size);
    const Dims w = c.transposed ? Dims{c.columns, c.depth} : Dims{c.depth, c.columns};
    AttrMap attrs{{"block", c.block}};
    if (c.transposed) attrs["trans_b"] = int64_t{1};
    if (c.alpha != 1) attrs["alpha"] = c.alpha;
    list.add(std::string("matmul/weight_only_") + c.name, "WeightOnlyMatMul",
             {std::move(x), codes_of(c.w, w), std::move(scale)}, attrs, 1, {false, true, true}, c.depth);
  }
}

}  // namespace

void matmul_cases(CaseList& list) {
  struct Case {
    const char* name;
    Dims a, b, c;
    AttrMap attrs;
    bool weights = true;  // b and c constant
    DType dtype = DType::kF32;
  };
  const AttrMap trans_a{{"trans_a", int64_t{1}}}, trans_b{{"trans_b", int64_t{1}}};
  const Case cases[] = {
      {"matmul/square", {64, 64}, {64, 64}, {}, {}},
      {"matmul/odd", {13, 37}, {37, 19}, {19}, {}},
      {"matmul/row", {1, 256}, {256, 100}, {100}, {}},
      {"matmul/column", {50, 33}, {33, 1}, {}, {}},
      {"matmul/trans_b", {7, 40}, {24, 40}, {24}, trans_b},
      {"matmul/trans_a", {40, 7}, {40, 24}, {7, 1}, trans_a},
      {"matmul/trans_both", {40, 7}, {24, 40}, {7, 24}, {{"trans_a", int64_t{1}}, {"trans_b", int64_t{1}}}},
      {"matmul/alpha", {9, 16}, {16, 8}, {1, 8}, {{"alpha", 0.25}}},
      {"matmul/tokens", {2, 17, 48}, {48, 96}, {96}, {}},
      {"matmul/batched", {2, 3, 17, 32}, {2, 3, 32, 17}, {}, {}, false},
      {"matmul/batched_trans_b", {2, 3, 17, 32}, {2, 3, 19, 32}, {}, trans_b, false},
      {"matmul/broadcast_batch", {4, 1, 5, 8}, {3, 8, 6}, {}, {}, false},
      {"matmul/mask_term", {2, 3, 5, 8}, {2, 3, 8, 6}, {2, 1, 1, 6}, {}, false},
      {"matmul/vectors", {11}, {11}, {}, {}, false},
      {"matmul/vector_matrix", {11}, {3, 11, 5}, {}, {}, false},
      {"matmul/f16", {8, 64}, {64, 32}, {32}, {}, true, DType::kF16},
      {"matmul/bf16", {8, 64}, {64, 32}, {32}, {}, true, DType::kBF16},
      {"matmul/f64", {8, 20}, {20, 9}, {9}, {}, true, DType::kF64},
      {"matmul/i32", {4, 6}, {6, 5}, {5}, {}, false, DType::kI32},
      {"matmul/inner_zero", {4, 0}, {0, 5}, {5}, {}, false},
  };
  for (const Case& c : cases) {
    std::vector<HostTensor> inputs{list.random(c.dtype, c.a), list.random(c.dtype, c.b)};
    if (!c.c.empty()) inputs.push_back(list.random(c.dtype, c.c));
    const size_t k_axis = c.a.rank() == 1 ? 0 : c.a.size() - (c.attrs.count("trans_a") ? 2u : 1u);
    list.add(c.name, "MatMul", std::move(inputs), c.attrs, 1, {false, c.weights, c.weights},
             std::max<int64_t>(c.a[k_axis], 1));
  }
  for (const DType x : {DType::kF8E4M3, DType::kF8E5M2})
    list.add(std::string("matmul/blocks_") + dtype_name(x), "BlockMatMul",
             {list.random(x, {5, 2, 128}), list.random(DType::kF32, {5, 2, 1}), list.random(DType::kF8E4M3, {16, 256}),
              list.random(DType::kF32, {2, 16})},
             {{"w_block", int64_t{128}}, {"x_scale", std::vector<double>{0.5}}}, 1, {false, false, true, true}, 256);
  for (const DType x : {DType::kU8, DType::kI8}) {
    list.add(std::string("matmul/quantized_") + dtype_name(x), "MatMul",
             {list.random(x, {5, 64}, -100, 100), list.random(DType::kI8, {64, 4}, -100, 100),
              list.random(DType::kF32, {4})},
             {{"x_scale", std::vector<double>{0.02}},
              {"x_zero", std::vector<double>{3}},
              {"w_scale", std::vector<double>{.01, .02, .03, .04}}},
             1, {false, true, true}, 64);
  }
  // Rows with scales of their own.
  for (const bool bias : {false, true})
    list.add(bias ? "matmul/quantized_rows_bias" : "matmul/quantized_rows", "MatMul",
             {list.random(DType::kI8, {2, 5, 64}, -100, 100), list.random(DType::kI8, {64, 36}, -100, 100),
              bias ? list.random(DType::kF32, {36}) : HostTensor(), list.random(DType::kF32, {2, 5, 1})},
             {{"x_scale", std::vector<double>{1}}, {"w_scale", std::vector<double>{.01}}}, 1,
             {false, true, true, false}, 64);
  for (const DType w : {DType::kF8E4M3, DType::kF8E5M2})
    list.add(std::string("matmul/quantized_f8e4m3_") + dtype_name(w), "MatMul",
             {list.random(DType::kF8E4M3, {5, 64}), list.random(w, {64, 16}), list.random(DType::kF32, {16})},
             {{"x_scale", std::vector<double>{0.5}}, {"w_scale", std::vector<double>{0.25}}}, 1, {false, true, true},
             64);
  struct Narrow {
    const char* name;
    DType x, w;
    int64_t rows, depth, columns, block;
    bool zero, transposed;
  };
  const Narrow narrow[] = {
      {"i4_block32", DType::kF32, DType::kI4, 1, 96, 40, 32, false, false},
      {"u4_zero", DType::kF32, DType::kU4, 5, 128, 33, 64, true, false},
      {"i4_transposed", DType::kF32, DType::kI4, 2, 64, 70, 32, true, true},
      {"i4_ragged", DType::kF32, DType::kI4, 3, 75, 35, 32, false, false},
      {"i4_channel", DType::kF32, DType::kI4, 33, 65, 96, 65, false, false},
      {"i8_block32", DType::kF32, DType::kI8, 4, 100, 48, 32, false, true},
      {"u8_zero", DType::kF32, DType::kU8, 1, 64, 17, 64, true, false},
      {"i4_f16", DType::kF16, DType::kI4, 2, 64, 64, 32, false, false},
      {"i4_bf16", DType::kBF16, DType::kI4, 2, 64, 64, 32, true, false},
      {"i4_f16_block64", DType::kF16, DType::kI4, 3, 192, 40, 64, false, false},
      {"u4_bf16_block64", DType::kBF16, DType::kU4, 9, 128, 33, 64, true, true},
  };
  for (const Narrow& c : narrow) {
    const Dims w = c.transposed ? Dims{c.columns, c.depth} : Dims{c.depth, c.columns};
    const Dims blocks{(c.depth + c.block - 1) / c.block, c.columns};
    const bool wide = dtype_bits(c.w) == 8, is_signed = dtype_info(c.w).is_signed;
    const double low = is_signed ? (wide ? -128 : -8) : 0, high = is_signed ? (wide ? 127 : 7) : (wide ? 255 : 15);
    std::vector<HostTensor> inputs{list.random(c.x, {c.rows, c.depth}), list.random(c.w, w, low, high),
                                   list.random(c.x, blocks)};
    if (c.zero) inputs.push_back(list.random(c.w, blocks, low, high));
    AttrMap attrs{{"block", c.block}};
    if (c.transposed) attrs["trans_b"] = int64_t{1};
    list.add(std::string("matmul/weight_only_") + c.name, "WeightOnlyMatMul", std::move(inputs), attrs, 1,
             {false, true, true, true}, c.depth);
  }
  packed_float_cases(list);
  list.add("matmul_integer/zero_points", "MatMulInteger",
           {list.random(DType::kU8, {2, 5, 16}, 0, 255), list.random(DType::kI8, {16, 7}, -128, 127),
            HostTensor::scalar<uint8_t>(9), list.random(DType::kI8, {7}, -9, 9)},
           {}, 1, {false, true, true, true});
}

}  // namespace wootz::ops
