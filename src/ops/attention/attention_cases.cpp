#include <cmath>

#include "ops/cases.h"

namespace wootz::ops {

namespace {

// Keys and values of 8 bits, as caches have them: with a scale, a scale a head, or one for each element of each head.
void byte_cases(CaseList& list) {
  struct Case {
    const char* name;
    DType type, bytes;
    int64_t heads, kv_heads, rows, keys, size, v_size, k_scales, v_scales;
    AttrMap attrs;
  };
  const AttrMap zeros{{"k_zero", 3.0}, {"v_zero", 100.0}},
      below{{"k_zero", -3.0}, {"v_zero", -100.0}, {"softcap", 4.0}};
  const AttrMap none, transposed{{"k_transposed", int64_t{1}}}, causal{{"causal", int64_t{1}}, {"softcap", 5.0}};
  const Case cases[] = {
      {"one_query", DType::kF32, DType::kI8, 8, 2, 1, 150, 64, 64, 1, 1, none},
      {"two_queries_f8", DType::kF32, DType::kF8E4M3, 6, 3, 2, 40, 32, 24, 3, 3 * 24, none},
      {"rows", DType::kF32, DType::kI8, 4, 2, 20, 33, 16, 16, 2 * 16, 2, none},
      {"rows_transposed", DType::kF32, DType::kI8, 2, 2, 7, 9, 8, 8, 2 * 8, 1, transposed},
      {"one_query_f16", DType::kF16, DType::kI8, 8, 2, 1, 300, 128, 128, 1, 2 * 128, none},
      {"causal_f16", DType::kF16, DType::kF8E4M3, 2, 1, 3, 130, 64, 64, 64, 1, causal},
      {"rows_f16", DType::kF16, DType::kI8, 4, 2, 33, 70, 64, 64, 2, 1, none},
      {"bf16", DType::kBF16, DType::kF8E5M2, 4, 2, 1, 70, 64, 32, 1, 2, none},
      {"zeros", DType::kF32, DType::kU8, 4, 2, 2, 70, 24, 40, 1, 1, zeros},
      {"rows_zeros", DType::kF32, DType::kI8, 4, 2, 9, 70, 24, 40, 2, 1, below},
      {"few_zeros", DType::kF32, DType::kI8, 4, 2, 3, 70, 24, 40, 2, 1, below},
      {"zeros_f16", DType::kF16, DType::kU8, 4, 2, 2, 270, 64, 64, 1, 1, zeros},
      {"zeros_bf16", DType::kBF16, DType::kU8, 2, 2, 1, 70, 64, 64, 1, 1, zeros},
      {"bf16_bytes", DType::kBF16, DType::kI8, 4, 1, 5, 70, 32, 64, 1, 1, none},
  };
  for (const Case& c : cases) {
    const auto scales = [](int64_t count) {
      std::vector<double> made;
      for (int64_t i = 0; i < count; ++i) made.push_back(0.01 + 0.005 * static_cast<double>(i % 7));
      return made;
    };
    const bool turns = c.attrs.count("k_transposed") != 0;
    AttrMap attrs = c.attrs;
    attrs["scale"] = 1 / std::sqrt(static_cast<double>(c.size));
    attrs["k_scale"] = scales(c.k_scales);
    attrs["v_scale"] = scales(c.v_scales);
    const Dims keys = turns ? Dims{2, c.kv_heads, c.size, c.keys} : Dims{2, c.kv_heads, c.keys, c.size};
    list.add(std::string("attention/bytes_") + c.name, "Attention",
             {list.random(c.type, {2, c.heads, c.rows, c.size}), list.random(c.bytes, keys),
              list.random(c.bytes, {2, c.kv_heads, c.keys, c.v_size})},
             std::move(attrs), 1, {}, std::max(c.keys, c.size));
  }
}

// Everything of 8 bits, and weights that are rounded, as networks are quantized; with a grid for scores, too.
void rounded_cases(CaseList& list) {
  struct Case {
    const char* name;
    DType q, k, v, p;
    int64_t heads, kv_heads, rows, keys, size, v_size;
    AttrMap attrs;
    bool mask = false;
  };
  const AttrMap none, zeros{{"q_zero", 126.0}, {"k_zero", 131.0}, {"v_zero", 120.0}},
      grid{{"s_scale", 0.02}, {"s_zero", 129.0}, {"s_type", std::string("u8")}}, causal{{"causal", int64_t{1}}};
  AttrMap both = zeros;
  both.insert(grid.begin(), grid.end());
  const DType i8 = DType::kI8, u8 = DType::kU8, f8 = DType::kF8E4M3;
  const Case cases[] = {
      {"i8", i8, i8, i8, u8, 2, 2, 20, 33, 64, 64, none},
      {"i8_i8", i8, i8, i8, i8, 4, 2, 70, 150, 64, 32, none, true},
      {"zeros", u8, u8, u8, u8, 2, 2, 40, 128, 64, 64, zeros},
      {"grid", u8, u8, u8, u8, 2, 1, 130, 70, 64, 128, both, true},
      {"grid_128", i8, u8, i8, u8, 1, 1, 17, 65, 128, 64, grid},
      {"causal", u8, i8, u8, u8, 2, 2, 70, 70, 64, 64, causal},
      {"odd", u8, i8, u8, u8, 2, 1, 5, 7, 24, 20, zeros},
      {"f8", f8, f8, f8, f8, 2, 2, 9, 12, 64, 64, none},
  };
  for (const Case& c : cases) {
    AttrMap attrs = c.attrs;
    attrs["scale"] = 1 / std::sqrt(static_cast<double>(c.size));
    attrs["q_scale"] = attrs["k_scale"] = attrs["v_scale"] = std::vector<double>{0.02};
    attrs["p_scale"] = c.p == f8 ? 1.0 / 256 : c.p == i8 ? 1.0 / 127 : 1.0 / 255;
    attrs["p_type"] = std::string(dtype_name(c.p));
    if (c.attrs.count("k_zero") != 0 && c.k == i8) attrs["k_zero"] = -3.0;
    const auto random = [&](DType type, const Dims& dims) {
      return type == f8 ? list.random(type, dims)
                        : list.random(type, dims, type == i8 ? -128 : 0, type == i8 ? 127 : 255);
    };
    std::vector<HostTensor> inputs{random(c.q, {2, c.heads, c.rows, c.size}),
                                   random(c.k, {2, c.kv_heads, c.keys, c.size}),
                                   random(c.v, {2, c.kv_heads, c.keys, c.v_size})};
    if (c.mask) inputs.push_back(list.random(DType::kBool, {2, 1, 1, c.keys}));
    list.add(std::string("attention/rounded_") + c.name, "Attention", std::move(inputs), std::move(attrs), 1, {},
             c.keys);
    list.tolerate(0.03);
  }
}

}  // namespace

void attention_cases(CaseList& list) {
  struct Case {
    const char* name;
    int64_t batch, heads, kv_heads, rows, keys, size, v_size;
    AttrMap attrs;
    const char* mask = "";
    DType dtype = DType::kF32;
  };
  const Case cases[] = {
      {"plain", 2, 3, 3, 17, 17, 32, 32, {}},
      {"cross", 1, 4, 4, 5, 29, 16, 24, {}},
      {"one_query", 2, 8, 8, 1, 40, 64, 64, {}},
      {"grouped", 1, 8, 2, 9, 9, 16, 16, {{"causal", int64_t{1}}}},
      {"causal", 2, 2, 2, 13, 13, 8, 8, {{"causal", int64_t{1}}}},
      {"softcap", 1, 2, 2, 6, 7, 8, 8, {{"softcap", 2.0}}},
      {"scale", 1, 2, 2, 6, 7, 8, 8, {{"scale", 0.5}}},
      {"bool_mask", 2, 2, 2, 6, 7, 8, 8, {}, "bool"},
      {"additive_mask", 2, 2, 2, 6, 7, 8, 8, {}, "float"},
      {"key_mask", 2, 4, 4, 11, 12, 8, 8, {}, "keys"},
      {"f16", 1, 2, 2, 12, 12, 32, 32, {}, "", DType::kF16},
      {"f16_heads_of_64", 1, 2, 1, 70, 140, 64, 64, {}, "", DType::kF16},
      {"f16_few_keys", 1, 2, 1, 70, 100, 64, 64, {}, "", DType::kF16},
      {"bf16", 1, 2, 2, 12, 12, 32, 32, {{"causal", int64_t{1}}}, "", DType::kBF16},
  };
  for (const Case& c : cases) {
    std::vector<HostTensor> inputs{list.random(c.dtype, {c.batch, c.heads, c.rows, c.size}),
                                   list.random(c.dtype, {c.batch, c.kv_heads, c.keys, c.size}),
                                   list.random(c.dtype, {c.batch, c.kv_heads, c.keys, c.v_size})};
    const std::string mask = c.mask;
    if (mask == "bool") inputs.push_back(list.random(DType::kBool, {c.batch, 1, c.rows, c.keys}));
    if (mask == "float") inputs.push_back(list.random(c.dtype, {c.rows, c.keys}));
    if (mask == "keys") inputs.push_back(list.random(DType::kBool, {c.batch, 1, 1, c.keys}));
    AttrMap attrs = c.attrs;
    if (!attrs.count("scale")) attrs["scale"] = 1 / std::sqrt(static_cast<double>(c.size));
    list.add(std::string("attention/") + c.name, "Attention", std::move(inputs), std::move(attrs), 1, {},
             std::max(c.keys, c.size));
  }
  // Heads side by side: query, key and value in one product's result, and as a model of sequence-first order has them.
  using Ints = std::vector<int64_t>;
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const std::string type = std::string("_") + dtype_name(dtype);
    const HostTensor packed = list.random(dtype, {2, 19, 4 * 16 + 2 * 16 + 2 * 16 + 3});
    list.add("attention/packed" + type, "Attention", {packed, packed, packed, list.random(DType::kBool, {2, 1, 1, 19})},
             {{"scale", 0.25},
              {"q_view", Ints{0, 4, 16, 16, 0}},
              {"k_view", Ints{64, 2, 16, 16, 0}},
              {"v_view", Ints{96, 2, 16, 16, 0}},
              {"merged", int64_t{1}}},
             1, {}, 19);
    list.add(
        "attention/sequence_first" + type, "Attention",
        {list.random(dtype, {7, 2, 24}), list.random(dtype, {2, 3, 9, 8}), list.random(dtype, {9, 2, 72})},
        {{"scale", 0.5}, {"q_view", Ints{0, 3, 8, 8, 1}}, {"v_view", Ints{16, 3, 8, 24, 1}}, {"merged", int64_t{2}}}, 1,
        {}, 9);
  }
  byte_cases(list);
  rounded_cases(list);
}

}  // namespace wootz::ops
