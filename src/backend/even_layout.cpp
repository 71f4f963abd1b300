#include "backend/even_layout.h"

namespace wootz {

Layout even_layout(const Program& program, const PlanTensor& tensor, Layout layout) {
  if (!at_border_only(layout) || tensor.dims.size() < 3) return layout;
  const ShapeExpr& channels = program.exprs[tensor.dims[1]];
  if (channels.op != ShapeOp::kConst || channels.value % channel_multiple(layout) != 0) return layout;
  if (layout == Layout::kChannelsLast8 || layout == Layout::kChannelsLast16) return Layout::kChannelsLast;
  return layout == Layout::kBlocked16Border ? Layout::kBlocked16 : layout;
}

}  // namespace wootz
