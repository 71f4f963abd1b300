// Layers of transformers: activations and sums with a normalization, embeddings, attention with relative positions.
#include <algorithm>
#include <cmath>

#include "stock/tables.h"

namespace wootz::stock {
namespace {

// The field type_id, as a type of what the plugin computes in. Errors: INT8, whose scales are not fields.
Result<DType> type_of(const Layer& l, const char* field) {
  const int64_t id = l.integer(field);
  if (id == 0) return DType::kF32;
  if (id == 1) return DType::kF16;
  return l.fail("{} is {}; 0 (FP32) and 1 (FP16) are offered", field, id);
}

Status expand_gelu(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {}));
  Value* x = l.in(0);
  // The bias is one of the third dimension: dimensions of 1 may follow.
  if (l.count("bias") > 0) {
    if (x->rank() < 3) return l.fail("input {} has no dimension for a bias", shape_to_string(l.shape(0)));
    std::vector<int64_t> dims(static_cast<size_t>(x->rank()), 1);
    dims[2] = l.count("bias");
    x = l.b.add(x, l.weights("bias", Dims(dims), x->dtype()));
  }
  l.out(0, l.b.op("Gelu", {x}, {{"approximate", std::string("tanh")}}));
  return l.b.status();
}

// Normalizes x [.., E, 1..] over E; `axis` is where E is.
Value* normalized(Layer& l, Value* x, size_t axis, const char* gamma, const char* beta, double epsilon) {
  GraphBuilder& b = l.b;
  if (b.failed()) return nullptr;
  std::vector<int64_t> dims(static_cast<size_t>(x->rank()) - axis, 1);
  dims[0] = l.count(gamma);
  return b.op("LayerNorm", {x, l.weights(gamma, Dims(dims), x->dtype()), l.weights(beta, Dims(dims), x->dtype())},
              {{"axis", static_cast<int64_t>(axis)}, {"epsilon", epsilon}});
}

// The sequence is [S, B, E, 1, 1], or [S, B, E].
Status expand_skip(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3, 4, 5}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {3, 4, 5}));
  WOOTZ_RETURN_IF_ERROR(type_of(l, "type_id").status());
  GraphBuilder& b = l.b;
  Value* const x = l.in(0);
  Value* sum = b.add(x, l.in(1));
  std::vector<int64_t> dims(static_cast<size_t>(x->rank()) - 2, 1);
  dims[0] = l.count("gamma");
  if (l.count("bias") > 0) sum = b.add(sum, l.weights("bias", Dims(dims), x->dtype()));
  l.out(0, normalized(l, sum, 2, "gamma", "beta", 1e-5));
  return b.status();
}

// Ids of words and segments, and a mask, all [B, S].
Status expand_embedding(Layer& l) {
  for (size_t i = 0; i < 3; ++i) WOOTZ_RETURN_IF_ERROR(l.need(i, {2}, false));
  if (l.flag("full_mask") || l.integer("mha_type_id") != 0)
    return l.fail(
        "full_mask and an mha_type_id that is not 0 pack the mask for kernels that are not here; leave both 0");
  WOOTZ_ASSIGN_OR_RETURN(const DType type, type_of(l, "output_fp16"));
  GraphBuilder& b = l.b;
  const int64_t width = l.count("bert_embeddings_layernorm_gamma");
  if (width < 1) return l.fail("field 'bert_embeddings_layernorm_gamma' has no values");
  const auto table = [&](const char* name) { return l.weights(name, Dims{l.count(name) / width, width}, DType::kF32); };
  const auto looked_up = [&](const char* name, Value* index) {
    return b.op("Gather", {table(name), index}, {{"axis", int64_t{0}}});
  };
  Value* const words = looked_up("bert_embeddings_word_embeddings", l.in(0));
  Value* const segments = looked_up("bert_embeddings_token_type_embeddings", l.in(1));
  Value* const places = looked_up("bert_embeddings_position_embeddings", count_up(b, l.in(0), 1));
  Value* const sum = b.add(b.add(words, segments), b.unsqueeze(places, {0}));
  Value* const y = normalized(l, sum, 2, "bert_embeddings_layernorm_gamma", "bert_embeddings_layernorm_beta", 1e-5);
  l.out(0, b.cast(b.unsqueeze(b.unsqueeze(y, {3}), {4}), type));
  // The number of tokens that are there: those that are come first.
  l.out(1, b.cast(b.reduce("sum", b.cast(l.in(2), DType::kF32), {1}, true), DType::kI32));
  return b.status();
}

// [.., K, 1, 1] times W [K, out_dims].
Status expand_fc(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {5}));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t inner, l.fixed(0, 2));
  const int64_t outer = l.integer("out_dims");
  GraphBuilder& b = l.b;
  Value* const weights = l.weights("W", Dims{inner, outer}, l.in(0)->dtype());
  Value* const rows = b.squeeze(b.squeeze(l.in(0), {4}), {3});
  l.out(0, b.unsqueeze(b.unsqueeze(b.op("MatMul", {rows, weights}), {3}), {4}));
  return b.status();
}

// Places of distances [Q, K], of which there are 2 * span: distances that are large share them, more and more.
std::vector<int64_t> buckets(int64_t length, int64_t span, int64_t places) {
  const int64_t middle = span / 2, most = 2 * span;
  const float start = std::log(static_cast<float>(middle));
  const float factor =
      static_cast<float>(middle - 1) / (std::log(static_cast<float>(places - 1)) - start) * (1 - 1e-7F);
  std::vector<int64_t> all;
  for (int64_t q = 0; q < length; ++q)
    for (int64_t k = 0; k < length; ++k) {
      const int64_t distance = q - k, far = std::abs(distance);
      int64_t place = far;
      if (far > middle)
        place = static_cast<int64_t>(std::ceil((std::log(static_cast<float>(far)) - start) * factor)) + middle;
      all.push_back(std::clamp<int64_t>((distance < 0 ? -place : place) + span, 0, most - 1));
    }
  return all;
}

// (c2c[q, k] + c2p[q, place of q - k] + p2c[k, place of q - k]) * factor.
Status expand_disentangled(Layer& l) {
  for (size_t i = 0; i < 3; ++i) WOOTZ_RETURN_IF_ERROR(l.need(i, {3}));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t length, l.fixed(0, 1));
  const int64_t span = l.integer("span");
  if (span < 2 || span > Layer::kMostMade) return l.fail("span is {}; it must be 2 to {}", span, Layer::kMostMade);
  WOOTZ_RETURN_IF_ERROR(l.bounded("the length of the sequence, squared", {length, length}));
  for (size_t i = 1; i < 3; ++i)
    if (l.shape(i)[2].is_const() && l.shape(i)[2].value() < 2 * span)
      return l.fail("input {} is {}, its last dimension must have {} places", i, shape_to_string(l.shape(i)), 2 * span);
  GraphBuilder& b = l.b;
  const int64_t places = l.shape(1)[2].is_const() ? l.shape(1)[2].value() : 2 * span;
  const std::vector<int64_t> all = buckets(length, span, places);
  Value* const table = b.constant(HostTensor::from<int64_t>(std::span<const int64_t>(all), Dims{1, length, length}));
  const auto gathered = [&](size_t input, Value* index) {
    Value* const each = expand_to(b, index, {b.extent(l.in(0), 0), b.ints({length, length})});
    return b.op("GatherElements", {l.in(input), each}, {{"axis", int64_t{2}}});
  };
  Value* const to_place = gathered(1, table);
  Value* const from_place = b.transpose(gathered(2, b.transpose(table, {0, 2, 1})), {0, 2, 1});
  l.out(0, b.scale(b.add(l.in(0), b.add(to_place, from_place)), l.number("factor")));
  return b.status();
}

using enum FieldType;
constexpr Field kGelu[] = {{"type_id", kInt, "0"}, {"bias", kFloat, ""}};
constexpr Field kSkip[] = {{"type_id", kInt, "0"},
                           {"ld", kInt, "0"},
                           {"beta", kFloat, nullptr},
                           {"gamma", kFloat, nullptr},
                           {"bias", kFloat, ""}};
constexpr Field kEmbedding[] = {{"bert_embeddings_layernorm_beta", kFloat, nullptr},
                                {"bert_embeddings_layernorm_gamma", kFloat, nullptr},
                                {"bert_embeddings_word_embeddings", kFloat, nullptr},
                                {"bert_embeddings_token_type_embeddings", kFloat, nullptr},
                                {"bert_embeddings_position_embeddings", kFloat, nullptr},
                                {"output_fp16", kInt, "0"},
                                {"full_mask", kInt, "0"},
                                {"mha_type_id", kInt, "0"}};
constexpr Field kFc[] = {{"out_dims", kInt, nullptr}, {"type_id", kInt, "0"}, {"W", kFloat, nullptr}};
constexpr Field kDisentangled[] = {{"span", kInt, nullptr}, {"factor", kFloat, nullptr}};
constexpr const char* kSkipWhat = "layer normalization of a sum, over the third dimension";
constexpr const char* kDisentangledWhat =
    "DeBERTa's attention scores: content, and content with places on either side, in logarithmic buckets";

}  // namespace

std::span<const Plugin> transformer_plugins() {
  static constexpr Plugin kTransformersPlugins[] = {
      {"CustomGeluPluginDynamic", "1", Interface::kV2, kGelu, 1, 1, 1, expand_gelu, "GELU by tanh, after a bias"},
      {"CustomSkipLayerNormPluginDynamic", "1", Interface::kV2, kSkip, 2, 2, 1, expand_skip, kSkipWhat},
      {"CustomSkipLayerNormPluginDynamic", "2", Interface::kV2, kSkip, 2, 2, 1, expand_skip, kSkipWhat},
      {"CustomSkipLayerNormPluginDynamic", "5", Interface::kV3, kSkip, 2, 2, 1, expand_skip, kSkipWhat},
      {"CustomSkipLayerNormPluginDynamic", "6", Interface::kV3, kSkip, 2, 2, 1, expand_skip, kSkipWhat},
      {"CustomEmbLayerNormPluginDynamic", "1", Interface::kV2, kEmbedding, 3, 3, 2, expand_embedding,
       "BERT's embeddings of words, segments and places, normalized, and the number of tokens of each row of the mask"},
      {"CustomFCPluginDynamic", "1", Interface::kV2, kFc, 1, 1, 1, expand_fc, "a product with weights"},
      {"DisentangledAttention_TRT", "1", Interface::kV2, kDisentangled, 3, 3, 1, expand_disentangled,
       kDisentangledWhat},
      {"DisentangledAttention_TRT", "2", Interface::kV3, kDisentangled, 3, 3, 1, expand_disentangled,
       kDisentangledWhat},
  };
  return kTransformersPlugins;
}

}  // namespace wootz::stock
