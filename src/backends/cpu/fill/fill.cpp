// Family fill: a constant. Ranges, identity matrices and random numbers are the reference's.
#include <cmath>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

PointwiseExpr constant_expr(const Problem& p) {
  PointwiseExpr e;
  e.outputs = {e.constant(p.get_float("value", static_cast<double>(p.get_int("value"))), p.outputs[0].dtype)};
  return e;
}

class FillCall final : public Call {
 public:
  explicit FillCall(BoundPointwise bound) : bound_(std::move(bound)) {}
  Status run(const RunArgs& args) const override {
    parallel_for(bound_.size(), 65536,
                 [&](int64_t begin, int64_t end) { bound_.run(begin, end, args.inputs, args.outputs); });
    return {};
  }

 private:
  BoundPointwise bound_;
};

Result<std::unique_ptr<Call>> bind(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  WOOTZ_ASSIGN_OR_RETURN(auto code, PointwiseCode::compile(constant_expr(p), options.isa));
  WOOTZ_ASSIGN_OR_RETURN(BoundPointwise bound,
                         BoundPointwise::bind(code, {}, {p.outputs[0].dtype, Layout::kLinear, args.outputs[0]}));
  return std::unique_ptr<Call>(std::make_unique<FillCall>(std::move(bound)));
}

Status applies(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 0, 1));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, false));
  if (p.get_string("kind") != "constant") return unsupported("fill of kind '{}'", p.get_string("kind"));
  return try_bind(bind, p);
}

}  // namespace

const KernelEntry fill_any_constant{Family::kFill, kSchemeLinear, applies, make_function_kernel<bind>};

}  // namespace wootz::cpu
