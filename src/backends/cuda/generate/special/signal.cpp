// DFT and STFT by their definition: one thread a result, n products each. Twiddle factors are computed once, in f64,
// and looked up; sums go in f32, of f64 in f64.
#include <algorithm>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

constexpr double kMostProducts = 2e12;  // beyond, the host's fast transform is better

bool wide(const Problem& p) { return p.outputs[0].dtype == DType::kF64; }
// Of the table of cos and sin of 2 pi k / n for all k < n.
size_t table_bytes(const Problem& p, int64_t n) { return static_cast<size_t>(n) * (wide(p) ? 16 : 8); }

Status add_roots(const Problem& p, int64_t n, bool arguments, std::vector<Launch>* launches) {
  KernelSource source("special/roots.cuh", arguments);
  source.type("A", wide(p) ? "double" : "float");
  source.fixed("kThreads", kSpecialBlock);
  source.operand("A* __restrict__", "roots", kWorkspacePointer);
  source.number("count", n);
  return finish_each(n, &source, launches, table_bytes(p, n));
}

// The kernel of one thread a result, behind the launch that makes the table. `results`: numbers of one or two parts.
Result<KernelSource> begin_transform(std::string_view file, const Problem& p, const BindArgs& args, int64_t length,
                                     int64_t results, std::vector<Launch>* launches) {
  if (length < 1 || length >= int64_t{1} << 28) return unsupported("transforms of length {}", length);
  if (static_cast<double>(results) * static_cast<double>(length) > kMostProducts)
    return unsupported("{} sums of {}", results, length);
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each(file, p, args, results));
  WOOTZ_RETURN_IF_ERROR(add_roots(p, length, transient(p, args), launches));
  source.type("A", wide(p) ? "double" : "float");
  source.operand("const A*", "roots", kWorkspacePointer);
  source.number("n", length);
  return source;
}

// How a DFT walks its operands.
struct Dft {
  size_t axis = 0;
  int64_t n = 0;  // length
  bool inverse = false, real = false;
};

Result<Dft> read_dft(const Problem& p, const BindArgs& args) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  const auto& op = *op_params<DftOpParams>(p);
  Dft dft{0, 0, op.inverse, op.inverse && op.onesided};
  int64_t axis = op.axis;
  if (axis < 0) axis += x.rank();
  const auto mismatch = [&] { return invalid_argument("DFT of {} gives {}", x.to_string(), y.to_string()); };
  if (x.rank() < 2 || x.rank() != y.rank() || axis < 0 || axis + 1 >= x.rank() || !is_float(type) ||
      p.outputs[0].dtype != type || x.back() < 1 || x.back() > 2 || y.back() != (dft.real ? 1 : 2))
    return mismatch();
  dft.axis = static_cast<size_t>(axis);
  dft.n = dft.real ? 2 * (x[dft.axis] - 1) : x[dft.axis];
  if (has_operand(p, 1)) {
    const Ints* const given = known_operand(p, 1);
    if (given == nullptr || given->size() != 1) return unsupported("a length that only running tells");
    dft.n = (*given)[0];
  }
  if (dft.n < 1 || y[dft.axis] > dft.n) return mismatch();
  for (size_t d = 0; d + 1 < x.size(); ++d)
    if (d != dft.axis && x[d] != y[d]) return mismatch();
  return dft;
}

struct Stft {
  int64_t n = 0, step = 0, parts = 1;
};

Result<Stft> read_stft(const Problem& p, const BindArgs& args) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const auto known = [&](size_t input) {
    const Ints* const values = known_operand(p, input);
    return values == nullptr ? Ints() : *values;
  };
  const Ints step = known(1), given = known(3);
  if (step.size() != 1 || (has_operand(p, 3) && given.size() != 1))
    return unsupported("frames that only running tells");
  const auto mismatch = [&] { return invalid_argument("STFT of {} gives {}", x.to_string(), y.to_string()); };
  if ((x.rank() != 2 && x.rank() != 3) || y.rank() != 4 || y[0] != x[0] || y[3] != 2 || !is_float(p.inputs[0].dtype) ||
      p.outputs[0].dtype != p.inputs[0].dtype)
    return mismatch();
  const bool windowed = has_operand(p, 2);
  if (windowed && !is_float(p.inputs[2].dtype)) return mismatch();
  const int64_t n = has_operand(p, 3) ? given[0] : windowed ? args.inputs[2].volume() : x[1];
  const Stft stft{n, step[0], x.rank() == 3 ? x[2] : 1};
  if (stft.parts < 1 || stft.parts > 2 || stft.step < 1 || n < 1 || y[2] > n ||
      (windowed && args.inputs[2].volume() != n) || (y[1] > 0 && (y[1] - 1) * stft.step + n > x[1]))
    return mismatch();
  return stft;
}

}  // namespace

Status generate_dft(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Dft dft, read_dft(p, args));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  if (y.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source,
                         begin_transform("special/dft.cuh", p, args, dft.n, y.volume() / y.back(), launches));
  source.fixed("kParts", x.back());
  source.fixed("kInverse", dft.inverse);
  source.fixed("kReal", dft.real);
  source.number("in", x[dft.axis]);
  source.number("out", y[dft.axis]);
  source.number("inner", volume_of(x, dft.axis + 1, x.size() - 1));
  source.number("taken", std::min(x[dft.axis], dft.real ? dft.n / 2 + 1 : dft.n));
  return finish_each(y.volume() / y.back(), &source, launches, table_bytes(p, dft.n));
}

Status generate_stft(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Stft stft, read_stft(p, args));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  if (y.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source,
                         begin_transform("special/stft.cuh", p, args, stft.n, y.volume() / 2, launches));
  source.fixed("kParts", stft.parts);
  source.fixed("kWindowed", has_operand(p, 2));
  source.number("length", x[1]);
  source.number("step", stft.step);
  source.number("frames", y[1]);
  source.number("bins", y[2]);
  return finish_each(y.volume() / 2, &source, launches, table_bytes(p, stft.n));
}

}  // namespace wootz::cuda
