// Family pointwise: the engine over the whole output.
#include "backend/operand_dims.h"
#include "backends/cpu/kernel_entry.h"
#include "backends/cpu/pointwise/engine.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

std::vector<PwView> views_of(const Problem& p, std::span<const Dims> dims) {
  std::vector<PwView> views;
  for (size_t i = 0; i < p.inputs.size(); ++i) views.push_back({p.inputs[i].dtype, p.inputs[i].layout, dims[i]});
  return views;
}

Status pointwise_applies(const Problem& p) {
  if (p.epilogue.empty()) return invalid_argument("pointwise: no expression");
  if (p.num_main != 0 || p.epilogue.num_inputs > p.inputs.size())
    return invalid_argument("pointwise: {} operands, the expression has {}", p.inputs.size(), p.epilogue.num_inputs);
  if (p.outputs.size() != p.epilogue.outputs.size())
    return invalid_argument("pointwise: {} outputs, the expression has {}", p.outputs.size(),
                            p.epilogue.outputs.size());
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    if (p.outputs[o].dtype != p.epilogue.output_type(o))
      return invalid_argument("pointwise: output {} is {}, the expression gives {}", o, dtype_name(p.outputs[o].dtype),
                              dtype_name(p.epilogue.output_type(o)));
    if (!(p.outputs[o].dims == p.outputs[0].dims) || p.outputs[o].layout != p.outputs[0].layout)
      return unsupported("pointwise: outputs of unequal shape or layout");
  }
  WOOTZ_ASSIGN_OR_RETURN(auto code, PointwiseCode::compile(p.epilogue, Isa::kAvx2));
  const std::vector<Dims> dims = operand_dims(p.inputs);
  WOOTZ_RETURN_IF_ERROR(check_channels_that_vary(p));
  const PwView out{p.outputs[0].dtype, p.outputs[0].layout, p.outputs[0].dims};
  return BoundPointwise::bind(code, views_of(p, dims), out).status();
}

class PointwiseCall final : public Call {
 public:
  explicit PointwiseCall(BoundPointwise bound) : bound_(std::move(bound)) {}
  Status run(const RunArgs& args) const override {
    parallel_for(bound_.size(), bound_.grain(),
                 [&](int64_t begin, int64_t end) { bound_.run(begin, end, args.inputs, args.outputs); });
    bound_.clear_padding(args.outputs);
    return {};
  }

 private:
  BoundPointwise bound_;
};

class PointwiseKernel final : public Kernel {
 public:
  PointwiseKernel(const Problem& p, std::shared_ptr<const PointwiseCode> code) : problem_(p), code_(std::move(code)) {}

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != problem_.outputs.size())
      return invalid_argument("pointwise: {} inputs and {} outputs to bind", args.inputs.size(), args.outputs.size());
    const PwView out{problem_.outputs[0].dtype, problem_.outputs[0].layout, args.outputs[0]};
    for (const Dims& d : args.outputs)
      if (!(d == args.outputs[0])) return invalid_argument("pointwise: outputs of unequal shape");
    WOOTZ_ASSIGN_OR_RETURN(BoundPointwise bound, BoundPointwise::bind(code_, views_of(problem_, args.inputs), out));
    return std::unique_ptr<Call>(std::make_unique<PointwiseCall>(std::move(bound)));
  }

  // The instruction that stores is the last one, and reads each element before it writes it: an operand of the output's
  // shape, element size and layout may lie in the same memory.
  int in_place(int output) const override {
    if (output != 0 || problem_.outputs.size() != 1) return -1;
    const TensorDesc& out = problem_.outputs[0];
    for (size_t k = 0; k < problem_.inputs.size(); ++k) {
      const TensorDesc& in = problem_.inputs[k];
      if (!in.constant && in.dims == out.dims && in.max_dims == out.max_dims && in.layout == out.layout &&
          dtype_bits(in.dtype) == dtype_bits(out.dtype))
        return static_cast<int>(k);
    }
    return -1;
  }

 private:
  Problem problem_;
  std::shared_ptr<const PointwiseCode> code_;
};

Result<std::unique_ptr<Kernel>> create_pointwise(const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(auto code, PointwiseCode::compile(p.epilogue, options.isa));
  return std::unique_ptr<Kernel>(std::make_unique<PointwiseKernel>(p, std::move(code)));
}

}  // namespace

const KernelEntry pointwise_any_blocks{Family::kPointwise, kSchemeImages, pointwise_applies, create_pointwise};

}  // namespace wootz::cpu
