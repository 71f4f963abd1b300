#include "backends/cpu/move/boxes.h"

#include "backends/cpu/physical.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

int64_t block_of(Layout layout) { return layout == Layout::kBlocked8 ? 8 : layout == Layout::kBlocked16 ? 16 : 1; }

struct Shape {
  Dims dims, strides;
};

// The problem in terms of plain strided tensors. Blocked layouts become [N, C / block, spatial..., block], row-major.
struct Plain {
  MoveKind kind{};
  std::vector<Shape> in, out;
  int64_t block = 1;
  const Problem* p = nullptr;

  size_t rank() const { return in[0].dims.size(); }
};

Result<Shape> plain_shape(Layout layout, const Dims& dims) {
  const int64_t block = block_of(layout);
  if (block == 1) return Shape{dims, layout_strides(layout, dims)};
  if (dims.rank() >= limits::kMaxRank) return unsupported("move: {} in a blocked layout", dims.to_string());
  if (dims[1] % block != 0) return unsupported("move: {} channels in blocks of {}", dims[1], block);
  Dims d = dims;
  d[1] /= block;
  d.push_back(block);
  return Shape{d, d.strides()};
}

// One value for each axis of the plain shape, from a parameter with one for each logical axis.
Result<std::vector<int64_t>> per_axis(const Plain& m, std::vector<int64_t> values, bool in_blocks, int64_t lane) {
  if (values.size() != m.rank() - (m.block > 1 ? 1u : 0u))
    return invalid_argument("move {}: {} values for {} axes", name_of(m.kind), values.size(), m.rank());
  if (m.block == 1) return values;
  if (in_blocks) {
    if (values[1] % m.block != 0)
      return unsupported("move {}: {} channels in blocks of {}", name_of(m.kind), values[1], m.block);
    values[1] /= m.block;
  } else if (values[1] != lane) {
    return unsupported("move {}: along channels in a blocked layout", name_of(m.kind));
  }
  values.push_back(lane);
  return values;
}

Status mismatch(const Plain& m, const Dims& in, const Dims& out) {
  return invalid_argument("move {}: {} does not give {}", name_of(m.kind), in.to_string(), out.to_string());
}

Status transpose(const Plain& m, Box* box) {
  const Ints& perm = m.p->as<MoveParams>().perm;
  if (m.block > 1) return unsupported("move transpose in a blocked layout");
  if (perm.size() != m.rank() || m.out[0].dims.size() != m.rank()) return mismatch(m, m.in[0].dims, m.out[0].dims);
  unsigned seen = 0;
  for (size_t d = 0; d < perm.size(); ++d) {
    if (perm[d] < 0 || static_cast<size_t>(perm[d]) >= perm.size() || (seen >> perm[d] & 1u) != 0)
      return invalid_argument("move transpose: a permutation with {}", perm[d]);
    seen |= 1u << perm[d];
    const auto from = static_cast<size_t>(perm[d]);
    if (m.in[0].dims[from] != m.out[0].dims[d]) return mismatch(m, m.in[0].dims, m.out[0].dims);
    box->copy.add(m.out[0].dims[d], m.in[0].strides[from], m.out[0].strides[d]);
  }
  return {};
}

Status slice(const Plain& m, Box* box) {
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, per_axis(m, m.p->as<MoveParams>().starts, true, 0));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, per_axis(m, m.p->as<MoveParams>().steps, false, 1));
  const Shape &x = m.in[0], &y = m.out[0];
  if (y.dims.size() != m.rank()) return mismatch(m, x.dims, y.dims);
  if (y.dims.volume() == 0) return {};
  for (size_t d = 0; d < m.rank(); ++d) {
    // Bounds first: nothing below can overflow then.
    const int64_t n = x.dims[d], count = y.dims[d];
    const bool inside =
        starts[d] >= 0 && starts[d] < n && (count == 1 || (steps[d] > -n && steps[d] < n && steps[d] != 0));
    const int64_t last = inside && count > 1 ? starts[d] + (count - 1) * steps[d] : starts[d];
    if (!inside || count > n || last < 0 || last >= n)
      return invalid_argument("move slice: axis {} of {} from {} by {} has no {} elements", d, x.dims.to_string(),
                              starts[d], steps[d], count);
    box->copy.offset(starts[d] * x.strides[d], 0);
    box->copy.add(count, count == 1 ? 0 : steps[d] * x.strides[d], y.strides[d]);
  }
  return {};
}

Status expand(const Plain& m, Box* box) {
  const Shape &x = m.in[0], &y = m.out[0];
  const size_t skip = y.dims.size() - x.dims.size();
  if (x.dims.size() > y.dims.size()) return mismatch(m, x.dims, y.dims);
  for (size_t d = 0; d < y.dims.size(); ++d) {
    int64_t stride = 0;
    if (d >= skip && x.dims[d - skip] != 1) {
      if (x.dims[d - skip] != y.dims[d]) return mismatch(m, x.dims, y.dims);
      stride = x.strides[d - skip];
    }
    box->copy.add(y.dims[d], stride, y.strides[d]);
  }
  return {};
}

Status tile(const Plain& m, Box* box) {
  const Shape &x = m.in[0], &y = m.out[0];
  if (m.block > 1) return unsupported("move tile in a blocked layout");
  if (x.dims.size() != y.dims.size()) return mismatch(m, x.dims, y.dims);
  for (size_t d = 0; d < y.dims.size(); ++d) {
    if (x.dims[d] == 0 ? y.dims[d] != 0 : y.dims[d] % x.dims[d] != 0) return mismatch(m, x.dims, y.dims);
    const int64_t times = x.dims[d] == 0 ? 0 : y.dims[d] / x.dims[d];
    box->copy.add(times, 0, x.dims[d] * y.strides[d]);
    box->copy.add(x.dims[d], x.strides[d], y.strides[d]);
  }
  return {};
}

Status block_move(const Plain& m, bool to_space, Box* box) {
  const int64_t b = m.p->as<MoveParams>().block;
  if (m.block > 1) return unsupported("move {} in a blocked layout", name_of(m.kind));
  const Shape &deep = to_space ? m.in[0] : m.out[0], &wide = to_space ? m.out[0] : m.in[0];
  const auto fits = [&] {
    if (deep.dims.rank() != 4 || wide.dims.rank() != 4 || b < 1 || b > 65536) return false;
    return deep.dims[0] == wide.dims[0] && deep.dims[1] == wide.dims[1] * b * b && wide.dims[2] == deep.dims[2] * b &&
           wide.dims[3] == deep.dims[3] * b;
  };
  if (!fits()) return mismatch(m, m.in[0].dims, m.out[0].dims);
  const bool crd = to_space && m.p->as<MoveParams>().order == BlockOrder::kCrd;
  const int64_t channels = wide.dims[1], step = deep.strides[1];
  const auto add = [&](int64_t extent, int64_t d, int64_t w) {
    box->copy.add(extent, to_space ? d : w, to_space ? w : d);
  };
  add(deep.dims[0], deep.strides[0], wide.strides[0]);
  add(channels, crd ? step * b * b : step, wide.strides[1]);
  add(deep.dims[2], deep.strides[2], wide.strides[2] * b);
  add(b, crd ? step * b : step * b * channels, wide.strides[2]);
  add(deep.dims[3], deep.strides[3], wide.strides[3] * b);
  add(b, crd ? step : step * channels, wide.strides[3]);
  return {};
}

// Concatenation (many to one) and splitting (one to many): the parts lie one after the other along an axis of the
// whole.
Status join(const Plain& m, bool concat, MovePlan* plan) {
  const std::vector<Shape>& parts = concat ? m.in : m.out;
  const Shape& whole = concat ? m.out[0] : m.in[0];
  const int64_t axis = m.p->as<MoveParams>().axis;
  const int logical = whole.dims.rank() - (m.block > 1 ? 1 : 0);
  if (axis < 0 || axis >= logical)
    return invalid_argument("move {}: axis {} of {}", name_of(m.kind), axis, whole.dims.to_string());
  const auto a = static_cast<size_t>(axis);
  int64_t at = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Shape& part = parts[i];
    Box box{concat ? static_cast<int>(i) : 0, concat ? 0 : static_cast<int>(i), StridedCopy(plan->bytes)};
    if (part.dims.size() != whole.dims.size()) return mismatch(m, part.dims, whole.dims);
    for (size_t d = 0; d < whole.dims.size(); ++d) {
      if (d != a && part.dims[d] != whole.dims[d]) return mismatch(m, part.dims, whole.dims);
      if (concat)
        box.copy.add(part.dims[d], part.strides[d], whole.strides[d]);
      else
        box.copy.add(part.dims[d], whole.strides[d], part.strides[d]);
    }
    const int64_t offset = at * whole.strides[a];
    if (concat)
      box.copy.offset(0, offset);
    else
      box.copy.offset(offset, 0);
    at += part.dims[a];
    plan->boxes.push_back(box);
  }
  if (at != whole.dims[a])
    return invalid_argument("move {}: parts of {} elements along axis {} of {}", name_of(m.kind), at, axis,
                            whole.dims.to_string());
  return {};
}

uint64_t fill_bits(DType type, double value) {
  uint64_t bits = 0;
  if (type == DType::kF32) {
    const auto f = static_cast<float>(value);
    std::memcpy(&bits, &f, sizeof(f));
  } else if (type == DType::kF64) {
    std::memcpy(&bits, &value, sizeof(value));
  } else if (type == DType::kF16) {
    bits = f32_to_f16(static_cast<float>(value));
  } else if (type == DType::kBF16) {
    bits = f32_to_bf16(static_cast<float>(value));
  } else if (is_float(type)) {
    bits = f32_to_small_float(type, static_cast<float>(value), true);
  } else if (type == DType::kBool) {
    bits = value != 0;
  } else if (type == DType::kU64 && value >= 0x1p63) {
    bits = value >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(value);
  } else if (value == value) {  // two's complement of any width
    const int64_t whole = value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : static_cast<int64_t>(value);
    bits = static_cast<uint64_t>(whole);
  }
  return bits;
}

// Where index i of a padded axis of n elements is read.
int64_t source_index(PadMode mode, int64_t i, int64_t n) {
  if (mode == PadMode::kEdge) return i < 0 ? 0 : i >= n ? n - 1 : i;
  if (mode == PadMode::kWrap) return ((i % n) + n) % n;
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1), r = ((i % period) + period) % period;
  return r < n ? r : period - r;
}

Status pad(const Plain& m, MovePlan* plan) {
  const Shape &x = m.in[0], &y = m.out[0];
  const Ints& all = m.p->as<MoveParams>().pads;
  const size_t logical = m.rank() - (m.block > 1 ? 1 : 0);
  if (all.size() != 2 * logical || y.dims.size() != m.rank())
    return invalid_argument("move pad: {} pads for {}", all.size(), x.dims.to_string());
  const auto half = all.begin() + static_cast<ptrdiff_t>(logical);
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> begins, per_axis(m, {all.begin(), half}, true, 0));
  for (size_t d = 0; d < m.rank(); ++d) {
    const int64_t end = d < logical ? all[logical + d] / (d == 1 ? m.block : 1) : 0;
    constexpr int64_t kMost = limits::kMaxElements;
    if (begins[d] > kMost || begins[d] < -kMost || end > kMost || end < -kMost ||
        x.dims[d] + begins[d] + end != y.dims[d])
      return mismatch(m, x.dims, y.dims);
  }
  const PadMode mode = m.p->as<MoveParams>().mode;
  if (y.dims.volume() == 0) return {};
  if (mode != PadMode::kConstant) {
    if (m.block > 1) return unsupported("move pad {} in a blocked layout", name_of(mode));
    if (x.dims.volume() == 0) return invalid_argument("move pad {} of an empty tensor", name_of(mode));
    plan->map.offsets.resize(m.rank());
    const Layout layout = m.p->outputs[0].layout;
    for (size_t d = 0; d < m.rank(); ++d) {
      auto& offsets =
          plan->map
              .offsets[static_cast<size_t>(physical_axis(layout, static_cast<int>(m.rank()), static_cast<int>(d)))];
      for (int64_t i = 0; i < y.dims[d]; ++i)
        offsets.push_back(source_index(mode, i - begins[d], x.dims[d]) * x.strides[d]);
    }
    return {};
  }
  plan->fill = fill_bits(m.p->inputs[0].dtype, m.p->as<MoveParams>().value);
  // The part that is copied, and around it, axis by axis, what is filled: full extent along later axes, the copied part
  // along earlier ones.
  std::vector<int64_t> low(m.rank()), high(m.rank());
  for (size_t d = 0; d < m.rank(); ++d) {
    low[d] = std::min(std::max<int64_t>(0, begins[d]), y.dims[d]);
    high[d] = std::max(low[d], std::min(y.dims[d], begins[d] + x.dims[d]));
  }
  Box inside{0, 0, StridedCopy(plan->bytes)};
  for (size_t d = 0; d < m.rank(); ++d) {
    inside.copy.add(high[d] - low[d], x.strides[d], y.strides[d]);
    inside.copy.offset((low[d] - begins[d]) * x.strides[d], low[d] * y.strides[d]);
  }
  plan->boxes.push_back(inside);
  for (size_t axis = 0; axis < m.rank(); ++axis)
    for (const bool after : {false, true}) {
      Box edge{Box::kFillValue, 0, StridedCopy(plan->bytes)};
      for (size_t d = 0; d < m.rank(); ++d) {
        const int64_t from = d < axis ? low[d] : d > axis ? 0 : after ? high[d] : 0;
        const int64_t to = d < axis ? high[d] : d > axis ? y.dims[d] : after ? y.dims[d] : low[d];
        edge.copy.add(to - from, 0, y.strides[d]);
        edge.copy.offset(0, from * y.strides[d]);
      }
      plan->boxes.push_back(edge);
    }
  return {};
}

}  // namespace

Result<MovePlan> plan_move(const Problem& p, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  if (inputs.size() != p.inputs.size() || outputs.size() != p.outputs.size() || inputs.empty() || outputs.empty())
    return invalid_argument("move: {} inputs, {} outputs", inputs.size(), outputs.size());
  Plain m;
  m.p = &p;
  m.kind = p.as<MoveParams>().kind;
  m.block = block_of(p.outputs[0].layout);
  for (size_t i = 0; i < inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(Shape s, plain_shape(p.inputs[i].layout, inputs[i]));
    m.in.push_back(s);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(Shape s, plain_shape(p.outputs[i].layout, outputs[i]));
    m.out.push_back(s);
  }
  MovePlan plan;
  plan.bytes = dtype_bits(p.outputs[0].dtype) / 8;
  const bool concat = m.kind == MoveKind::kConcat, split = m.kind == MoveKind::kSplit;
  if ((!concat && inputs.size() != 1) || (!split && outputs.size() != 1))
    return invalid_argument("move {}: {} inputs, {} outputs", name_of(m.kind), inputs.size(), outputs.size());
  Box box{0, 0, StridedCopy(plan.bytes)};
  Status status;
  if (concat || split)
    status = join(m, concat, &plan);
  else if (m.kind == MoveKind::kPad)
    status = pad(m, &plan);
  else if (m.kind == MoveKind::kTranspose)
    status = transpose(m, &box);
  else if (m.kind == MoveKind::kSlice)
    status = slice(m, &box);
  else if (m.kind == MoveKind::kExpand)
    status = expand(m, &box);
  else if (m.kind == MoveKind::kTile)
    status = tile(m, &box);
  else if (m.kind == MoveKind::kDepthToSpace)
    status = block_move(m, true, &box);
  else
    status = block_move(m, false, &box);
  WOOTZ_RETURN_IF_ERROR(status);
  if (!concat && !split && m.kind != MoveKind::kPad && outputs[0].volume() > 0) plan.boxes.push_back(box);
  for (Box& b : plan.boxes) b.copy.prepare();
  return plan;
}

}  // namespace wootz::cpu
