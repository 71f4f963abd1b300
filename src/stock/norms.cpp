// Normalizations.
#include "stock/tables.h"

namespace wootz::stock {
namespace {

// Scale and bias are fields, or, of some exporters, inputs.
Status expand_instance(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3, 4, 5}));
  Value* const x = l.in(0);
  Value *scale = l.in(1), *bias = l.in(2);
  if (scale == nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t channels, l.fixed(0, 1));
    if (!l.given("scales") || !l.given("bias"))
      return l.fail("scale and bias are neither fields ('scales', 'bias') nor inputs");
    scale = l.weights("scales", Dims{channels}, x->dtype());
    bias = l.weights("bias", Dims{channels}, x->dtype());
  }
  Value* y = l.b.op("InstanceNorm", {x, scale, bias}, {{"epsilon", l.number("epsilon")}});
  if (l.flag("relu")) y = l.b.op("LeakyRelu", {y}, {{"alpha", l.number("alpha")}});
  l.out(0, y);
  return l.b.status();
}

Status expand_group(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3, 4, 5}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {}));
  WOOTZ_RETURN_IF_ERROR(l.need(2, {}));
  GraphBuilder& b = l.b;
  const std::vector<int64_t> flat{-1};
  const DType type = l.in(0)->dtype();
  l.out(0, b.op("GroupNorm", {l.in(0), b.cast(b.reshape(l.in(1), flat), type), b.cast(b.reshape(l.in(2), flat), type)},
                {{"groups", l.integer("num_groups")}, {"epsilon", l.number("eps")}}));
  return b.status();
}

// Of diffusion models: 32 groups, and x * sigmoid(x) may follow.
Status expand_group_swish(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {4}));
  for (size_t i = 1; i < 3; ++i) WOOTZ_RETURN_IF_ERROR(l.need(i, {1}));
  GraphBuilder& b = l.b;
  const DType type = l.in(0)->dtype();
  Value* const y = b.op("GroupNorm", {l.in(0), b.cast(l.in(1), type), b.cast(l.in(2), type)},
                        {{"groups", int64_t{32}}, {"epsilon", l.number("epsilon")}});
  l.out(0, l.flag("bSwish") ? b.op("Swish", {y}) : y);
  return b.status();
}

Status expand_layer(Layer& l) {
  for (size_t i = 0; i < 3; ++i) WOOTZ_RETURN_IF_ERROR(l.need(i, {}));
  l.out(0, l.b.op("LayerNorm", {l.in(0), l.in(1), l.in(2)},
                  {{"axis", l.integer("axis")}, {"epsilon", l.number("epsilon")}}));
  return l.b.status();
}

using enum FieldType;
constexpr Field kInstance[] = {{"epsilon", kFloat, "1e-5"},
                               {"scales", kFloat, ""},
                               {"bias", kFloat, ""},
                               {"relu", kInt, "0"},
                               {"alpha", kFloat, "0"}};
constexpr Field kGroup[] = {{"eps", kFloat, "1e-5"}, {"num_groups", kInt, nullptr}};
constexpr Field kGroupSwish[] = {{"epsilon", kFloat, "1e-5"}, {"bSwish", kInt, "0"}};
constexpr Field kLayer[] = {{"epsilon", kFloat, "1e-5"}, {"axis", kInt, "-1"}};
constexpr const char* kInstanceWhat =
    "instance normalization; scale and bias are fields or inputs, and a leaky ReLU may follow";

}  // namespace

std::span<const Plugin> norm_plugins() {
  static constexpr Plugin kNormsPlugins[] = {
      {"InstanceNormalization_TRT", "1", Interface::kV2, kInstance, 1, 3, 1, expand_instance, kInstanceWhat},
      {"InstanceNormalization_TRT", "2", Interface::kV2, kInstance, 1, 3, 1, expand_instance, kInstanceWhat},
      {"InstanceNormalization_TRT", "3", Interface::kV3, kInstance, 1, 3, 1, expand_instance, kInstanceWhat},
      {"GroupNormalizationPlugin", "1", Interface::kV2, kGroup, 3, 3, 1, expand_group,
       "group normalization; scale and bias are one per channel"},
      {"GroupNorm", "1", Interface::kV2, kGroupSwish, 3, 3, 1, expand_group_swish,
       "group normalization in 32 groups, which a swish may follow"},
      {"LayerNorm", "1", Interface::kV2, kLayer, 3, 3, 1, expand_layer, "layer normalization from an axis on"},
  };
  return kNormsPlugins;
}

}  // namespace wootz::stock
