// ScatterND and ScatterElements. In ONNX models these are operators; programs ask the registry for them.
#include "stock/tables.h"

namespace wootz::stock {
namespace {

Status expand_scatter_nd(Layer& l) {
  for (size_t i = 0; i < 3; ++i) WOOTZ_RETURN_IF_ERROR(l.need(i, {}, false));
  l.out(0,
        l.b.op("ScatterND", {l.in(0), l.b.cast(l.in(1), DType::kI64), l.in(2)}, {{"reduction", std::string("none")}}));
  return l.b.status();
}

Status expand_scatter_elements(Layer& l) {
  for (size_t i = 0; i < 3; ++i) WOOTZ_RETURN_IF_ERROR(l.need(i, {}, false));
  l.out(0, l.b.op("ScatterElements", {l.in(0), l.in(1), l.in(2)},
                  {{"axis", l.integer("axis")}, {"reduction", l.text("reduction")}}));
  return l.b.status();
}

using enum FieldType;
constexpr Field kElements[] = {{"reduction", kText, nullptr}, {"axis", kInt, "0"}};
constexpr const char* kElementsWhat = "elements are put, added, multiplied or compared in along an axis";

}  // namespace

std::span<const Plugin> scatter_plugins() {
  static constexpr Plugin kScatterPlugins[] = {
      {"ScatterND", "1", Interface::kV2, {}, 3, 3, 1, expand_scatter_nd, "slices are put where the indices say"},
      {"ScatterElements", "1", Interface::kV2, kElements, 3, 3, 1, expand_scatter_elements, kElementsWhat},
      {"ScatterElements", "2", Interface::kV3, kElements, 3, 3, 1, expand_scatter_elements, kElementsWhat},
  };
  return kScatterPlugins;
}

}  // namespace wootz::stock
