// Ops that cut images or put them together: CenterCropPad, Col2Im, MaxRoiPool. One thread a result.
#include <algorithm>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {

// An odd difference leaves one more element cut or filled at the end.
Status generate_center_crop_pad(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  if (x.rank() != y.rank() || p.outputs[0].dtype != p.inputs[0].dtype)
    return invalid_argument("{} about the center of {}", y.to_string(), x.to_string());
  std::vector<int64_t> pads(2 * x.size());
  for (size_t a = 0; a < x.size(); ++a) {
    pads[a] = (y[a] - x[a]) / 2;
    pads[a + x.size()] = y[a] - x[a] - pads[a];
  }
  Problem pad = p;
  pad.inputs.resize(1);  // sizes are in the extents
  pad.num_main = 1;
  pad.params = MoveParams{.kind = MoveKind::kPad, .pads = std::move(pads)};
  return generate_move(pad, args, launches);
}

// A pixel sums what the blocks over it have there, in the order in which a block is laid out.
Status generate_col2im(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 3));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  const Ints* const known = known_operand(p, 2);
  const Ints block = known == nullptr ? Ints() : *known;
  const size_t rank = block.size();
  if (rank == 0) return unsupported("blocks whose extents only running tells");
  const auto& op = *op_params<Col2ImOpParams>(p);
  const auto ints = [](const Ints& given, size_t count, int64_t otherwise) {
    return given.empty() ? Ints(count, otherwise) : given;
  };
  const Ints strides = ints(op.strides, rank, 1), dilations = ints(op.dilations, rank, 1),
             pads = ints(op.pads, 2 * rank, 0);
  const auto mismatch = [&] { return invalid_argument("blocks {} of image {}", x.to_string(), y.to_string()); };
  if (x.rank() != 3 || y.size() != rank + 2 || strides.size() != rank || dilations.size() != rank ||
      pads.size() != 2 * rank || p.outputs[0].dtype != type || type == DType::kBool)
    return mismatch();
  int64_t volume = 1, positions = 1;
  std::vector<int64_t> counts;
  constexpr int64_t kFar = int64_t{1} << 30;
  for (size_t a = 0; a < rank; ++a) {
    for (const int64_t v : {block[a], strides[a], dilations[a]})
      if (v < 1 || v > kFar) return mismatch();
    if (pads[a] < 0 || pads[a + rank] < 0 || pads[a] > kFar || pads[a + rank] > kFar) return mismatch();
    const int64_t room = y[a + 2] + pads[a] + pads[a + rank] - dilations[a] * (block[a] - 1) - 1;
    if (room < 0) return mismatch();
    counts.push_back(room / strides[a] + 1);
    volume *= block[a];
    positions *= counts[a];
    if (volume > kFar || positions > kFar) return mismatch();
  }
  if (x[0] != y[0] || x[1] != y[1] * volume || x[2] != positions) return mismatch();
  if (y.volume() == 0) return Status();
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, y.volume(), &w, &launch));
  w.line("  s64 rest = i;");
  for (size_t a = rank; a-- > 0;) w.line("  const s64 c{0} = rest % {1} + {2}; rest /= {1};", a, y[a + 2], pads[a]);
  w.line("  typedef {} A; const s64 base = rest * {};\n  A sum = 0;",
         !is_float(type)       ? "u64"
         : type == DType::kF64 ? "double"
                               : "float",
         volume * positions);
  std::string place = "0", tap = "0";
  for (size_t a = 0; a < rank; ++a) {
    // What the block's corner would be is a corner of a block.
    w.line(
        "  for (int k{0} = 0; k{0} < {1}; ++k{0}) {{\n    const s64 d{0} = c{0} - (s64)k{0} * {2}, p{0} = d{0} / {3};",
        a, block[a], dilations[a], strides[a]);
    w.line("    if (d{0} < 0 || d{0} % {1} != 0 || p{0} >= {2}) continue;", a, strides[a], counts[a]);
    place = fmt::format("({} * {} + p{})", place, counts[a], a);
    tap = fmt::format("({} * {} + k{})", tap, block[a], a);
  }
  w.line("  sum += (A)w_get(x0[base + (s64){} * {} + {}]);", tap, positions, place);
  for (size_t a = 0; a < rank; ++a) w.raw("  }");
  w.line("\n  y0[i] = Put<{}>::to(({})sum);", storage_type(type), register_type(type));
  end_special(&w, std::move(launch), launches);
  return Status();
}

// Corners in double, as in the reference: an edge next to a whole number goes to the same side.
Status generate_max_roi_pool(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &x = args.inputs[0], &rois = args.inputs[1], &y = args.outputs[0];
  if (x.rank() != 4 || y.rank() != 4 || rois.rank() != 2 || rois[1] != 5 || y[0] != rois[0] || y[1] != x[1] ||
      !is_float(p.inputs[0].dtype) || !is_float(p.inputs[1].dtype) || p.outputs[0].dtype != p.inputs[0].dtype)
    return invalid_argument("regions {} of {}", rois.to_string(), x.to_string());
  if (y.volume() == 0) return Status();
  const char* type = register_type(p.inputs[0].dtype);
  Writer w;
  w.raw(prelude());
  w.raw(R"(
W_FN s64 w_whole(double v) { v = w_clip<double>(v, -1e9, 1e9); return (s64)(v < 0 ? ceil(v - 0.5) : floor(v + 0.5)); }
W_FN s64 w_edge(double v, s64 start, s64 extent) { const s64 at = (s64)v + start; return at < 0 ? 0 : at > extent ? extent : at; }
)");
  WOOTZ_ASSIGN_OR_RETURN(SpecialOperands operands, special_operands(p));
  WOOTZ_RETURN_IF_ERROR(check_count(y.volume()));
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kSpecialBlock, operands.parameters);
  w.line("  const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;", kSpecialBlock, y.volume());
  w.line("  const s64 j = i % {0}, h = i / {0} % {1}, c = i / {2} % {3}, r = i / {4};", y[3], y[2], y[2] * y[3], x[1],
         y[1] * y[2] * y[3]);
  w.line("  const double scale = {:.17g}, image = (double)w_get(x1[r * 5]);",
         op_params<MaxRoiPoolOpParams>(p)->spatial_scale);
  // A region of no image has no value.
  w.line("  if (!(image >= 0 && image < {})) {{ y0[i] = Put<{}>::to(({})W_NAN); return; }}", x[0],
         storage_type(p.inputs[0].dtype), type);
  for (const auto& [name, at] : {std::pair{"left", 1}, {"top", 2}, {"right", 3}, {"bottom", 4}})
    w.line("  const s64 {} = w_whole((double)w_get(x1[r * 5 + {}]) * scale);", name, at);
  w.line("  const double bin_h = (double)(bottom - top + 1 < 1 ? 1 : bottom - top + 1) / {}.0;", y[2]);
  w.line("  const double bin_w = (double)(right - left + 1 < 1 ? 1 : right - left + 1) / {}.0;", y[3]);
  w.line(
      "  const s64 y1 = w_edge(floor((double)h * bin_h), top, {0}), y2 = w_edge(ceil((double)(h + 1) * bin_h), top, "
      "{0});",
      x[2]);
  w.line(
      "  const s64 x3 = w_edge(floor((double)j * bin_w), left, {0}), x4 = w_edge(ceil((double)(j + 1) * bin_w), left, "
      "{0});",
      x[3]);
  w.line("  {0} best = y1 >= y2 || x3 >= x4 ? ({0})0 : -({0})W_INF;", type);
  w.line("  for (s64 a = y1; a < y2; ++a)\n    for (s64 b = x3; b < x4; ++b) {{");
  w.line("      const {} v = w_get(x0[(((s64)image * {} + c) * {} + a) * {} + b]); if (best < v) best = v; }}", type,
         x[1], x[2], x[3]);
  w.line("  y0[i] = Put<{}>::to(best);", storage_type(p.inputs[0].dtype));
  Launch launch;
  launch.size.block = kSpecialBlock;
  launch.size.grid_x = blocks_for(y.volume(), kSpecialBlock);
  launch.pointers = std::move(operands.pointers);
  end_special(&w, std::move(launch), launches);
  return Status();
}

}  // namespace wootz::cuda
