#include "backends/cpu/onednn/pool.h"

#include "backends/cpu/onednn/primitive_call.h"
#include "backends/cpu/onednn/rest.h"

namespace wootz::cpu::dnn {
namespace {

constexpr int64_t kMaxParam = int64_t{1} << 30;

struct PoolWindows {
  size_t spatial = 0;
  bool max = false, include_pad = false, global = false, ceil = false;
  std::vector<int64_t> kernel, strides, dilations, pads;
};

Status check_tensor(const TensorDesc& t, const char* what) {
  if (!data_type(t.dtype) || t.layout > Layout::kBlocked16 || t.dims.rank() != t.max_dims.rank())
    return unsupported("oneDNN: pooling {} {} {} in layout {}", what, dtype_name(t.dtype), t.dims.to_string(),
                       layout_name(t.layout));
  for (const Dims& dims : {t.dims, t.max_dims}) {
    WOOTZ_RETURN_IF_ERROR(checked_volume(dims.span()).status());
    for (const int64_t d : dims)
      if (d > INT32_MAX) return unsupported("oneDNN: pooling {} of shape {}", what, dims.to_string());
  }
  return Status();
}

Result<PoolWindows> read_params(const Problem& p) {
  if (p.num_main != 1 || p.inputs.empty() || p.outputs.size() != 1)
    return unsupported("oneDNN: pooling with {} main inputs and {} outputs (indices are not offered)", p.num_main,
                       p.outputs.size());
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  WOOTZ_RETURN_IF_ERROR(check_tensor(x, "input"));
  WOOTZ_RETURN_IF_ERROR(check_tensor({DType::kF32, y.layout, y.dims, y.max_dims}, "output"));
  for (const TensorDesc& t : p.inputs)
    for (const Dims& dims : {t.dims, t.max_dims}) WOOTZ_RETURN_IF_ERROR(checked_volume(dims.span()).status());
  const int rank = x.dims.rank();
  if (rank < 3 || rank > 5 || y.dims.rank() != rank)
    return unsupported("oneDNN: pooling {} to {}", x.dims.to_string(), y.dims.to_string());
  PoolWindows q;
  q.spatial = static_cast<size_t>(rank - 2);
  const PoolKind kind = p.as<PoolParams>().kind;
  q.max = kind == PoolKind::kMax;
  if (!q.max && kind != PoolKind::kAvg) return unsupported("oneDNN: pooling of kind '{}'", name_of(kind));
  q.include_pad = p.as<PoolParams>().count_include_pad;
  q.global = p.as<PoolParams>().global;
  q.ceil = p.as<PoolParams>().ceil;
  q.kernel = p.as<PoolParams>().kernel;
  q.strides = p.as<PoolParams>().strides;
  q.dilations = p.as<PoolParams>().dilations;
  q.pads = p.as<PoolParams>().pads;
  if (q.global) q.strides.clear(), q.dilations.clear(), q.pads.clear(), q.kernel.assign(q.spatial, 1);
  if (q.strides.empty()) q.strides.assign(q.spatial, 1);
  if (q.dilations.empty()) q.dilations.assign(q.spatial, 1);
  if (q.pads.empty()) q.pads.assign(2 * q.spatial, 0);
  if (q.kernel.size() != q.spatial || q.strides.size() != q.spatial || q.dilations.size() != q.spatial ||
      q.pads.size() != 2 * q.spatial)
    return invalid_argument("pool: {} kernel extents, {} strides, {} dilations, {} pads for {} spatial dimensions",
                            q.kernel.size(), q.strides.size(), q.dilations.size(), q.pads.size(), q.spatial);
  for (const auto* list : {&q.kernel, &q.strides, &q.dilations})
    for (const int64_t v : *list)
      if (v < 1 || v > kMaxParam) return invalid_argument("pool: {} among kernel, strides or dilations", v);
  for (const int64_t v : q.pads)
    if (v < 0 || v > kMaxParam) return unsupported("oneDNN: pooling with padding {}", v);
  const bool narrow = x.dtype == DType::kU8 || x.dtype == DType::kI8;
  if (narrow && (!q.max || !p.epilogue.empty() || p.acc_dtype != x.dtype))
    return unsupported("oneDNN: pooling of {}: only a plain maximum", dtype_name(x.dtype));
  if (!narrow && !is_float(x.dtype)) return unsupported("oneDNN: pooling of {}", dtype_name(x.dtype));
  if (p.epilogue.empty()) {
    if (y.dtype != x.dtype) return unsupported("oneDNN: pooling {} to {}", dtype_name(x.dtype), dtype_name(y.dtype));
    return q;
  }
  // The epilogue is the engine's, over an f32 result.
  WOOTZ_RETURN_IF_ERROR(p.epilogue.verify().with_prefix("pool"));
  if (x.dtype != DType::kF32 || p.acc_dtype != DType::kF32)
    return unsupported("oneDNN: pooling of {} with an epilogue", dtype_name(x.dtype));
  if (p.epilogue.outputs.size() != 1 || p.epilogue.output_type() != y.dtype || p.epilogue.num_inputs > p.inputs.size())
    return invalid_argument("pool: the epilogue does not fit its {} operands and output {}", p.inputs.size() - 1,
                            dtype_name(y.dtype));
  if (p.epilogue.input_type(0) != DType::kInvalid && p.epilogue.input_type(0) != DType::kF32)
    return invalid_argument("pool: the epilogue reads the result as {}", dtype_name(p.epilogue.input_type(0)));
  return q;
}

struct PoolPlan {
  DensePlan plan;
  DenseTraits traits;  // the epilogue's operands
  bool empty = false;
};

Result<PoolPlan> plan_pool(const Problem& p, const Extents& e, bool allow_reference) {
  WOOTZ_ASSIGN_OR_RETURN(const PoolWindows q, read_params(p));
  const Dims &x = e.inputs[0], &y = e.output;
  if (x.rank() != p.inputs[0].dims.rank() || y.rank() != x.rank() || x[0] != y[0] || x[1] != y[1])
    return invalid_argument("pool: {} to {}", x.to_string(), y.to_string());
  PoolPlan made;
  memory::dims kernel, strides, dilates, begin, end;
  for (size_t i = 0; i < q.spatial; ++i) {
    const int64_t extent = x[i + 2], k = q.global ? extent : q.kernel[i], d = q.dilations[i], s = q.strides[i];
    const int64_t before = q.pads[i], after = q.pads[q.spatial + i], span = (k - 1) * d + 1, out = y[i + 2];
    const int64_t room = extent + before + after - span;
    const int64_t down = room < 0 ? 0 : room / s + 1, up = room < 0 ? 0 : (room + s - 1) / s + 1;
    if (out != down && !(q.ceil && out == up))
      return invalid_argument("pool: {} to {} does not follow from kernel {}, stride {}, padding {} and {}",
                              x.to_string(), y.to_string(), k, s, before, after);
    const int64_t far = (out - 1) * s + span - extent - before;
    // Windows of nothing but padding have no meaning, and beyond the stated padding oneDNN counts more than the model.
    if (out > 0 && extent > 0) {
      if (before >= span || (out - 1) * s - before >= extent)
        return unsupported("oneDNN: pooling windows that lie in the padding");
      if (q.include_pad && !q.max && far > after) return unsupported("oneDNN: average over windows beyond the padding");
    }
    if (far > INT32_MAX) return unsupported("oneDNN: pooling with padding {}", far);
    kernel.push_back(k), strides.push_back(s), dilates.push_back(d - 1), begin.push_back(before), end.push_back(far);
  }
  WOOTZ_RETURN_IF_ERROR(compose_epilogue(p, 1, -1, &made.traits));
  made.empty = y.volume() == 0;
  if (made.empty) return made;
  if (x.volume() == 0) return unsupported("oneDNN: pooling of an empty {}", x.to_string());
  WOOTZ_ASSIGN_OR_RETURN(const dnnl::engine* eng, engine());
  return guarded("describing pooling", [&]() -> Result<PoolPlan> {
    const auto algorithm = q.max           ? dnnl::algorithm::pooling_max
                           : q.include_pad ? dnnl::algorithm::pooling_avg_include_padding
                                           : dnnl::algorithm::pooling_avg_exclude_padding;
    const auto type = *data_type(p.inputs[0].dtype);
    const memory::desc src = layout_desc(p.inputs[0].layout, memory::dims(x.begin(), x.end()), type);
    const memory::desc dst = layout_desc(p.outputs[0].layout, memory::dims(y.begin(), y.end()), type);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    DensePlan& plan = made.plan;
    plan.primitive = dnnl::pooling_forward::primitive_desc(*eng, dnnl::prop_kind::forward_inference, algorithm, src,
                                                           dst, strides, kernel, dilates, begin, end, attr, true);
    if (!plan.primitive.get(true)) return unsupported("oneDNN has no such pooling");
    plan.implementation = plan.primitive.impl_info_str();
    if (is_reference(plan.implementation) && !allow_reference)
      return unsupported("oneDNN: only its reference implementation '{}' fits", plan.implementation);
    plan.rest = made.traits.epilogue;
    plan.to_intermediate = !plan.rest.empty() && p.outputs[0].dtype != DType::kF32;
    const auto add = [&](int arg, ArgSource::From from, const memory::desc& desc) {
      plan.args.push_back({arg, from, 0, 0, desc, nullptr});
    };
    add(DNNL_ARG_SRC, ArgSource::From::kInput, src);
    add(DNNL_ARG_DST, plan.to_intermediate ? ArgSource::From::kIntermediate : ArgSource::From::kOutput, dst);
    return made;
  });
}

class PoolKernel final : public Kernel {
 public:
  explicit PoolKernel(Problem problem) : problem_(std::move(problem)) {}

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != 1)
      return invalid_argument("oneDNN: pooling bound with {} inputs and {} outputs", args.inputs.size(),
                              args.outputs.size());
    Extents e;
    e.inputs.assign(args.inputs.begin(), args.inputs.end());
    e.output = args.outputs[0];
    for (const Dims* dims : {&e.inputs[0], &e.output})
      WOOTZ_RETURN_IF_ERROR(check_tensor({DType::kF32, Layout::kLinear, *dims, *dims}, "bound to extents"));
    WOOTZ_ASSIGN_OR_RETURN(PoolPlan made, plan_pool(problem_, e, true));
    if (made.empty) return make_empty_call();
    return make_primitive_call(problem_, made.traits, std::move(made.plan), e);
  }

 private:
  Problem problem_;
};

}  // namespace

Result<Candidate> offer_pool(const Problem& p, const Limits& limits) {
  const Extents opt = extents_of(p, false), max = extents_of(p, true);
  WOOTZ_RETURN_IF_ERROR(plan_pool(p, opt, false).status());
  WOOTZ_ASSIGN_OR_RETURN(const PoolPlan large, plan_pool(p, max, true));
  Candidate c;
  if (!large.empty) {
    if (!large.plan.rest.empty()) WOOTZ_RETURN_IF_ERROR(Rest::make(p, large.traits, large.plan.rest, max).status());
    c.workspace = large.plan.primitive.query_md(dnnl::query::scratchpad_md).get_size() + 64;
    if (large.plan.to_intermediate) c.workspace += layout_bytes(p.outputs[0].layout, DType::kF32, max.output) + 64;
  }
  // Bound by memory; row-major layouts are transposed inside.
  double bytes = 0;
  for (const TensorDesc& t : p.inputs) bytes += static_cast<double>(dtype_bytes(t.dtype, t.dims.volume()));
  bytes += static_cast<double>(dtype_bytes(p.outputs[0].dtype, p.outputs[0].dims.volume()));
  c.estimate_us = 2 + bytes * (p.inputs[0].layout == Layout::kLinear ? 3 : 1) / (10e3 * std::max(limits.threads, 1));
  return c;
}

Result<std::unique_ptr<Kernel>> create_pool(const Problem& problem, const std::string& config) {
  if (!config.empty()) return invalid_argument("oneDNN: unknown configuration '{}'", config);
  WOOTZ_RETURN_IF_ERROR(plan_pool(problem, extents_of(problem, false), false).status());
  return std::unique_ptr<Kernel>(std::make_unique<PoolKernel>(problem));
}

std::vector<std::pair<Layout, Layout>> pool_layouts(const Problem&) {
  const Layout block = effective_isa() == Isa::kAvx512 ? Layout::kBlocked16 : Layout::kBlocked8;
  return {{Layout::kChannelsLast, Layout::kChannelsLast}, {block, block}, {Layout::kLinear, Layout::kLinear}};
}

}  // namespace wootz::cpu::dnn
