// NllLoss and Det: few results of much that is summed or eliminated.
#include <algorithm>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {

// Sums go in f64 and in an order that the extents alone fix: a block for each part, and one block over the parts. A
// target that is no class has no loss: NaN, where the reference refuses.
Status generate_nll(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &x = args.inputs[0], &target = args.inputs[1], &y = args.outputs[0];
  const auto& op = *op_params<NllLossOpParams>(p);
  const bool none = op.reduction == LossReduction::kNone, weighted = has_operand(p, 2);
  if (x.rank() < 2 || target.rank() + 1 != x.rank() || !is_integer(p.inputs[1].dtype) || !is_float(p.inputs[0].dtype) ||
      p.outputs[0].dtype != p.inputs[0].dtype || (weighted && args.inputs[2].volume() != x[1]) ||
      (none ? !(y == target) : y.volume() != 1) || x[0] * volume_of(x, 2, x.size()) != target.volume())
    return invalid_argument("loss of {} with targets {}", x.to_string(), target.to_string());
  const int64_t count = target.volume(), classes = x[1], inner = volume_of(x, 2, x.size());
  if (none && count == 0) return Status();
  const int64_t parts = none ? 1 : std::clamp<int64_t>(count / 2048, 1, 1024);
  const std::string ignored = op.ignore_index ? fmt::format("c == {}ll", *op.ignore_index) : std::string("false");
  const auto element = [&](Writer* w) {
    w->line("  const s64 c = (s64)w_get(x1[e]); double loss = 0, weight = 0;");
    w->line("  if (!({})) {{", ignored);
    w->line("    if (c < 0 || c >= {}) loss = weight = (double)W_NAN;", classes);
    w->line("    else {{ weight = {}; loss = -(double)w_get(x0[(e / {} * {} + c) * {} + e % {}]) * weight; }} }}",
            weighted ? "(double)w_get(x2[c])" : "1", inner, classes, inner, inner);
  };
  const char *st = storage_type(p.outputs[0].dtype), *rt = register_type(p.outputs[0].dtype);
  Writer w;
  Launch launch;
  if (none) {
    WOOTZ_RETURN_IF_ERROR(begin_special(p, count, &w, &launch));
    w.line("  const s64 e = i;");
    element(&w);
    w.line("  y0[e] = Put<{}>::to(({})loss);", st, rt);
    end_special(&w, std::move(launch), launches);
    return Status();
  }
  WOOTZ_ASSIGN_OR_RETURN(SpecialOperands operands, special_operands(p));
  const size_t workspace = static_cast<size_t>(parts) * 2 * sizeof(double);
  w.raw(prelude());
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}, double* __restrict__ sums) {{",
         kSpecialBlock, operands.parameters);
  w.line("  __shared__ double shared[{}]; double total = 0, weights = 0;", kSpecialBlock);
  w.line("  for (s64 e = (s64)blockIdx.x * {0} + threadIdx.x; e < {1}; e += {2}) {{", kSpecialBlock, count,
         parts * kSpecialBlock);
  element(&w);
  w.line("    total += loss; weights += weight; }}");
  w.line(
      "  total = w_group<1, {0}, false>(total, shared, Sum()); weights = w_group<1, {0}, false>(weights, shared, "
      "Sum());",
      kSpecialBlock);
  w.line("  if (threadIdx.x == 0) {{ sums[blockIdx.x * 2] = total; sums[blockIdx.x * 2 + 1] = weights; }}");
  launch.size.block = kSpecialBlock;
  launch.size.grid_x = static_cast<unsigned>(parts);
  launch.pointers = std::move(operands.pointers);
  launch.pointers.push_back(kWorkspacePointer);
  launch.workspace = workspace;
  end_special(&w, std::move(launch), launches);
  Writer last;
  last.raw(prelude());
  last.line(
      "extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}* __restrict__ y, const double* __restrict__ "
      "sums) {{",
      kSpecialBlock, st);
  last.line("  __shared__ double shared[{0}]; double total = 0, weights = 0;", kSpecialBlock);
  last.line("  for (int e = threadIdx.x; e < {}; e += {}) {{ total += sums[e * 2]; weights += sums[e * 2 + 1]; }}",
            parts, kSpecialBlock);
  last.line(
      "  total = w_group<1, {0}, false>(total, shared, Sum()); weights = w_group<1, {0}, false>(weights, shared, "
      "Sum());",
      kSpecialBlock);
  last.line("  if (threadIdx.x == 0) y[0] = Put<{}>::to(({}){});", st, rt,
            op.reduction == LossReduction::kSum ? "total" : "(total / weights)");
  Launch end;
  end.size.block = kSpecialBlock;
  end.size.grid_x = 1;
  end.pointers = {{true, 0}, kWorkspacePointer};
  end.workspace = workspace;
  end_special(&last, std::move(end), launches);
  return Status();
}

// A block a matrix: elimination with row pivots, in f64 as in the reference, in scratch memory.
Status generate_det(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  if (x.rank() < 2 || x.back() != x[x.size() - 2] || !is_float(type) || p.outputs[0].dtype != type ||
      y.volume() != volume_of(x, 0, x.size() - 2))
    return invalid_argument("determinants of {}", x.to_string());
  const int64_t n = x.back(), matrices = y.volume();
  if (matrices == 0) return Status();
  if (matrices >= (int64_t{1} << 31) || n > 4096) return unsupported("{} determinants of {} rows", matrices, n);
  WOOTZ_ASSIGN_OR_RETURN(SpecialOperands operands, special_operands(p));
  Writer w;
  w.raw(prelude());
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}, double* __restrict__ ws) {{",
         kSpecialBlock, operands.parameters);
  w.line(
      "  __shared__ double value; __shared__ int row;\n  const int t = threadIdx.x; const s64 at = (s64)blockIdx.x * "
      "{};",
      n * n);
  w.line("  double* m = ws + at;\n  for (int e = t; e < {}; e += {}) m[e] = (double)w_get(x0[at + e]);", n * n,
         kSpecialBlock);
  w.line("  double det = 1;\n  for (int c = 0; c < {}; ++c) {{\n    __syncthreads();", n);
  w.line(
      "    if (t == 0) {{ int best = c;\n      for (int r = c + 1; r < {0}; ++r) if (fabs(m[(s64)r * {0} + c]) > "
      "fabs(m[(s64)best * {0} + c])) best = r;",
      n);
  w.line("      row = best; value = m[(s64)best * {} + c]; }}\n    __syncthreads();", n);
  w.line(
      "    const double top = value; const int pivot = row;\n    det *= top;\n    if (top == 0) {{ det = 0; break; }}");
  w.line(
      "    if (pivot != c) {{ det = -det;\n      for (int k = c + t; k < {0}; k += {1}) {{ const double v = m[(s64)c * "
      "{0} + k]; m[(s64)c * {0} + k] = m[(s64)pivot * {0} + k]; m[(s64)pivot * {0} + k] = v; }} }}",
      n, kSpecialBlock);
  w.line("    __syncthreads();\n    const int rest = {} - c - 1;", n);
  // The column itself is not written: every thread reads its factor there.
  w.line(
      "    for (s64 e = t; e < (s64)rest * rest; e += {0}) {{ const s64 r = c + 1 + e / rest, k = c + 1 + e % rest; "
      "m[r * {1} + k] -= m[r * {1} + c] / top * m[(s64)c * {1} + k]; }}\n  }}",
      kSpecialBlock, n);
  w.line("  if (t == 0) y0[blockIdx.x] = Put<{}>::to(({})det);", storage_type(type), register_type(type));
  Launch launch;
  launch.size.block = kSpecialBlock;
  launch.size.grid_x = static_cast<unsigned>(matrices);
  launch.pointers = std::move(operands.pointers);
  launch.pointers.push_back(kWorkspacePointer);
  launch.workspace = std::max<size_t>(8, static_cast<size_t>(x.volume()) * sizeof(double));
  end_special(&w, std::move(launch), launches);
  return Status();
}

}  // namespace wootz::cuda
