// Families move and reformat as strided copies: every kind is one or more loops over axes with a stride on either side.
#include <algorithm>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/nibbles.h"
#include "base/half.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 256;

struct Copy {
  std::vector<Axis> axes;    // strides: {source, target}
  int64_t from = 0, to = 0;  // offsets
  int input = 0, output = 0;
  void add(int64_t extent, int64_t source, int64_t target) { axes.push_back({extent, {source, target}}); }
};

constexpr size_t kPartsAtOnce = 64;
constexpr int kTile = 32;

// Sorted as the target lies, with elements of as many bytes (up to 16) as both sides allow.
struct Plan {
  std::vector<Axis> axes;
  int64_t from = 0, to = 0, count = 0;
  int bits = 0, input = 0, output = 0;
  std::string type() const { return bits == 128 ? "Pack<u64, 2>" : bits_type(bits); }
};

Plan plan_copy(Copy copy, int bits) {
  std::stable_sort(copy.axes.begin(), copy.axes.end(),
                   [](const Axis& a, const Axis& b) { return std::abs(a.strides[1]) > std::abs(b.strides[1]); });
  Plan p{merge_axes(std::move(copy.axes)), copy.from, copy.to, 0, bits, copy.input, copy.output};
  p.count = volume(p.axes);
  while (p.bits < 128 && !p.axes.empty()) {  // pairs of elements as one
    Axis& inner = p.axes.back();
    bool fits = inner.strides[0] == 1 && inner.strides[1] == 1 && inner.extent % 2 == 0 && p.from % 2 == 0 &&
                p.to % 2 == 0 && (p.bits < 64 || p.count > 4096);
    for (size_t i = 0; i + 1 < p.axes.size(); ++i)
      fits = fits && p.axes[i].strides[0] % 2 == 0 && p.axes[i].strides[1] % 2 == 0;
    if (!fits) break;
    inner.extent /= 2;
    for (size_t i = 0; i + 1 < p.axes.size(); ++i)
      for (int64_t& s : p.axes[i].strides) s /= 2;
    p.from /= 2;
    p.to /= 2;
    p.bits *= 2;
    p.count /= 2;
  }
  return p;
}

// The axis along which the source's elements are neighbours, where it is another than the target's and both are long
// enough for tiles; or -1.
int across(const Plan& p) {
  if (p.axes.size() < 2 || p.bits > 32) return -1;
  const Axis& inner = p.axes.back();
  if (inner.strides[1] != 1 || inner.strides[0] == 1 || inner.extent < kTile / 2) return -1;
  for (size_t i = 0; i + 1 < p.axes.size(); ++i)
    if (p.axes[i].strides[0] == 1 && p.axes[i].extent >= kTile / 2) return static_cast<int>(i);
  return -1;
}

// A transposition: tiles go through shared memory, so that both sides are walked along their rows.
Status add_tiles(const Plan& p, int source_axis, std::vector<Launch>* launches) {
  const Axis inner = p.axes.back(), other = p.axes[static_cast<size_t>(source_axis)];
  std::vector<Axis> outer;
  for (size_t i = 0; i + 1 < p.axes.size(); ++i)
    if (static_cast<int>(i) != source_axis) outer.push_back(p.axes[i]);
  const int64_t columns = (inner.extent + kTile - 1) / kTile, rows = (other.extent + kTile - 1) / kTile;
  const int64_t blocks = columns * rows * volume(outer);
  if (blocks >= (int64_t{1} << 31)) return unsupported("{} tiles", blocks);
  Writer w;
  w.raw(prelude());
  w.line(
      "extern \"C\" __global__ void __launch_bounds__({0}) wootz_kernel({1}* __restrict__ y, const {1}* __restrict__ "
      "x) {{",
      kBlock, p.type());
  w.line("  __shared__ {} tile[{} * {}];", p.type(), kTile, kTile + 1);
  w.line("  const int t = threadIdx.x, tx = t % {0}, ty = t / {0};", kTile);
  w.line("  u32 rest = blockIdx.x; const int i0 = (int)(rest % {0}u) * {1}; rest /= {0}u;", columns, kTile);
  w.line("  const int j0 = (int)(rest % {0}u) * {1}; rest /= {0}u;", rows, kTile);
  w.offsets(outer, "rest", {"from", "to"});
  w.line("#pragma unroll\n  for (int k = ty; k < {}; k += {}) {{ const int i = i0 + k, j = j0 + tx;", kTile,
         kBlock / kTile);
  w.line("    if (i < {} && j < {}) tile[k * {} + tx] = x[(s64)from + {} + (s64)i * {} + j]; }}", inner.extent,
         other.extent, kTile + 1, p.from, inner.strides[0]);
  w.line("  __syncthreads();");
  w.line("#pragma unroll\n  for (int k = ty; k < {}; k += {}) {{ const int i = i0 + tx, j = j0 + k;", kTile,
         kBlock / kTile);
  w.line("    if (i < {} && j < {}) y[(s64)to + {} + i + (s64)j * {}] = tile[tx * {} + k]; }}\n}}", inner.extent,
         other.extent, p.to, other.strides[1], kTile + 1);
  Launch launch;
  launch.source = w.text();
  launch.size.block = kBlock;
  launch.size.grid_x = static_cast<unsigned>(blocks);
  launch.pointers = {{true, p.output}, {false, p.input}};
  launches->push_back(std::move(launch));
  return Status();
}

// Several copies by one launch: each has its blocks.
Status add_copies(std::vector<Copy> copies, int bits, std::vector<Launch>* launches) {
  std::vector<Plan> plans;
  for (Copy& copy : copies) {
    Plan p = plan_copy(std::move(copy), bits);
    if (p.count == 0) continue;
    if (p.bits < 8) return unsupported("copies of parts of bytes");
    WOOTZ_RETURN_IF_ERROR(check_count(p.count));
    if (const int axis = across(p); axis >= 0)
      WOOTZ_RETURN_IF_ERROR(add_tiles(p, axis, launches));
    else
      plans.push_back(std::move(p));
  }
  for (size_t first = 0; first < plans.size(); first += kPartsAtOnce) {
    const size_t end = std::min(plans.size(), first + kPartsAtOnce);
    Launch launch;
    std::string parameters;
    for (size_t i = first; i < end; ++i) {
      const Plan& p = plans[i];
      parameters += fmt::format("{0}{1}* __restrict__ y{2}, const {1}* __restrict__ x{2}", i == first ? "" : ", ",
                                p.type(), i - first);
      launch.pointers.push_back({true, p.output});
      launch.pointers.push_back({false, p.input});
    }
    Writer w;
    w.raw(prelude());
    w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{\n  u32 block = blockIdx.x;", kBlock,
           parameters);
    int64_t blocks = 0;
    for (size_t i = first; i < end; ++i) {
      const Plan& p = plans[i];
      const unsigned own = blocks_for(p.count, kBlock);
      blocks += own;
      if (i + 1 < end) w.line("  if (block < {}u) {{", own);
      w.line("  const s64 i = (s64)block * {} + threadIdx.x;\n  if (i >= {}) return;", kBlock, p.count);
      w.offsets(p.axes, "i", {"from", "to"});
      w.line("  y{0}[(s64)to + {1}] = x{0}[(s64)from + {2}];", i - first, p.to, p.from);
      if (i + 1 < end) w.line("  return;\n  }}\n  block -= {}u;", own);
    }
    w.line("}}");
    if (blocks >= (int64_t{1} << 31)) return unsupported("{} blocks", blocks);
    launch.source = w.text();
    launch.size.block = kBlock;
    launch.size.grid_x = static_cast<unsigned>(blocks);
    launches->push_back(std::move(launch));
  }
  return Status();
}

Status add_copy(Copy copy, int bits, std::vector<Launch>* launches) {
  std::vector<Copy> one;
  one.push_back(std::move(copy));
  return add_copies(std::move(one), bits, launches);
}

// One thread a result, its source by an expression per axis: padding by reflection and the like.
Status add_pad(const Problem& p, const Dims& x, const Dims& y, const std::vector<int64_t>& pads, PadMode mode,
               std::vector<Launch>* launches) {
  const Dims xs = layout_strides(p.inputs[0].layout, x);
  const DType type = p.inputs[0].dtype;
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  WOOTZ_RETURN_IF_ERROR(check_count(y.volume()));
  Writer w;
  w.raw(prelude());
  w.line(
      "extern \"C\" __global__ void __launch_bounds__({0}) wootz_kernel({1}* __restrict__ y, const {1}* __restrict__ "
      "x) {{",
      kBlock, storage_type(type));
  w.line(
      "  const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;\n  s64 rest = i, from = 0; bool in "
      "= true;",
      kBlock, y.volume());
  const std::vector<int> order = memory_order(y.rank() < 3 ? Layout::kLinear : p.outputs[0].layout, y.rank());
  for (size_t k = order.size(); k-- > 0;) {
    const auto a = static_cast<size_t>(order[k]);
    w.line("  {{ s64 c = rest % {} - ({}); rest /= {};", y[a], pads[a], y[a]);
    if (mode == PadMode::kConstant)
      w.line("  if (c < 0 || c >= {}) in = false;", x[a]);
    else if (mode == PadMode::kEdge)
      w.line("  c = c < 0 ? 0 : c >= {0} ? {0} - 1 : c;", x[a]);
    else if (mode == PadMode::kWrap)
      w.line("  c %= {0}; if (c < 0) c += {0};", x[a]);
    else if (x[a] == 1)
      w.line("  c = 0;");
    else
      w.line("  c %= {0}; if (c < 0) c += {0}; if (c >= {1}) c = {0} - c;", 2 * (x[a] - 1), x[a]);
    w.line("  from += c * {}; }}", xs[a]);
  }
  const double value = p.as<MoveParams>().value;
  w.line("  y[i] = in ? x[from] : Put<{}>::to(w_cast<{}>({:.17g}));\n}}", storage_type(type), register_type(type),
         value);
  Launch launch;
  launch.source = w.text();
  launch.size.block = kBlock;
  launch.size.grid_x = blocks_for(y.volume(), kBlock);
  launch.pointers = {{true, 0}, {false, 0}};
  launches->push_back(std::move(launch));
  return Status();
}

Status move_elements(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.empty() || p.outputs.empty() || static_cast<size_t>(p.num_main) != p.inputs.size())
    return invalid_argument("move: {} inputs, {} outputs", p.inputs.size(), p.outputs.size());
  if (!p.epilogue.empty()) return unsupported("move with an epilogue");
  const int bits = dtype_bits(p.inputs[0].dtype);
  if (bits_type(bits) == nullptr && !few_bits(p.inputs[0].dtype))
    return unsupported("move of {}", dtype_name(p.inputs[0].dtype));
  for (const TensorDesc& t : p.inputs)
    if (t.dtype != p.inputs[0].dtype || !is_plain(t.layout)) return unsupported("move of unlike operands");
  for (const TensorDesc& t : p.outputs)
    if (t.dtype != p.inputs[0].dtype || !is_plain(t.layout)) return unsupported("move of unlike operands");
  const MoveKind kind = p.as<MoveParams>().kind;
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const auto strides = [](const TensorDesc& t, const Dims& d) { return layout_strides(t.layout, d); };
  const Dims xs = strides(p.inputs[0], x), ys = strides(p.outputs[0], y);
  const auto mismatch = [&] {
    return invalid_argument("move {}: {} gives {}", name_of(kind), x.to_string(), y.to_string());
  };
  Copy copy;
  if (kind == MoveKind::kConcat || kind == MoveKind::kSplit) {
    const int64_t axis = p.as<MoveParams>().axis;
    const bool concat = kind == MoveKind::kConcat;
    const std::span<const Dims> parts = concat ? args.inputs : args.outputs;
    const Dims& whole = concat ? y : x;
    if (axis < 0 || axis >= whole.rank() || (concat ? p.outputs.size() : p.inputs.size()) != 1) return mismatch();
    int64_t at = 0;
    std::vector<Copy> copies;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].rank() != whole.rank()) return mismatch();
      const Dims ps = strides(concat ? p.inputs[i] : p.outputs[i], parts[i]), &ws = concat ? ys : xs;
      Copy part;
      for (size_t a = 0; a < whole.size(); ++a) {
        if (static_cast<int64_t>(a) != axis && parts[i][a] != whole[a]) return mismatch();
        part.add(parts[i][a], concat ? ps[a] : ws[a], concat ? ws[a] : ps[a]);
      }
      (concat ? part.to : part.from) = at * ws[static_cast<size_t>(axis)];
      (concat ? part.input : part.output) = static_cast<int>(i);
      at += parts[i][static_cast<size_t>(axis)];
      copies.push_back(std::move(part));
    }
    return at == whole[static_cast<size_t>(axis)] ? add_copies(std::move(copies), bits, launches) : mismatch();
  }
  if (p.inputs.size() != 1 || p.outputs.size() != 1) return mismatch();
  if (kind == MoveKind::kTranspose) {
    const Ints& perm = p.as<MoveParams>().perm;
    if (perm.size() != x.size() || y.size() != x.size()) return mismatch();
    unsigned seen = 0;
    for (size_t a = 0; a < perm.size(); ++a) {
      if (perm[a] < 0 || perm[a] >= x.rank() || (seen >> perm[a] & 1u) != 0) return mismatch();
      seen |= 1u << perm[a];
      if (x[static_cast<size_t>(perm[a])] != y[a]) return mismatch();
      copy.add(y[a], xs[static_cast<size_t>(perm[a])], ys[a]);
    }
  } else if (kind == MoveKind::kSlice) {
    const Ints &starts = p.as<MoveParams>().starts, steps = p.as<MoveParams>().steps;
    if (starts.size() != x.size() || steps.size() != x.size() || y.size() != x.size()) return mismatch();
    if (y.volume() == 0) return Status();
    for (size_t a = 0; a < x.size(); ++a) {
      const bool inside = starts[a] >= 0 && starts[a] < x[a] &&
                          (y[a] == 1 || (steps[a] > -x[a] && steps[a] < x[a] && steps[a] != 0)) && y[a] <= x[a];
      const int64_t last = inside && y[a] > 1 ? starts[a] + (y[a] - 1) * steps[a] : starts[a];
      if (!inside || last < 0 || last >= x[a])
        return invalid_argument("move slice: axis {} of {} from {} by {} has no {} elements", a, x.to_string(),
                                starts[a], steps[a], y[a]);
      copy.from += starts[a] * xs[a];
      copy.add(y[a], y[a] == 1 ? 0 : steps[a] * xs[a], ys[a]);
    }
  } else if (kind == MoveKind::kExpand) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> over, strides_over(p.inputs[0].layout, x, y));
    if (x.rank() != y.rank() && (p.inputs[0].layout != Layout::kLinear || p.outputs[0].layout != Layout::kLinear))
      return unsupported("move expand that adds axes in layout {}", layout_name(p.outputs[0].layout));
    for (size_t a = 0; a < y.size(); ++a) copy.add(y[a], over[a], ys[a]);
  } else if (kind == MoveKind::kTile) {
    if (x.size() != y.size()) return mismatch();
    for (size_t a = 0; a < y.size(); ++a) {
      if (x[a] == 0 ? y[a] != 0 : y[a] % x[a] != 0) return mismatch();
      copy.add(x[a] == 0 ? 0 : y[a] / x[a], 0, x[a] * ys[a]);
      copy.add(x[a], xs[a], ys[a]);
    }
  } else if (kind == MoveKind::kDepthToSpace || kind == MoveKind::kSpaceToDepth) {
    const bool to_space = kind == MoveKind::kDepthToSpace;
    const int64_t b = p.as<MoveParams>().block;
    const Dims &deep = to_space ? x : y, &wide = to_space ? y : x, &ds = to_space ? xs : ys, &ws = to_space ? ys : xs;
    if (deep.rank() != 4 || wide.rank() != 4 || b < 1 || b > 65536 || deep[0] != wide[0] ||
        deep[1] != wide[1] * b * b || wide[2] != deep[2] * b || wide[3] != deep[3] * b)
      return mismatch();
    const bool crd = p.as<MoveParams>().order == BlockOrder::kCrd;
    const auto add = [&](int64_t extent, int64_t d, int64_t s) {
      copy.add(extent, to_space ? d : s, to_space ? s : d);
    };
    const int64_t channels = wide[1];
    add(deep[0], ds[0], ws[0]);
    add(channels, crd ? ds[1] * b * b : ds[1], ws[1]);
    add(deep[2], ds[2], ws[2] * b);
    add(b, crd ? ds[1] * b : ds[1] * b * channels, ws[2]);
    add(deep[3], ds[3], ws[3] * b);
    add(b, crd ? ds[1] : ds[1] * channels, ws[3]);
  } else if (kind == MoveKind::kPad) {
    const Ints& pads = p.as<MoveParams>().pads;
    const PadMode mode = p.as<MoveParams>().mode;
    if (pads.size() != 2 * x.size() || y.size() != x.size()) return mismatch();
    for (size_t a = 0; a < x.size(); ++a) {
      if (pads[a] + pads[a + x.size()] + x[a] != y[a]) return mismatch();
      if (x[a] == 0 && mode != PadMode::kConstant && y[a] != 0) return mismatch();
    }
    if (y.volume() == 0) return Status();
    if (few_bits(p.inputs[0].dtype)) return unsupported("padding of parts of bytes");
    return add_pad(p, x, y, pads, mode, launches);
  } else {
    return unsupported("move of kind '{}'", name_of(kind));
  }
  return add_copy(std::move(copy), bits, launches);
}

}  // namespace

// Elements of few bits that move as whole bytes are copied like others; the rest goes by way of a byte for each.
Status generate_move(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (!any_few_bits(p)) return move_elements(p, args, launches);
  std::vector<Launch> whole;
  const Status status = move_elements(p, args, &whole);
  if (status.code() != Code::kUnsupported) {
    launches->insert(launches->end(), whole.begin(), whole.end());
    return status;
  }
  Problem bytes = p;
  for (const std::vector<TensorDesc>* operands : {&p.inputs, &p.outputs})
    for (const TensorDesc& t : *operands)
      if (t.dtype != p.inputs[0].dtype) return unsupported("move of unlike operands");
  if (p.inputs[0].dtype == DType::kF4E2M1)
    bytes.as<MoveParams>().value =
        double{f32_to_small_float(DType::kF4E2M1, static_cast<float>(p.as<MoveParams>().value), true)};
  return move_as_bytes(move_elements, std::move(bytes), args, launches);
}

Status generate_reformat(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.size() != 1 || p.outputs.size() != 1 || !p.epilogue.empty() || !(args.inputs[0] == args.outputs[0]))
    return invalid_argument("reformat: {} inputs, {} outputs", p.inputs.size(), p.outputs.size());
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  const Dims& dims = args.inputs[0];
  if (!is_plain(x.layout) || !is_plain(y.layout))
    return unsupported("reformat from {} to {}", layout_name(x.layout), layout_name(y.layout));
  if (x.dtype != y.dtype) {  // a cast: a pointwise step
    Problem cast = p;
    cast.set_family(Family::kPointwise);
    cast.num_main = 0;
    cast.epilogue.outputs = {cast.epilogue.push(PwOp::kCast, y.dtype, cast.epilogue.input(0, x.dtype))};
    return generate_pointwise(cast, args, launches);
  }
  const int bits = dtype_bits(x.dtype);
  if (few_bits(x.dtype) && (x.layout == y.layout || dims.rank() < 3)) {
    Copy all;
    all.add(static_cast<int64_t>(dtype_bytes(x.dtype, dims.volume())), 1, 1);
    return add_copy(std::move(all), 8, launches);
  }
  if (bits_type(bits) == nullptr) return unsupported("reformat of {}", dtype_name(x.dtype));
  const Layout from = dims.rank() < 3 ? Layout::kLinear : x.layout, to = dims.rank() < 3 ? Layout::kLinear : y.layout;
  const Dims xs = layout_strides(from, dims), ys = layout_strides(to, dims);
  Copy copy;
  for (size_t a = 0; a < dims.size(); ++a) copy.add(dims[a], xs[a], ys[a]);
  return add_copy(std::move(copy), bits, launches);
}

}  // namespace wootz::cuda
