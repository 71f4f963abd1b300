// Depthwise convolution and pooling of channels-last images: a thread takes 16 bytes of channels and a strip of
// neighbouring results along a row, so that what their windows share is read once.
#include <algorithm>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/window.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 128;

struct Strip {
  int64_t images, channels, in_h, in_w, out_h, out_w;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left, bottom, right;
  int64_t vector = 1, results = 1;  // channels and results of a thread
  int64_t strips() const { return (out_w + results - 1) / results; }
  int64_t threads() const { return images * out_h * strips() * (channels / vector); }
};

Result<Strip> make_strip(const Problem& p, const Dims& x, const Dims& y, const Window& w, int64_t results) {
  const DType type = p.inputs[0].dtype;
  const bool bytes = p.family() == Family::kPool && (type == DType::kI8 || type == DType::kU8);
  if (type != DType::kF32 && type != DType::kF16 && type != DType::kBF16 && !bytes)
    return unsupported("{} in strips", dtype_name(type));
  if (x.rank() != 4 || x[1] != y[1]) return unsupported("strips of {} to {}", x.to_string(), y.to_string());
  if (p.inputs[0].layout != Layout::kChannelsLast || p.outputs[0].layout != Layout::kChannelsLast)
    return unsupported("strips of rows of pixels");
  if (x.volume() >= (int64_t{1} << 31) || y.volume() >= (int64_t{1} << 31))
    return unsupported("{} results", y.volume());
  if (w.kernel[0] * w.kernel[1] > 128 || w.kernel[0] < 1 || w.kernel[1] < 1) return unsupported("a large window");
  Strip s{x[0],         x[1],         x[2],           x[3],           y[2],      y[3],      w.kernel[0], w.kernel[1],
          w.strides[0], w.strides[1], w.dilations[0], w.dilations[1], w.pads[0], w.pads[1], w.pads[2],   w.pads[3]};
  s.vector = bytes ? 16 : type == DType::kF32 ? 4 : 8;
  s.results = results;
  if (s.channels % s.vector != 0) return unsupported("{} channels", s.channels);
  if ((results - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w > 64) return unsupported("a window of many steps");
  return s;
}

// Up to where a thread knows its image, rows and channels. Opens the kernel.
void write_head(const Strip& s, const std::string& parameters, Writer* w) {
  w->raw(prelude());
  w->line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, parameters);
  w->line("  const u32 i = blockIdx.x * {}u + threadIdx.x;\n  if (i >= {}u) return;", kBlock, s.threads());
  w->line("  const int c = (int)(i % {0}u) * {1}; u32 rest = i / {0}u;", s.channels / s.vector, s.vector);
  w->line("  const int ox = (int)(rest % {0}u) * {1}; rest /= {0}u;", s.strips(), s.results);
  w->line("  const int oy = (int)(rest % {0}u), n = (int)(rest / {0}u);", s.out_h);
}

// Every element of the windows, once: `body` sees v (a Pack of x), and for result t and window position kx, ky. `row`
// is written where a row of the window begins.
void write_loops(const Strip& s, const char* type, const std::string& row, const std::string& body, Writer* w) {
  const int64_t across = (s.results - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1;
  w->line("#pragma unroll\n  for (int ky = 0; ky < {}; ++ky) {{", s.kernel_h);
  w->line("    const int iy = oy * {} - {} + ky * {}; if (iy < 0 || iy >= {}) continue;", s.stride_h, s.top,
          s.dilation_h, s.in_h);
  w->line("    const {}* xr = x + ((n * {} + iy) * {}) * {} + c;", type, s.in_h, s.in_w, s.channels);
  w->raw(row);
  w->line("#pragma unroll\n    for (int j = 0; j < {}; ++j) {{", across);
  w->line("      const int ix = ox * {} - {} + j; if (ix < 0 || ix >= {}) continue;", s.stride_w, s.left, s.in_w);
  w->line("      const Pack<{0}, {1}> v = *(const Pack<{0}, {1}>*)(xr + ix * {2});", type, s.vector, s.channels);
  w->line(
      "#pragma unroll\n      for (int t = 0; t < {}; ++t) {{\n#pragma unroll\n      for (int kx = 0; kx < {}; ++kx) {{",
      s.results, s.kernel_w);
  w->line("        if (t * {} + kx * {} != j) continue;", s.stride_w, s.dilation_w);
  w->line("#pragma unroll\n        for (int k = 0; k < {}; ++k) {{ {} }}", s.vector, body);
  w->line("      }} }} }} }}");
}

// The epilogue on a[t][k], and the store; closes the kernel.
Status write_results(const Problem& p, const BindArgs& args, const Strip& s, Writer* w) {
  const Dims& y = args.outputs[0];
  w->line("#pragma unroll\n  for (int t = 0; t < {}; ++t) {{ if (ox + t >= {}) continue;", s.results, s.out_w);
  w->line("    const int at = ((n * {} + oy) * {} + ox + t) * {} + c;", s.out_h, s.out_w, s.channels);
  // Bytes, of which only the largest is sought, are compared as floats.
  const bool real = is_float(p.inputs[0].dtype);
  std::vector<std::string> inputs{real ? "a[t][k]" : fmt::format("({})a[t][k]", storage_type(p.inputs[0].dtype))};
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    const size_t k = i - static_cast<size_t>(p.num_main) + 1;
    const char* type = storage_type(p.inputs[i].dtype);
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> over, strides_over(p.inputs[i].layout, args.inputs[i], y));
    const std::string at = fmt::format("n * {} + c * {} + oy * {} + (ox + t) * {}", over[0], over[1], over[2], over[3]);
    bool vectors = over[1] == 1;
    for (const size_t a : {size_t{0}, size_t{2}, size_t{3}}) vectors = vectors && over[a] % s.vector == 0;
    if (vectors) {
      w->line("    const Pack<{0}, {1}> o{2} = *(const Pack<{0}, {1}>*)(e{2} + ({3}));", type, s.vector, k, at);
      inputs.push_back(fmt::format("w_get(o{}.v[k])", k));
    } else {
      inputs.push_back(fmt::format("w_get(e{}[{} + k * {}])", k, at, over[1]));
    }
  }
  const char* out = storage_type(p.outputs[0].dtype);
  w->line("    Pack<{}, {}> z;\n#pragma unroll\n    for (int k = 0; k < {}; ++k) {{", out, s.vector, s.vector);
  std::string value = inputs[0];
  if (!p.epilogue.empty()) {
    std::vector<std::string> results;
    WOOTZ_RETURN_IF_ERROR(write_expression(p.epilogue, inputs, "t", w, &results));
    value = results[0];
  }
  w->line("    z.v[k] = Put<{}>::to({}); }}\n    *(Pack<{}, {}>*)(y + at) = z;\n  }}\n}}", out, value, out, s.vector);
  return Status();
}

void finish(const Strip& s, const Problem& p, std::vector<Pointer> pointers, Writer* w, std::vector<Launch>* launches) {
  add_epilogue_pointers(p, &pointers);
  Launch launch;
  launch.source = w->text();
  launch.size.block = kBlock;
  launch.size.grid_x = blocks_for(s.threads(), kBlock);
  launch.pointers = std::move(pointers);
  launches->push_back(std::move(launch));
}

}  // namespace

Status generate_depthwise(const Problem& p, const BindArgs& args, int results, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_window(p, args, 2));
  const Dims &x = args.inputs[0], &f = args.inputs[1], &y = args.outputs[0];
  const bool bias = p.as<ConvParams>().has_bias;
  const DType type = p.inputs[0].dtype;
  if (p.num_main != (bias ? 3 : 2)) return invalid_argument("convolution of {} operands", p.num_main);
  if (p.as<ConvParams>().transposed || !p.as<ConvParams>().x_scale.empty())
    return unsupported("this convolution in strips");
  if (p.inputs[1].dtype != type || !p.inputs[1].constant) return unsupported("weights that are not constant");
  if (x.rank() != 4 || f.rank() != 4 || p.as<ConvParams>().groups != x[1] || f[0] != x[1] || f[1] != 1 || y[1] != x[1])
    return unsupported("no depthwise convolution");
  Window window{{f[2], f[3]}, p.as<ConvParams>().strides, p.as<ConvParams>().dilations, p.as<ConvParams>().pads};
  WOOTZ_RETURN_IF_ERROR(check_values(window.strides, 2, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(window.dilations, 2, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(window.pads, 4, 0));
  WOOTZ_ASSIGN_OR_RETURN(const Strip s, make_strip(p, x, y, window, results));
  if (results > 1 && s.out_w < results) return unsupported("rows of {}", s.out_w);
  if (bias && (args.inputs[2].volume() != x[1] || check_type(p.inputs[2].dtype).code() != Code::kOk))
    return invalid_argument("a bias of {} for {} channels", args.inputs[2].to_string(), x[1]);
  if (y.volume() == 0) return Status();
  const char* st = storage_type(type);
  std::string parameters = fmt::format(
      "{}* __restrict__ y, const {}* __restrict__ x, const {}* __restrict__ f, {}{}", storage_type(p.outputs[0].dtype),
      st, st, bias ? fmt::format("const {}* __restrict__ b, ", storage_type(p.inputs[2].dtype)) : "",
      epilogue_parameters(p));
  parameters.resize(parameters.size() - 2);
  Writer w;
  write_head(s, parameters, &w);
  w.line("  float a[{}][{}];", s.results, s.vector);
  w.line("#pragma unroll\n  for (int k = 0; k < {}; ++k) {{ const float start = {};", s.vector,
         bias ? "(float)w_get(b[c + k])" : "0");
  w.line("#pragma unroll\n    for (int t = 0; t < {}; ++t) a[t][k] = start; }}", s.results);
  const std::string row = fmt::format(
      "    float g[{0}][{1}];\n#pragma unroll\n    for (int kx = 0; kx < {0}; ++kx) {{ const Pack<{2}, {1}> h = "
      "*(const "
      "Pack<{2}, {1}>*)(f + (ky * {0} + kx) * {3} + c);\n#pragma unroll\n      for (int k = 0; k < {1}; ++k) g[kx][k] "
      "= "
      "w_get(h.v[k]); }}\n",
      s.kernel_w, s.vector, st, s.channels);
  write_loops(s, st, row, "a[t][k] += w_get(v.v[k]) * g[kx][k];", &w);
  WOOTZ_RETURN_IF_ERROR(write_results(p, args, s, &w));
  std::vector<Pointer> pointers{{true, 0}, {false, 0}, {false, 1}};
  if (bias) pointers.push_back({false, 2});
  finish(s, p, std::move(pointers), &w, launches);
  return Status();
}

// From [C,1,h,w] to [h,w,C].
Result<std::optional<PackedForm>> pack_depthwise(const Problem&, int input, const HostTensor& source) {
  if (input != 1) return std::optional<PackedForm>{};
  const int64_t channels = source.dims()[0], inner = channels == 0 ? 0 : source.volume() / channels;
  return std::optional(transposed_form(source, channels, inner));
}

Status generate_pool_strip(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_window(p, args, 1));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const PoolKind kind = p.as<PoolParams>().kind;
  if (p.num_main != 1 || (kind != PoolKind::kMax && kind != PoolKind::kAvg) || !p.as<PoolParams>().x_scale.empty())
    return unsupported("pool of kind '{}'", name_of(kind));
  WOOTZ_ASSIGN_OR_RETURN(const Window window, pool_window(p, x));
  if (x.rank() != 4) return unsupported("strips of {}", x.to_string());
  // Many results: threads enough even when each takes several.
  const int64_t results = y.volume() >= (int64_t{1} << 23) ? 4 : y.volume() >= (int64_t{1} << 21) ? 2 : 1;
  WOOTZ_ASSIGN_OR_RETURN(const Strip s, make_strip(p, x, y, window, std::min(results, std::max<int64_t>(1, y[3]))));
  if (y.volume() == 0) return Status();
  const char* st = storage_type(p.inputs[0].dtype);
  std::string parameters = fmt::format("{}* __restrict__ y, const {}* __restrict__ x, {}",
                                       storage_type(p.outputs[0].dtype), st, epilogue_parameters(p));
  parameters.resize(parameters.size() - 2);
  Writer w;
  write_head(s, parameters, &w);
  const bool max = kind == PoolKind::kMax;
  const DType type = p.inputs[0].dtype;
  if (!max && !is_float(type)) return unsupported("averages of {} in strips", dtype_name(type));
  w.line("  float a[{0}][{1}];\n#pragma unroll\n  for (int t = 0; t < {0}; ++t) {{\n#pragma unroll", s.results,
         s.vector);
  w.line("    for (int k = 0; k < {}; ++k) a[t][k] = {}; }}", s.vector,
         !max             ? "0"
         : is_float(type) ? "-W_INF"
                          : fmt::format("(float)Lim<{}>::lo", st));
  write_loops(s, st, "", max ? "a[t][k] = w_max<float>(a[t][k], w_get(v.v[k]));" : "a[t][k] += w_get(v.v[k]);", &w);
  if (!max) {  // how many there were: rows times columns
    const bool padded = p.as<PoolParams>().count_include_pad;
    const auto count = [&](const char* name, const std::string& start, int64_t kernel, int64_t dilation, int64_t extent,
                           int64_t before, int64_t behind) {
      w.line(
          "    int {0} = 0;\n#pragma unroll\n    for (int q = 0; q < {1}; ++q) {{ const int at = {2} + q * {3}; {0} += "
          "at >= {4} && at < {5}; }}",
          name, kernel, start, dilation, padded ? -before : 0, padded ? extent + behind : extent);
    };
    w.line("#pragma unroll\n  for (int t = 0; t < {}; ++t) {{", s.results);
    count("rows", fmt::format("oy * {} - {}", s.stride_h, s.top), s.kernel_h, s.dilation_h, s.in_h, s.top, s.bottom);
    count("columns", fmt::format("(ox + t) * {} - {}", s.stride_w, s.left), s.kernel_w, s.dilation_w, s.in_w, s.left,
          s.right);
    w.line("    const float by = rows * columns == 0 ? 0.0f : 1.0f / (float)(rows * columns);");
    w.line("#pragma unroll\n    for (int k = 0; k < {}; ++k) a[t][k] *= by; }}", s.vector);
  }
  WOOTZ_RETURN_IF_ERROR(write_results(p, args, s, &w));
  finish(s, p, {{true, 0}, {false, 0}}, &w, launches);
  return Status();
}

}  // namespace wootz::cuda
