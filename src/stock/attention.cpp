// Attention with heads side by side, and what stands beside it in the plugins of diffusion models.
#include <cmath>

#include "stock/tables.h"

namespace wootz::stock {
namespace {

// Where heads lie in the rows of a packed tensor.
std::vector<int64_t> heads_at(int64_t offset, int64_t heads, int64_t size, int64_t step, bool sequence_first) {
  return {offset, heads, size, step, sequence_first ? 1 : 0};
}

// Query, key and value in one row [.., heads, 3, size], or the query alone and [.., heads, 2, size].
Value* attention(GraphBuilder& b, Value* q, Value* kv, int64_t heads, int64_t size, Value* mask, bool sequence_first) {
  const bool packed = q == kv;
  const int64_t parts = packed ? 3 : 2, key = packed ? size : 0;
  std::vector<Value*> inputs{q, kv, kv};
  if (mask != nullptr) inputs.push_back(mask);
  return b.op("Attention", std::move(inputs),
              {{"scale", 1 / std::sqrt(static_cast<double>(size))},
               {"q_view", heads_at(0, heads, size, packed ? parts * size : size, sequence_first)},
               {"k_view", heads_at(key, heads, size, parts * size, sequence_first)},
               {"v_view", heads_at(key + size, heads, size, parts * size, sequence_first)},
               {"merged", int64_t{sequence_first ? 2 : 1}}});
}

// [S, B, 3 * E, 1, 1], and for each of B how many of its tokens are there.
Status expand_bert(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {5}));
  const int64_t width = l.integer("hidden_size"), heads = l.integer("num_heads");
  if (const int64_t type = l.integer("type_id"); type != 0 && type != 1)
    return l.fail("type_id is {}; 0 (FP32) and 1 (FP16) are offered", type);
  if (heads < 1 || width < heads || width % heads != 0)
    return l.fail("hidden_size {} is not of {} heads", width, heads);
  WOOTZ_ASSIGN_OR_RETURN(const int64_t row, l.fixed(0, 2));
  if (row % 3 != 0 || row / 3 != width) return l.fail("rows of {} are not three times hidden_size {}", row, width);
  GraphBuilder& b = l.b;
  Value* const x = b.squeeze(l.in(0), {3, 4});
  Value* mask = nullptr;
  if (l.flag("has_mask")) {
    WOOTZ_RETURN_IF_ERROR(l.need(1, {1, 2}, false));
    Value* const tokens = b.cast(b.reshape(l.in(1), std::vector<int64_t>{-1, 1, 1, 1}), DType::kI64);
    mask = b.op("Less", {count_up(b, l.in(0), 0), tokens});
  }
  l.out(0, b.unsqueeze(attention(b, x, x, heads, width / heads, mask, true), {3, 4}));
  return b.status();
}

// [B, S, H, 3, D] gives [B, S, H, D].
Status expand_self(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {5}));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t heads, l.fixed(0, 2));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t parts, l.fixed(0, 3));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t size, l.fixed(0, 4));
  if (parts != 3) return l.fail("input {} is not of queries, keys and values", shape_to_string(l.shape(0)));
  GraphBuilder& b = l.b;
  Value* const x = b.reshape(l.in(0), {0, 0, heads * 3 * size});
  l.out(0, b.reshape(attention(b, x, x, heads, size, nullptr, false), {0, 0, heads, size}));
  return b.status();
}

// [B, S, H, D] and [B, K, H, 2, D] give [B, S, H, D].
Status expand_cross(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {4}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {5}));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t heads, l.fixed(0, 2));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t size, l.fixed(0, 3));
  for (const auto& [axis, extent] : {std::pair<size_t, int64_t>{2, heads}, {3, 2}, {4, size}}) {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t is, l.fixed(1, axis));
    if (is != extent)
      return l.fail("keys and values {} are not two for each head of {}", shape_to_string(l.shape(1)),
                    shape_to_string(l.shape(0)));
  }
  GraphBuilder& b = l.b;
  Value* const q = b.reshape(l.in(0), {0, 0, heads * size});
  Value* const kv = b.reshape(l.in(1), {0, 0, heads * 2 * size});
  l.out(0, b.reshape(attention(b, q, kv, heads, size, nullptr, false), {0, 0, heads, size}));
  return b.status();
}

// A half times the GELU of the other.
Status expand_split_gelu(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3}));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t width, l.fixed(0, 2));
  if (width % 2 != 0) return l.fail("a last dimension of {} has no halves", width);
  const double divisor = l.number("fDiv");
  if (divisor == 0) return l.fail("fDiv is 0");
  GraphBuilder& b = l.b;
  Value* const x = columns(b, l.in(0), width / 2, width);
  Value* const erf = b.op("Erf", {b.scale(x, 1 / divisor)});
  if (b.failed()) return b.status();
  Value* const gate = b.scale(b.mul(x, b.add(erf, b.scalar(x->dtype(), l.number("fAdd")))), l.number("fMul"));
  l.out(0, b.mul(columns(b, l.in(0), 0, width / 2), gate));
  return b.status();
}

using enum FieldType;
constexpr Field kBert[] = {{"type_id", kInt, "0"},
                           {"hidden_size", kInt, nullptr},
                           {"num_heads", kInt, nullptr},
                           {"has_mask", kInt, "0"},
                           {"dq_probs", kFloat, "0"}};
constexpr Field kSplitGelu[] = {{"fDiv", kFloat, "1.4140625"}, {"fAdd", kFloat, "1"}, {"fMul", kFloat, "0.5"}};
constexpr const char* kBertWhat =
    "BERT's attention: query, key and value of each head side by side; the mask has the number of tokens of each row";

}  // namespace

std::span<const Plugin> attention_plugins() {
  static constexpr Plugin kAttentionPlugins[] = {
      {"CustomQKVToContextPluginDynamic", "1", Interface::kV2, kBert, 1, 2, 1, expand_bert, kBertWhat},
      {"CustomQKVToContextPluginDynamic", "4", Interface::kV3, kBert, 1, 2, 1, expand_bert, kBertWhat},
      {"fMHA_V2", "1", Interface::kV2, {}, 1, 1, 1, expand_self, "attention of queries, keys and values in one tensor"},
      {"fMHCA", "1", Interface::kV2, {}, 2, 2, 1, expand_cross, "attention to keys and values in one tensor"},
      {"SplitGeLU", "1", Interface::kV2, kSplitGelu, 1, 1, 1, expand_split_gelu,
       "half of the last dimension times the GELU of the other half"},
  };
  return kAttentionPlugins;
}

}  // namespace wootz::stock
