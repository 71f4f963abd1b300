// DFT and STFT by their definition: one thread a result, n products each. Twiddle factors are computed once, in f64,
// and looked up; sums go in f32, of f64 in f64.
#include <algorithm>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

constexpr double kMostProducts = 2e12;  // beyond, the host's fast transform is better

// cos and sin of 2 pi k / n for all k < n, at the beginning of the scratch memory.
void add_roots(int64_t n, const char* acc, size_t workspace, std::vector<Launch>* launches) {
  Writer w;
  w.raw(prelude());
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}* __restrict__ roots) {{", kSpecialBlock,
         acc);
  w.line("  const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;", kSpecialBlock, n);
  w.line("  const double angle = 6.283185307179586 * (double)i / {}.0;", n);
  w.line("  const double real = w_cos(angle), imaginary = w_sin(angle);");
  w.line("  roots[i * 2] = ({0})real; roots[i * 2 + 1] = ({0})imaginary;", acc);
  Launch launch;
  launch.size.block = kSpecialBlock;
  launch.size.grid_x = blocks_for(n, kSpecialBlock);
  launch.pointers = {kWorkspacePointer};
  launch.workspace = workspace;
  end_special(&w, std::move(launch), launches);
}

struct Transform {
  int64_t length = 0, results = 0;  // n, and how many numbers (of one or two parts) there are
  std::string parameters;           // behind y0
  std::vector<Pointer> pointers;
};

// Opens the kernel of one thread a result; `A` is what sums are in, "roots" the table.
Status begin_transform(const Problem& p, const Transform& t, Writer* w, Launch* launch, std::vector<Launch>* launches) {
  if (t.length < 1 || t.length >= int64_t{1} << 28) return unsupported("transforms of length {}", t.length);
  if (static_cast<double>(t.results) * static_cast<double>(t.length) > kMostProducts)
    return unsupported("{} sums of {}", t.results, t.length);
  WOOTZ_RETURN_IF_ERROR(check_count(t.results));
  const bool wide = p.outputs[0].dtype == DType::kF64;
  const char* acc = wide ? "double" : "float";
  const size_t workspace = static_cast<size_t>(t.length) * (wide ? 16 : 8);
  add_roots(t.length, acc, workspace, launches);
  w->raw(prelude());
  w->line(
      "extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}* __restrict__ y0, const {}* __restrict__ "
      "roots{}) {{",
      kSpecialBlock, storage_type(p.outputs[0].dtype), acc, t.parameters);
  w->line(
      "  typedef {} A; const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;\n  A re = 0, im = 0; "
      "int at = 0;",
      acc, kSpecialBlock, t.results);
  launch->size.block = kSpecialBlock;
  launch->size.grid_x = blocks_for(t.results, kSpecialBlock);
  launch->pointers = {{true, 0}, kWorkspacePointer};
  launch->pointers.insert(launch->pointers.end(), t.pointers.begin(), t.pointers.end());
  launch->workspace = workspace;
  return Status();
}

std::string parameter(const Problem& p, size_t input) {
  return fmt::format(", const {}* __restrict__ x{}", storage_type(p.inputs[input].dtype), input);
}

}  // namespace

Status generate_dft(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  const auto& op = *op_params<DftOpParams>(p);
  const bool inverse = op.inverse, real_result = inverse && op.onesided;
  int64_t axis = op.axis;
  if (axis < 0) axis += x.rank();
  const auto mismatch = [&] { return invalid_argument("DFT of {} gives {}", x.to_string(), y.to_string()); };
  if (x.rank() < 2 || x.rank() != y.rank() || axis < 0 || axis + 1 >= x.rank() || !is_float(type) ||
      p.outputs[0].dtype != type || x.back() < 1 || x.back() > 2 || y.back() != (real_result ? 1 : 2))
    return mismatch();
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  const auto a = static_cast<size_t>(axis);
  const int64_t in = x[a], out = y[a], inner = volume_of(x, a + 1, x.size() - 1), parts = x.back();
  int64_t n = real_result ? 2 * (in - 1) : in;
  if (has_operand(p, 1)) {
    const Ints* const given = known_operand(p, 1);
    if (given == nullptr || given->size() != 1) return unsupported("a length that only running tells");
    n = (*given)[0];
  }
  if (n < 1 || out > n) return mismatch();
  for (size_t d = 0; d + 1 < x.size(); ++d)
    if (d != a && x[d] != y[d]) return mismatch();
  if (y.volume() == 0) return Status();
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(
      begin_transform(p, {n, y.volume() / y.back(), parameter(p, 0), {{false, 0}}}, &w, &launch, launches));
  w.line("  const s64 c = i % {0}, k = i / {0} % {1}, o = i / {2};", inner, out, inner * out);
  const int64_t taken = std::min(in, real_result ? n / 2 + 1 : n);
  w.line("  for (int e = 0; e < {}; ++e) {{", taken);
  w.line("    const s64 from = ((o * {} + e) * {} + c) * {};", in, inner, parts);
  w.line("    {} A a = (A)w_get(x0[from]), b = {};", real_result ? "" : "const",
         parts == 2 ? "(A)w_get(x0[from + 1])" : "0");
  w.line("    const A r = roots[at * 2], s = {}roots[at * 2 + 1];", inverse ? "" : "-");
  // The other side is the conjugate: each number but the first and the middle one counts twice.
  if (real_result)
    w.line("    if (e == 0{}) b = 0; else {{ a *= 2; b *= 2; }}", n % 2 == 0 ? fmt::format(" || e == {}", n / 2) : "");
  w.line("    re += a * r - b * s;{}", real_result ? "" : " im += a * s + b * r;");
  w.line("    at += (int)k; if (at >= {0}) at -= {0};\n  }}", n);
  const std::string scale = inverse ? fmt::format(" / (A){}", n) : "";
  const char *st = storage_type(type), *rt = register_type(type);
  w.line("  y0[i * {}] = Put<{}>::to(({})(re{}));", y.back(), st, rt, scale);
  if (!real_result) w.line("  y0[i * 2 + 1] = Put<{}>::to(({})(im{}));", st, rt, scale);
  end_special(&w, std::move(launch), launches);
  return Status();
}

Status generate_stft(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  const auto known = [&](size_t input) {
    const Ints* const values = known_operand(p, input);
    return values == nullptr ? Ints() : *values;
  };
  const Ints step = known(1), given = known(3);
  if (step.size() != 1 || (has_operand(p, 3) && given.size() != 1))
    return unsupported("frames that only running tells");
  const auto mismatch = [&] { return invalid_argument("STFT of {} gives {}", x.to_string(), y.to_string()); };
  if ((x.rank() != 2 && x.rank() != 3) || y.rank() != 4 || y[0] != x[0] || y[3] != 2 || !is_float(type) ||
      p.outputs[0].dtype != type)
    return mismatch();
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  const bool windowed = has_operand(p, 2);
  if (windowed && !is_float(p.inputs[2].dtype)) return mismatch();
  const int64_t parts = x.rank() == 3 ? x[2] : 1, n = has_operand(p, 3) ? given[0]
                                                      : windowed        ? args.inputs[2].volume()
                                                                        : x[1];
  if (parts < 1 || parts > 2 || step[0] < 1 || n < 1 || y[2] > n || (windowed && args.inputs[2].volume() != n) ||
      (y[1] > 0 && (y[1] - 1) * step[0] + n > x[1]))
    return mismatch();
  if (y.volume() == 0) return Status();
  Transform transform{n, y.volume() / 2, parameter(p, 0), {{false, 0}}};
  if (windowed) {
    WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[2].dtype));
    transform.parameters += parameter(p, 2);
    transform.pointers.push_back({false, 2});
  }
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_transform(p, transform, &w, &launch, launches));
  w.line("  const s64 k = i % {0}, f = i / {0} % {1}, o = i / {2};", y[2], y[1], y[1] * y[2]);
  w.line("  for (int e = 0; e < {}; ++e) {{\n    const s64 from = (o * {} + f * {} + e) * {};", n, x[1], step[0],
         parts);
  w.line("    const A v = {}, a = (A)w_get(x0[from]) * v;", windowed ? "(A)w_get(x2[e])" : "1");
  if (parts == 2) w.line("    const A b = (A)w_get(x0[from + 1]) * v;");
  w.line("    const A r = roots[at * 2], s = -roots[at * 2 + 1];");
  w.line("    re += a * r{}; im += a * s{};", parts == 2 ? " - b * s" : "", parts == 2 ? " + b * r" : "");
  w.line("    at += (int)k; if (at >= {0}) at -= {0};\n  }}", n);
  const char *st = storage_type(type), *rt = register_type(type);
  w.line("  y0[i * 2] = Put<{0}>::to(({1})re); y0[i * 2 + 1] = Put<{0}>::to(({1})im);", st, rt);
  end_special(&w, std::move(launch), launches);
  return Status();
}

}  // namespace wootz::cuda
