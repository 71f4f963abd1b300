// Families move and reformat as strided copies: every kind is one or more loops over axes with a stride on either side.
#include "backends/cuda/generate/copies.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/nibbles.h"
#include "base/half.h"

namespace wootz::cuda {
namespace {

Status mismatch(MoveKind kind, const Dims& x, const Dims& y) {
  return invalid_argument("move {}: {} gives {}", name_of(kind), x.to_string(), y.to_string());
}

Status add_copy(Copy copy, int bits, bool arguments, std::vector<Launch>* launches) {
  std::vector<Copy> one;
  one.push_back(std::move(copy));
  return add_copies(std::move(one), bits, arguments, launches);
}

Status add_pad(const Problem& p, const Dims& x, const Dims& y, bool arguments, std::vector<Launch>* launches) {
  const MoveParams& params = p.as<MoveParams>();
  if (params.pads.size() != 2 * x.size() || y.size() != x.size()) return mismatch(params.kind, x, y);
  for (size_t a = 0; a < x.size(); ++a) {
    if (params.pads[a] + params.pads[a + x.size()] + x[a] != y[a]) return mismatch(params.kind, x, y);
    if (x[a] == 0 && params.mode != PadMode::kConstant && y[a] != 0) return mismatch(params.kind, x, y);
  }
  if (y.volume() == 0) return Status();
  const DType type = p.inputs[0].dtype;
  if (few_bits(type)) return unsupported("padding of parts of bytes");
  const Dims xs = layout_strides(p.inputs[0].layout, x);
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  WOOTZ_RETURN_IF_ERROR(check_count(y.volume()));
  KernelSource source("move/pad.cuh", arguments);
  source.type("T", storage_type(type));
  source.fixed("kThreads", kBlock);
  source.fixed_real("kValue", params.value);
  source.choice("Mode", pad_mode(params.mode));
  source.operand("T* __restrict__", "y", {true, 0});
  source.operand("const T*", "x", {false, 0});
  source.number("count", y.volume());
  std::string steps;
  const std::vector<int> order = memory_order(y.rank() < 3 ? Layout::kLinear : p.outputs[0].layout, y.rank());
  for (size_t k = order.size(); k-- > 0;) {
    const auto a = static_cast<size_t>(order[k]);
    source.number(fmt::format("y{}", a), y[a]);
    source.number(fmt::format("x{}", a), x[a]);
    source.number(fmt::format("pad{}", a), params.pads[a]);
    source.number(fmt::format("stride{}", a), xs[a]);
    steps +=
        fmt::format("  from += Mode::at(i % c.y{0} - c.pad{0}, c.x{0}, inside) * c.stride{0};\n  i /= c.y{0};\n", a);
  }
  source.code("template <class Mode>\nW_FN s64 source(const Constants& c, s64 i, bool* inside) {\n  s64 from = 0;\n" +
              steps + "  return from;\n}\n");
  return source.finish(kBlock, blocks_for(y.volume(), kBlock), launches);
}

// The ends of a move with one input and one output.
struct Ends {
  const MoveParams& params;
  const Problem& problem;
  const Dims &x, &y;
  Dims xs, ys;  // strides
  Status mismatch() const { return wootz::cuda::mismatch(params.kind, x, y); }
};

Result<Copy> copy_transposed(const Ends& e) {
  const Ints& perm = e.params.perm;
  if (perm.size() != e.x.size() || e.y.size() != e.x.size()) return e.mismatch();
  Copy copy;
  unsigned seen = 0;
  for (size_t a = 0; a < perm.size(); ++a) {
    if (perm[a] < 0 || perm[a] >= e.x.rank() || (seen >> perm[a] & 1u) != 0) return e.mismatch();
    seen |= 1u << perm[a];
    if (e.x[static_cast<size_t>(perm[a])] != e.y[a]) return e.mismatch();
    copy.add(e.y[a], e.xs[static_cast<size_t>(perm[a])], e.ys[a]);
  }
  return copy;
}

Result<Copy> copy_slice(const Ends& e) {
  const Ints &starts = e.params.starts, &steps = e.params.steps;
  const Dims &x = e.x, &y = e.y;
  if (starts.size() != x.size() || steps.size() != x.size() || y.size() != x.size()) return e.mismatch();
  Copy copy;
  if (y.volume() == 0) {
    copy.add(0, 0, 0);
    return copy;
  }
  for (size_t a = 0; a < x.size(); ++a) {
    const bool inside = starts[a] >= 0 && starts[a] < x[a] &&
                        (y[a] == 1 || (steps[a] > -x[a] && steps[a] < x[a] && steps[a] != 0)) && y[a] <= x[a];
    const int64_t last = inside && y[a] > 1 ? starts[a] + (y[a] - 1) * steps[a] : starts[a];
    if (!inside || last < 0 || last >= x[a])
      return invalid_argument("move slice: axis {} of {} from {} by {} has no {} elements", a, x.to_string(), starts[a],
                              steps[a], y[a]);
    copy.from += starts[a] * e.xs[a];
    copy.add(y[a], y[a] == 1 ? 0 : steps[a] * e.xs[a], e.ys[a]);
  }
  return copy;
}

Result<Copy> copy_expanded(const Ends& e) {
  const Layout from = e.problem.inputs[0].layout, to = e.problem.outputs[0].layout;
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> over, strides_over(from, e.x, e.y));
  if (e.x.rank() != e.y.rank() && (from != Layout::kLinear || to != Layout::kLinear))
    return unsupported("move expand that adds axes in layout {}", layout_name(to));
  Copy copy;
  for (size_t a = 0; a < e.y.size(); ++a) copy.add(e.y[a], over[a], e.ys[a]);
  return copy;
}

Result<Copy> copy_tiled(const Ends& e) {
  const Dims &x = e.x, &y = e.y;
  if (x.size() != y.size()) return e.mismatch();
  Copy copy;
  for (size_t a = 0; a < y.size(); ++a) {
    if (x[a] == 0 ? y[a] != 0 : y[a] % x[a] != 0) return e.mismatch();
    copy.add(x[a] == 0 ? 0 : y[a] / x[a], 0, x[a] * e.ys[a]);
    copy.add(x[a], e.xs[a], e.ys[a]);
  }
  return copy;
}

// Depth to space, and back.
Result<Copy> copy_blocks(const Ends& e) {
  const bool to_space = e.params.kind == MoveKind::kDepthToSpace;
  const int64_t b = e.params.block;
  const Dims &deep = to_space ? e.x : e.y, &wide = to_space ? e.y : e.x, &ds = to_space ? e.xs : e.ys,
             &ws = to_space ? e.ys : e.xs;
  if (deep.rank() != 4 || wide.rank() != 4 || b < 1 || b > 65536 || deep[0] != wide[0] || deep[1] != wide[1] * b * b ||
      wide[2] != deep[2] * b || wide[3] != deep[3] * b)
    return e.mismatch();
  const bool crd = e.params.order == BlockOrder::kCrd;
  const int64_t channels = wide[1];
  Copy copy;
  const auto add = [&](int64_t extent, int64_t d, int64_t s) { copy.add(extent, to_space ? d : s, to_space ? s : d); };
  add(deep[0], ds[0], ws[0]);
  add(channels, crd ? ds[1] * b * b : ds[1], ws[1]);
  add(deep[2], ds[2], ws[2] * b);
  add(b, crd ? ds[1] * b : ds[1] * b * channels, ws[2]);
  add(deep[3], ds[3], ws[3] * b);
  add(b, crd ? ds[1] : ds[1] * channels, ws[3]);
  return copy;
}

constexpr struct {
  MoveKind kind;
  Result<Copy> (*plan)(const Ends& ends);
} kMoves[] = {
    {MoveKind::kTranspose, copy_transposed}, {MoveKind::kSlice, copy_slice},
    {MoveKind::kExpand, copy_expanded},      {MoveKind::kTile, copy_tiled},
    {MoveKind::kDepthToSpace, copy_blocks},  {MoveKind::kSpaceToDepth, copy_blocks},
};

Dims strides_of(const TensorDesc& t, const Dims& dims) { return layout_strides(t.layout, dims); }

// Concatenation and split: a copy for each part.
Result<std::vector<Copy>> copy_parts(const Problem& p, const BindArgs& args) {
  const MoveParams& params = p.as<MoveParams>();
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const int64_t axis = params.axis;
  const bool concat = params.kind == MoveKind::kConcat;
  const std::span<const Dims> parts = concat ? args.inputs : args.outputs;
  const Dims& whole = concat ? y : x;
  if (axis < 0 || axis >= whole.rank() || (concat ? p.outputs.size() : p.inputs.size()) != 1)
    return mismatch(params.kind, x, y);
  const Dims ws = concat ? strides_of(p.outputs[0], y) : strides_of(p.inputs[0], x);
  int64_t at = 0;
  std::vector<Copy> copies;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].rank() != whole.rank()) return mismatch(params.kind, x, y);
    const Dims ps = strides_of(concat ? p.inputs[i] : p.outputs[i], parts[i]);
    Copy part;
    for (size_t a = 0; a < whole.size(); ++a) {
      if (static_cast<int64_t>(a) != axis && parts[i][a] != whole[a]) return mismatch(params.kind, x, y);
      part.add(parts[i][a], concat ? ps[a] : ws[a], concat ? ws[a] : ps[a]);
    }
    (concat ? part.to : part.from) = at * ws[static_cast<size_t>(axis)];
    (concat ? part.input : part.output) = static_cast<int>(i);
    at += parts[i][static_cast<size_t>(axis)];
    copies.push_back(std::move(part));
  }
  if (at != whole[static_cast<size_t>(axis)]) return mismatch(params.kind, x, y);
  return copies;
}

Status check_move(const Problem& p) {
  if (p.inputs.empty() || p.outputs.empty() || static_cast<size_t>(p.num_main) != p.inputs.size())
    return invalid_argument("move: {} inputs, {} outputs", p.inputs.size(), p.outputs.size());
  if (!p.epilogue.empty()) return unsupported("move with an epilogue");
  const DType type = p.inputs[0].dtype;
  if (bits_type(dtype_bits(type)) == nullptr && !few_bits(type)) return unsupported("move of {}", dtype_name(type));
  for (const std::vector<TensorDesc>* operands : {&p.inputs, &p.outputs})
    for (const TensorDesc& t : *operands)
      if (t.dtype != type || !is_plain(t.layout)) return unsupported("move of unlike operands");
  return Status();
}

Status move_elements(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_move(p));
  const MoveParams& params = p.as<MoveParams>();
  const bool arguments = transient(p, args);
  const int bits = dtype_bits(p.inputs[0].dtype);
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  if (params.kind == MoveKind::kConcat || params.kind == MoveKind::kSplit) {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<Copy> copies, copy_parts(p, args));
    return add_copies(std::move(copies), bits, arguments, launches);
  }
  if (p.inputs.size() != 1 || p.outputs.size() != 1) return mismatch(params.kind, x, y);
  if (params.kind == MoveKind::kPad) return add_pad(p, x, y, arguments, launches);
  for (const auto& move : kMoves) {
    if (move.kind != params.kind) continue;
    WOOTZ_ASSIGN_OR_RETURN(Copy copy,
                           move.plan({params, p, x, y, strides_of(p.inputs[0], x), strides_of(p.outputs[0], y)}));
    return add_copy(std::move(copy), bits, arguments, launches);
  }
  return unsupported("move of kind '{}'", name_of(params.kind));
}

}  // namespace

const char* pad_mode(PadMode mode) {
  switch (mode) {
    case PadMode::kConstant: return "PadConstant";
    case PadMode::kEdge: return "PadEdge";
    case PadMode::kWrap: return "PadWrap";
    case PadMode::kReflect: return "PadReflect";
  }
  return "PadConstant";
}

// Elements of few bits that move as whole bytes are copied like others; the rest goes by way of a byte for each.
Status generate_move(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (!p.epilogue.empty() && p.as<MoveParams>().kind == MoveKind::kConcat) return add_concat(p, args, launches);
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
        f32_to_small_float(DType::kF4E2M1, static_cast<float>(p.as<MoveParams>().value), true);
  return move_as_bytes(move_elements, std::move(bytes), args, launches);
}

Status generate_reformat(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.size() != 1 || p.outputs.size() != 1 || !p.epilogue.empty() || !(args.inputs[0] == args.outputs[0]))
    return invalid_argument("reformat: {} inputs, {} outputs", p.inputs.size(), p.outputs.size());
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  const Dims& dims = args.inputs[0];
  if (x.layout == Layout::kOpaque || y.layout == Layout::kOpaque) return unsupported("reformat of packed tensors");
  if ((!is_plain(x.layout) || !is_plain(y.layout)) && dims.rank() >= 3)
    return add_regrouped(p, dims, transient(p, args), launches);
  if (x.dtype != y.dtype) {  // a cast: a pointwise step
    Problem cast = p;
    cast.set_family(Family::kPointwise);
    cast.num_main = 0;
    cast.epilogue.outputs = {cast.epilogue.push(PwOp::kCast, y.dtype, cast.epilogue.input(0, x.dtype))};
    return generate_pointwise(cast, args, launches);
  }
  const int bits = dtype_bits(x.dtype);
  const bool arguments = transient(p, args);
  if (few_bits(x.dtype) && (x.layout == y.layout || dims.rank() < 3)) {
    Copy all;
    all.add(static_cast<int64_t>(dtype_bytes(x.dtype, dims.volume())), 1, 1);
    return add_copy(std::move(all), 8, arguments, launches);
  }
  if (bits_type(bits) == nullptr) return unsupported("reformat of {}", dtype_name(x.dtype));
  const Layout from = dims.rank() < 3 ? Layout::kLinear : x.layout, to = dims.rank() < 3 ? Layout::kLinear : y.layout;
  const Dims xs = layout_strides(from, dims), ys = layout_strides(to, dims);
  Copy copy;
  for (size_t a = 0; a < dims.size(); ++a) copy.add(dims[a], xs[a], ys[a]);
  return add_copy(std::move(copy), bits, arguments, launches);
}

}  // namespace wootz::cuda
