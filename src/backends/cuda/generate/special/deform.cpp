// DeformConv: what the moved taps see is put into columns, which the weights are then multiplied with. A thread
// computes some output channels of one pixel, so that it reads each number of its column once for all of them.
#include <algorithm>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kChannels = 8;

struct Geometry {
  size_t axes = 0;
  std::vector<int64_t> strides, dilations, begins;
  int64_t groups = 1, parts = 1, taps = 1, points = 1;
};

Result<Geometry> read_geometry(const Problem& p, const BindArgs& args) {
  const Dims &x = args.inputs[0], &f = args.inputs[1], &moved = args.inputs[2], &y = args.outputs[0];
  const auto mismatch = [&] {
    return invalid_argument("taps {} moved by {} over {}", f.to_string(), moved.to_string(), x.to_string());
  };
  Geometry g;
  if (x.rank() < 3 || x.rank() > 5 || f.rank() != x.rank() || moved.rank() != x.rank() || y.rank() != x.rank())
    return mismatch();
  g.axes = x.size() - 2;
  const auto& op = *op_params<DeformConvOpParams>(p);
  const auto ints = [](const Ints& given, size_t count, int64_t otherwise) {
    return given.empty() ? Ints(count, otherwise) : given;
  };
  g.strides = ints(op.strides, g.axes, 1);
  g.dilations = ints(op.dilations, g.axes, 1);
  g.begins = ints(op.pads, 2 * g.axes, 0);
  g.groups = op.groups;
  g.parts = op.offset_groups;
  if (g.strides.size() != g.axes || g.dilations.size() != g.axes || g.begins.size() != 2 * g.axes || g.groups < 1 ||
      g.parts < 1)
    return mismatch();
  for (size_t a = 0; a < g.axes; ++a) {
    for (const int64_t v : {g.strides[a], g.dilations[a], g.begins[a]})
      if (v < 0 || v > int64_t{1} << 30) return mismatch();
    g.taps *= f[a + 2];
    g.points *= y[a + 2];
    if (moved[a + 2] != y[a + 2]) return mismatch();
  }
  if (x[1] != f[1] * g.groups || f[0] % g.groups != 0 || y[1] != f[0] || y[0] != x[0] || moved[0] != x[0] ||
      x[1] % g.parts != 0 || moved[1] != g.parts * g.taps * static_cast<int64_t>(g.axes))
    return mismatch();
  if (has_operand(p, 3) && args.inputs[3].volume() != f[0]) return mismatch();
  if (has_operand(p, 4)) {
    const Dims& mask = args.inputs[4];
    if (mask.rank() != x.rank() || mask[0] != x[0] || mask[1] != g.parts * g.taps ||
        volume_of(mask, 2, mask.size()) != g.points)
      return mismatch();
  }
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (has_operand(p, i) && (!is_float(p.inputs[i].dtype) || p.inputs[i].dtype != p.inputs[0].dtype))
      return mismatch();
  if (p.outputs[0].dtype != p.inputs[0].dtype) return mismatch();
  return g;
}

// What both launches share: the type of sums, and the columns between them.
struct Columns {
  const char* type;
  int64_t rows, count;  // of an image, and their elements in all
  size_t bytes;
};

// With the operands `read` of the problem, and its output where that is written.
Result<KernelSource> begin(std::string_view file, const Problem& p, const BindArgs& args, const Columns& columns,
                           std::initializer_list<size_t> read, bool writes, int64_t count) {
  Problem part = p;
  for (size_t i = 0; i < part.inputs.size(); ++i)
    if (std::find(read.begin(), read.end(), i) == read.end()) part.inputs[i].dtype = DType::kInvalid;
  if (!writes) part.outputs.clear();
  WOOTZ_RETURN_IF_ERROR(check_count(count));
  KernelSource source(file, transient(p, args));
  source.fixed("kThreads", kSpecialBlock);
  source.type("A", columns.type);
  WOOTZ_RETURN_IF_ERROR(add_operands(part, &source));
  source.operand(writes ? "const A*" : "A* __restrict__", "columns", kWorkspacePointer);
  source.number("count", count);
  return source;
}

Status add_columns(const Problem& p, const BindArgs& args, const Geometry& g, const Columns& columns,
                   std::vector<Launch>* launches) {
  const Dims &x = args.inputs[0], &f = args.inputs[1], &y = args.outputs[0];
  const auto of_image = [](const Dims& d) { return std::vector<int64_t>(d.begin() + 2, d.end()); };
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source,
                         begin("deform/columns.cuh", p, args, columns, {0, 2, 4}, false, columns.count));
  source.fixed("kAxes", static_cast<int64_t>(g.axes));
  source.fixed("kMasked", has_operand(p, 4));
  source.number("points", g.points);
  source.number("taps", g.taps);
  source.number("channels", x[1]);
  source.number("parts", g.parts);
  source.number("per_part", x[1] / g.parts);
  source.number("plane", volume_of(x, 2, x.size()));
  source.list("extent", of_image(x));
  source.list("result", of_image(y));
  source.list("tap", of_image(f));
  source.list("stride", g.strides);
  source.list("dilation", g.dilations);
  source.list("pad", {g.begins.begin(), g.begins.begin() + static_cast<std::ptrdiff_t>(g.axes)});
  return finish_each(columns.count, &source, launches, columns.bytes);
}

Status add_product(const Problem& p, const BindArgs& args, const Geometry& g, const Columns& columns,
                   std::vector<Launch>* launches) {
  const Dims &x = args.inputs[0], &f = args.inputs[1];
  const int64_t per_group = f[0] / g.groups;
  int64_t together = kChannels;  // of one group
  while (per_group % together != 0) together /= 2;
  const int64_t threads = x[0] * (f[0] / together) * g.points;
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, begin("deform/product.cuh", p, args, columns, {1, 3}, true, threads));
  source.fixed("kTogether", together);
  source.fixed("kBias", has_operand(p, 3));
  source.number("points", g.points);
  source.number("outputs", f[0]);
  source.number("depth", f[1] * g.taps);
  source.number("rows", columns.rows);
  source.number("per_group", per_group);
  return finish_each(threads, &source, launches, std::max<size_t>(8, columns.bytes));
}

Status check_types(const Problem& p) {
  for (const std::vector<TensorDesc>* operands : {&p.inputs, &p.outputs})
    for (const TensorDesc& t : *operands) {
      if (t.dtype == DType::kInvalid) continue;
      WOOTZ_RETURN_IF_ERROR(check_type(t.dtype));
      if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
    }
  return Status();
}

}  // namespace

Status generate_deform_conv(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 3));
  WOOTZ_RETURN_IF_ERROR(check_types(p));
  WOOTZ_ASSIGN_OR_RETURN(const Geometry g, read_geometry(p, args));
  const Dims& x = args.inputs[0];
  if (args.outputs[0].volume() == 0) return Status();
  const bool wide = p.inputs[0].dtype == DType::kF64;
  const int64_t rows = x[1] * g.taps, count = x[0] * rows * g.points;
  const Columns columns{wide ? "double" : "float", rows, count, static_cast<size_t>(count) * (wide ? 8 : 4)};
  if (count > 0) WOOTZ_RETURN_IF_ERROR(add_columns(p, args, g, columns, launches));
  return add_product(p, args, g, columns, launches);
}

}  // namespace wootz::cuda
