#include "backends/cpu/reduce/reduce.h"

#include "backend/operand_dims.h"
#include "backends/cpu/physical.h"

namespace wootz::cpu {

Result<ReduceNest> reduce_nest(const Problem& p, const Dims& in, const Dims& out) {
  const int rank = in.rank();
  const Layout layout = p.inputs[0].layout;
  const Dims dims = physical_dims(layout, in);
  std::array<bool, limits::kMaxRank> reduced{};
  for (int64_t axis : p.as<ReduceParams>().axes) {
    if (axis < 0 || axis >= rank) return invalid_argument("reduce: axis {} of {}", axis, in.to_string());
    bool& mark = reduced[static_cast<size_t>(physical_axis(layout, rank, static_cast<int>(axis)))];
    if (mark) return invalid_argument("reduce: axis {} twice", axis);
    mark = true;
  }
  ReduceNest nest;
  const Dims strides = dims.strides();
  bool last_reduced = false, any = false;
  for (int d = 0; d < rank; ++d) {
    const auto i = static_cast<size_t>(d);
    (reduced[i] ? nest.count : nest.outputs) *= dims[i];
    if (dims[i] == 1) continue;
    auto& list = reduced[i] ? nest.reduced : nest.kept;
    int& n = reduced[i] ? nest.num_reduced : nest.num_kept;
    if (any && last_reduced == reduced[i]) {
      ReduceNest::Axis& a = list[static_cast<size_t>(n - 1)];
      a = {a.extent * dims[i], strides[i]};
    } else {
      list[static_cast<size_t>(n++)] = {dims[i], strides[i]};
    }
    last_reduced = reduced[i];
    any = true;
  }
  nest.inner_reduced = last_reduced || !any;
  if (out.volume() != nest.outputs)
    return invalid_argument("reduce of {} gives {} elements, the output is {}", in.to_string(), nest.outputs,
                            out.to_string());
  return nest;
}

Status check_reduce(const Problem& p, DType tile) {
  if (p.num_main != 1 || p.inputs.empty() || p.outputs.size() != 1)
    return invalid_argument("reduce: {} inputs, {} outputs", p.num_main, p.outputs.size());
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  if (!is_plain(x.layout) || !is_plain(y.layout) || x.layout != y.layout)
    return unsupported("reduce from layout {} to {}", layout_name(x.layout), layout_name(y.layout));
  if (x.layout != Layout::kLinear && x.dims.rank() != y.dims.rank()) return unsupported("reduce that drops image axes");
  WOOTZ_RETURN_IF_ERROR(reduce_nest(p, x.dims, y.dims).status());
  WOOTZ_ASSIGN_OR_RETURN(const Epilogue e, Epilogue::make(p, tile, Isa::kAvx2));
  const std::vector<Dims> in = operand_dims(p.inputs);
  return e.bind(p, {in, std::span(&y.dims, 1), {}}).status();
}

}  // namespace wootz::cpu
