#include "backends/cpu/onednn/rest.h"

#include <array>

#include "base/thread_pool.h"

namespace wootz::cpu::dnn {

Result<Rest> Rest::make(const Problem& p, const DenseTraits& traits, const PointwiseExpr& expr,
                        const Extents& extents) {
  if (traits.operands.size() > PointwiseCode::kMaxOperands)
    return unsupported("oneDNN: an epilogue of {} operands", traits.operands.size());
  WOOTZ_ASSIGN_OR_RETURN(auto code, PointwiseCode::compile(expr, usable_isa()));
  const Layout layout = p.outputs[0].layout;
  std::vector<PwView> views{{DType::kF32, layout, extents.output}};
  for (size_t k = 1; k < traits.operands.size(); ++k) {
    const auto input = static_cast<size_t>(traits.operands[k]);
    views.push_back({p.inputs[input].dtype, p.inputs[input].layout, extents.inputs[input]});
  }
  WOOTZ_ASSIGN_OR_RETURN(BoundPointwise bound,
                         BoundPointwise::bind(code, views, {p.outputs[0].dtype, layout, extents.output}));
  return Rest(std::move(bound), traits.operands);
}

void Rest::run(const void* const* inputs, const void* result, void* output) const {
  std::array<const void*, PointwiseCode::kMaxOperands> operands{};
  operands[0] = result;
  for (size_t k = 1; k < operands_.size(); ++k) operands[k] = inputs[operands_[k]];
  void* outputs[] = {output};
  parallel_for(bound_.size(), bound_.grain(),
               [&](int64_t begin, int64_t end) { bound_.run(begin, end, operands.data(), outputs); });
  bound_.clear_padding(outputs);
}

}  // namespace wootz::cpu::dnn
