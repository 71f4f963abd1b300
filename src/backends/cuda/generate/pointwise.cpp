// Family pointwise: neighbours in the output's memory by neighbouring threads, several elements a thread where every
// operand allows wide loads.
#include <algorithm>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/nibbles.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 256;

// Most elements that a thread may take at once: every operand walks the innermost axis by 1 or not at all, and what it
// reads begins at a multiple of the vector.
int vector_length(const std::vector<Axis>& axes, int largest_bytes) {
  if (axes.empty()) return 1;
  for (int n = std::max(1, 16 / largest_bytes); n > 1; n /= 2) {
    const Axis& inner = axes.back();
    bool fits = inner.extent % n == 0 && volume(axes) / n >= 4096;
    for (size_t k = 0; k < inner.strides.size(); ++k) {
      fits = fits && (inner.strides[k] == 0 || inner.strides[k] == 1);
      for (size_t i = 0; inner.strides[k] == 1 && i + 1 < axes.size(); ++i) fits = fits && axes[i].strides[k] % n == 0;
    }
    if (fits) return n;
  }
  return 1;
}

}  // namespace

Status generate_pointwise(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.num_main != 0 || p.outputs.empty() || p.epilogue.outputs.size() != p.outputs.size())
    return invalid_argument("pointwise: {} results of {}", p.epilogue.outputs.size(), p.outputs.size());
  if (p.epilogue.num_inputs > p.inputs.size())
    return invalid_argument("pointwise: {} operands of {}", p.inputs.size(), p.epilogue.num_inputs);
  const Dims& out = args.outputs[0];
  const Layout layout = p.outputs[0].layout;
  int largest = 1;
  std::vector<std::vector<int64_t>> strides;
  const auto add = [&](const TensorDesc& t, const Dims& dims) -> Status {
    if (!few_bits(t.dtype)) WOOTZ_RETURN_IF_ERROR(check_type(t.dtype));
    if (!is_plain(t.layout)) return unsupported("pointwise in layout {}", layout_name(t.layout));
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_over(t.layout, dims, out));
    strides.push_back(std::move(s));
    largest = std::max(largest, dtype_bits(t.dtype) / 8);
    return Status();
  };
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    if (!(args.outputs[o] == out) || p.outputs[o].layout != layout) return unsupported("pointwise: unequal outputs");
    WOOTZ_RETURN_IF_ERROR(add(p.outputs[o], out));
  }
  for (size_t i = 0; i < p.inputs.size(); ++i) WOOTZ_RETURN_IF_ERROR(add(p.inputs[i], args.inputs[i]));

  std::vector<Axis> axes;
  for (const int a : memory_order(out.rank() < 3 ? Layout::kLinear : layout, out.rank())) {
    Axis axis{out[static_cast<size_t>(a)], {}};
    for (const auto& s : strides) axis.strides.push_back(s[static_cast<size_t>(a)]);
    axes.push_back(std::move(axis));
  }
  axes = merge_axes(std::move(axes));
  const int64_t count = out.volume();
  if (count == 0) return Status();
  WOOTZ_RETURN_IF_ERROR(check_count(count));
  if (any_few_bits(p)) {
    Writer w;
    Launch launch;
    w.raw(prelude());
    WOOTZ_RETURN_IF_ERROR(write_pointwise_in_nibbles(p, std::move(axes), count, &w, &launch));
    launches->push_back(std::move(launch));
    return Status();
  }
  const int n = vector_length(axes, largest);
  if (n > 1) axes.back().extent /= n;  // an axis of vectors: strides of 1 stay, counted in vectors below
  if (n > 1)
    for (int64_t& s : axes.back().strides) s *= n;

  Writer w;
  w.raw(prelude());
  std::string parameters;
  Launch launch;
  std::vector<std::string> names;
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    parameters += fmt::format("{}* __restrict__ y{}, ", storage_type(p.outputs[o].dtype), o);
    launch.pointers.push_back({true, static_cast<int>(o)});
    names.push_back(fmt::format("p{}", o));
  }
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    parameters += fmt::format("const {}* x{}, ", storage_type(p.inputs[i].dtype), i);
    launch.pointers.push_back({false, static_cast<int>(i)});
    names.push_back(fmt::format("o{}", i));
  }
  parameters.resize(parameters.size() - 2);
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, parameters);
  w.line("  const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;", kBlock, count / n);
  w.offsets(axes, "i", names);
  const auto inner_stride = [&](size_t k) { return n == 1 || axes.empty() ? 0 : axes.back().strides[k]; };
  std::vector<std::string> inputs;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const char* type = storage_type(p.inputs[i].dtype);
    if (inner_stride(p.outputs.size() + i) != 0) {
      w.line("  const Pack<{0}, {1}> v{2} = *(const Pack<{0}, {1}>*)(x{2} + o{2});", type, n, i);
      inputs.push_back(fmt::format("w_get(v{}.v[k])", i));
    } else {
      w.line("  const {} v{} = w_get(x{}[o{}]);", register_type(p.inputs[i].dtype), i, i, i);
      inputs.push_back(fmt::format("v{}", i));
    }
  }
  for (size_t o = 0; n > 1 && o < p.outputs.size(); ++o)
    w.line("  Pack<{}, {}> z{};", storage_type(p.outputs[o].dtype), n, o);
  if (n > 1) w.line("#pragma unroll\n  for (int k = 0; k < {}; ++k) {{", n);
  std::vector<std::string> results;
  WOOTZ_RETURN_IF_ERROR(write_expression(p.epilogue, inputs, "t", &w, &results));
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    const char* type = storage_type(p.outputs[o].dtype);
    if (n > 1)
      w.line("  z{}.v[k] = Put<{}>::to({});", o, type, results[o]);
    else
      w.line("  y{0}[p{0}] = Put<{1}>::to({2});", o, type, results[o]);
  }
  if (n > 1) w.line("  }}");
  for (size_t o = 0; n > 1 && o < p.outputs.size(); ++o)
    w.line("  *(Pack<{0}, {1}>*)(y{2} + p{2}) = z{2};", storage_type(p.outputs[o].dtype), n, o);
  w.line("}}");
  launch.source = w.text();
  launch.size.block = kBlock;
  launch.size.grid_x = blocks_for(count / n, kBlock);
  launches->push_back(std::move(launch));
  return Status();
}

}  // namespace wootz::cuda
