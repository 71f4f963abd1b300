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

std::string parameter(const Problem& p, size_t input) {
  return fmt::format(", const {}* __restrict__ x{}", storage_type(p.inputs[input].dtype), input);
}

}  // namespace

Status generate_deform_conv(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 3));
  WOOTZ_ASSIGN_OR_RETURN(SpecialOperands operands, special_operands(p));  // checks types and layouts
  WOOTZ_ASSIGN_OR_RETURN(const Geometry g, read_geometry(p, args));
  const Dims &x = args.inputs[0], &f = args.inputs[1], &y = args.outputs[0];
  if (y.volume() == 0) return Status();
  const int64_t rows = x[1] * g.taps, columns = x[0] * rows * g.points, per_part = x[1] / g.parts;
  WOOTZ_RETURN_IF_ERROR(check_count(columns));
  const DType type = p.inputs[0].dtype;
  const char* acc = type == DType::kF64 ? "double" : "float";
  const size_t workspace = static_cast<size_t>(columns) * (type == DType::kF64 ? 8 : 4);
  if (columns > 0) {
    Writer w;
    Launch launch;
    w.raw(prelude());
    w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}* __restrict__ ws{}{}{}) {{",
           kSpecialBlock, acc, parameter(p, 0), parameter(p, 2), has_operand(p, 4) ? parameter(p, 4) : "");
    w.line("  typedef {} A; const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;", acc,
           kSpecialBlock, columns);
    w.line("  const s64 point = i % {0}, tap = i / {0} % {1}, c = i / {2} % {3}, n = i / {4};", g.points, g.taps,
           g.points * g.taps, x[1], g.points * rows);
    w.line("  const s64 first = (n * {} + c / {}) * {} + tap; const s64 plane = (n * {} + c) * {};", g.parts, per_part,
           g.taps, x[1], volume_of(x, 2, x.size()));
    w.line("  s64 to = point, in_tap = tap; bool in = true;");
    for (size_t a = g.axes; a-- > 0;) {
      w.line("  const A moved{0} = (A)w_get(x2[(first * {1} + {0}) * {2} + point]);", a, g.axes, g.points);
      w.line("  const A at{0} = (A)(to % {1} * {2} - {3} + in_tap % {4} * {5}) + moved{0}; to /= {1}; in_tap /= {4};",
             a, y[a + 2], g.strides[a], g.begins[a], f[a + 2], g.dilations[a]);
      w.line(
          "  in = in && at{0} > -1 && at{0} < {1};\n  const A low{0} = w_floor(at{0}), part{0} = at{0} - low{0}; const "
          "int l{0} = in ? (int)low{0} : 0;",
          a, x[a + 2]);
    }
    w.line("  A sum = 0;\n  if (in) {{");
    for (size_t corner = 0; corner < size_t{1} << g.axes; ++corner) {
      std::string inside = "true", weight, place = "0";
      for (size_t a = 0; a < g.axes; ++a) {
        const bool high = (corner >> (g.axes - 1 - a) & 1) != 0;
        inside += high ? fmt::format(" && l{} + 1 < {}", a, x[a + 2]) : fmt::format(" && l{} >= 0", a);
        weight += fmt::format("{}{}", weight.empty() ? "" : " * ",
                              high ? fmt::format("part{}", a) : fmt::format("(1 - part{})", a));
        place = fmt::format("({} * {} + l{}{})", place, x[a + 2], a, high ? " + 1" : "");
      }
      w.line("    if ({}) sum += {} * (A)w_get(x0[plane + {}]);", inside, weight, place);
    }
    w.line("  }}\n  ws[i] = {}sum;",
           has_operand(p, 4) ? fmt::format("(A)w_get(x4[first * {} + point]) * ", g.points) : "");
    launch.size.block = kSpecialBlock;
    launch.size.grid_x = blocks_for(columns, kSpecialBlock);
    launch.pointers = {kWorkspacePointer, {false, 0}, {false, 2}};
    if (has_operand(p, 4)) launch.pointers.push_back({false, 4});
    launch.workspace = workspace;
    end_special(&w, std::move(launch), launches);
  }
  // A thread's channels are of one group.
  const int64_t per_group = f[0] / g.groups, depth = f[1] * g.taps;
  int64_t together = kChannels;
  while (per_group % together != 0) together /= 2;
  const int64_t threads = x[0] * (f[0] / together) * g.points;
  Writer w;
  Launch launch;
  w.raw(prelude());
  w.line(
      "extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}* __restrict__ y, const {}* __restrict__ "
      "ws{}{}) {{",
      kSpecialBlock, storage_type(type), acc, parameter(p, 1), has_operand(p, 3) ? parameter(p, 3) : "");
  w.line("  typedef {} A; const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;", acc,
         kSpecialBlock, threads);
  w.line("  const s64 point = i % {0}, m = i / {0} % {1} * {2}, n = i / {3};", g.points, f[0] / together, together,
         g.points * (f[0] / together));
  w.line("  const {0}* weights = x1 + m * {1}; const A* column = ws + (n * {2} + m / {3} * {1}) * {4} + point;",
         storage_type(type), depth, rows, per_group, g.points);
  for (int64_t k = 0; k < together; ++k)
    w.line("  A sum{0} = {1};", k, has_operand(p, 3) ? fmt::format("(A)w_get(x3[m + {}])", k) : "0");
  w.line("  for (int d = 0; d < {}; ++d) {{ const A v = column[(s64)d * {}];", depth, g.points);
  for (int64_t k = 0; k < together; ++k) w.line("    sum{0} += v * (A)w_get(weights[d + {1}]);", k, k * depth);
  w.line("  }}");
  for (int64_t k = 0; k < together; ++k)
    w.line("  y[(n * {0} + m + {1}) * {2} + point] = Put<{3}>::to(({4})sum{1});", f[0], k, g.points, storage_type(type),
           register_type(type));
  launch.size.block = kSpecialBlock;
  launch.size.grid_x = blocks_for(threads, kSpecialBlock);
  launch.pointers = {{true, 0}, kWorkspacePointer, {false, 1}};
  if (has_operand(p, 3)) launch.pointers.push_back({false, 3});
  launch.workspace = std::max<size_t>(8, workspace);
  end_special(&w, std::move(launch), launches);
  return Status();
}

}  // namespace wootz::cuda
