// Family gemm, one thread a result: for what no library takes, and for integers.
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/window.h"

namespace wootz::cuda {
namespace {

struct Matrices {
  int64_t m = 0, k = 0, n = 0;
};

Result<Matrices> check_matrices(const Problem& p, const BindArgs& args) {
  const bool bias = p.as<GemmParams>().has_bias;
  if (p.num_main != (bias ? 3 : 2) || p.inputs.size() < static_cast<size_t>(p.num_main) || p.outputs.size() != 1)
    return invalid_argument("product of {} operands", p.num_main);
  const Dims &a = args.inputs[0], &b = args.inputs[1], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  if (p.inputs[1].dtype != type || !p.as<GemmParams>().x_scale.empty())
    return unsupported("product of {} and {}", dtype_name(type), dtype_name(p.inputs[1].dtype));
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, type));
  for (const TensorDesc& t : p.inputs)
    if (t.layout != Layout::kLinear) return unsupported("product in layout {}", layout_name(t.layout));
  if (p.outputs[0].layout != Layout::kLinear || a.rank() < 2 || b.rank() < 2 || y.rank() < 2)
    return unsupported("product of {} and {}", a.to_string(), b.to_string());
  const bool ta = p.as<GemmParams>().trans_a, tb = p.as<GemmParams>().trans_b;
  const auto last = [](const Dims& d, int from_end) { return d[d.size() - static_cast<size_t>(from_end)]; };
  const int64_t m = last(a, ta ? 1 : 2), k = last(a, ta ? 2 : 1), n = last(b, tb ? 2 : 1);
  if (last(b, tb ? 1 : 2) != k || last(y, 2) != m || last(y, 1) != n)
    return invalid_argument("product of {} and {} gives {}", a.to_string(), b.to_string(), y.to_string());
  if (p.as<GemmParams>().alpha != 1 && !is_float(type))
    return unsupported("an integer product times {}", p.as<GemmParams>().alpha);
  if (bias) WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[2].dtype));
  return Matrices{m, k, n};
}

// Where the row, the column and the bias of a result are.
Status add_operands(const Problem& p, const BindArgs& args, const Matrices& size, KernelSource* source) {
  const Dims& y = args.outputs[0];
  const bool ta = p.as<GemmParams>().trans_a, tb = p.as<GemmParams>().trans_b, bias = p.as<GemmParams>().has_bias;
  // Batch axes broadcast: strides of a, b and c over y.
  WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> as, batch_strides(args.inputs[0], y));
  WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> bs, batch_strides(args.inputs[1], y));
  as[y.size() - 2] = ta ? 1 : size.k;
  bs[y.size() - 1] = tb ? size.k : 1;
  source->number("depth", size.k);
  source->number("a_step", ta ? size.m : 1);
  source->number("b_step", tb ? 1 : size.n);
  std::vector<std::string> names{"a", "b"};
  std::vector<std::vector<int64_t>> strides{std::move(as), std::move(bs)};
  if (bias) {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> cs, strides_over(Layout::kLinear, args.inputs[2], y));
    names.emplace_back("bias");
    strides.push_back(std::move(cs));
  }
  return add_places(p, args, std::move(names), std::move(strides), source);
}

}  // namespace

Status generate_gemm(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Matrices size, check_matrices(p, args));
  if (args.outputs[0].volume() == 0) return Status();
  const DType type = p.inputs[0].dtype;
  const bool bias = p.as<GemmParams>().has_bias;
  KernelSource source("gemm/direct.cuh", transient(p, args));
  source.type("A", type == DType::kF64 ? "double" : is_float(type) ? "float" : "u64");
  source.type("R", register_type(type));
  source.type("X", storage_type(type));
  source.fixed_real("kAlpha", p.as<GemmParams>().alpha);
  source.operand(fmt::format("{}* __restrict__", storage_type(p.outputs[0].dtype)), "y", {true, 0});
  source.operand("const X*", "a", {false, 0});
  source.operand("const X*", "b", {false, 1});
  source.epilogue_operands(p);
  if (bias) source.operand(fmt::format("const {}*", storage_type(p.inputs[2].dtype)), "bias", {false, 2});
  WOOTZ_RETURN_IF_ERROR(add_operands(p, args, size, &source));
  source.code(fmt::format("W_FN A plus_bias(const Operands& p, A s, const Place& at) {{ return s{}; }}\n",
                          bias ? " + (A)w_get(p.bias[at.bias])" : ""));
  WOOTZ_RETURN_IF_ERROR(source.epilogue(p, type, "const Place& at", place_offsets(p)));
  return source.finish(kBlock, blocks_for(args.outputs[0].volume(), kBlock), launches);
}

}  // namespace wootz::cuda
