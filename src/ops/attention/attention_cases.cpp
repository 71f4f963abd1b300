#include <cmath>

#include "ops/cases.h"

namespace wootz::ops {

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
}

}  // namespace wootz::ops
