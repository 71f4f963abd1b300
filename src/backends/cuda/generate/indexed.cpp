// Families gather and scatter. An index outside its axis reads as zero and writes nothing: a launch cannot fail for it.
#include <algorithm>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/nibbles.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 256;

Status check_indexed(const Problem& p, int inputs) {
  if (p.inputs.size() != static_cast<size_t>(inputs) || p.num_main != inputs || p.outputs.size() != 1 ||
      !p.epilogue.empty())
    return unsupported("{} of {} inputs", family_name(p.family()), p.inputs.size());
  const DType type = p.inputs[0].dtype, index = p.inputs[1].dtype;
  if (bits_type(dtype_bits(type)) == nullptr || p.outputs[0].dtype != type) return unsupported("{}", dtype_name(type));
  if (index != DType::kI32 && index != DType::kI64) return unsupported("indices of {}", dtype_name(index));
  for (const TensorDesc& t : p.inputs)
    if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  return p.outputs[0].layout == Layout::kLinear ? Status() : unsupported("layout {}", layout_name(p.outputs[0].layout));
}

void begin(const Problem& p, const char* more, int64_t count, Writer* w) {
  const char* type = bits_type(dtype_bits(p.inputs[0].dtype));
  w->raw(prelude());
  w->line(
      "extern \"C\" __global__ void __launch_bounds__({0}) wootz_kernel({1}* __restrict__ y, const {1}* __restrict__ "
      "x, const {2}* __restrict__ idx{3}) {{",
      kBlock, type, register_type(p.inputs[1].dtype), more);
  w->line("  const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;", kBlock, count);
}

void end(int64_t count, std::vector<Pointer> pointers, Writer* w, std::vector<Launch>* launches) {
  w->line("}}");
  Launch launch;
  launch.source = w->text();
  launch.size.block = kBlock;
  launch.size.grid_x = blocks_for(count, kBlock);
  launch.pointers = std::move(pointers);
  launches->push_back(std::move(launch));
}

// Data and results of one type; indices are another's.
bool one_type(const Problem& p) {
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (i != 1 && p.inputs[i].dtype != p.inputs[0].dtype) return false;
  return !p.inputs.empty() && p.outputs.size() == 1 && p.outputs[0].dtype == p.inputs[0].dtype;
}

}  // namespace

Status generate_gather(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (any_few_bits(p))
    return one_type(p) ? move_as_bytes(generate_gather, p, args, launches) : unsupported("gather of unlike operands");
  WOOTZ_RETURN_IF_ERROR(check_indexed(p, 2));
  const Dims &x = args.inputs[0], &index = args.inputs[1], &y = args.outputs[0];
  const GatherKind kind = p.as<GatherParams>().kind;
  const int64_t count = y.volume();
  WOOTZ_RETURN_IF_ERROR(check_count(count));
  const auto mismatch = [&] {
    return invalid_argument("gather {}: {} by {} gives {}", name_of(kind), x.to_string(), index.to_string(),
                            y.to_string());
  };
  const int64_t axis = p.as<GatherParams>().axis, batch = p.as<GatherParams>().batch_dims;
  if (count == 0) return Status();
  Writer w;
  begin(p, "", count, &w);
  if (kind == GatherKind::kGather) {
    if (axis < 0 || axis >= x.rank() || batch < 0 || batch > axis || batch > index.rank()) return mismatch();
    const auto a = static_cast<size_t>(axis), b = static_cast<size_t>(batch);
    for (size_t d = 0; d < b; ++d)
      if (x[d] != index[d]) return mismatch();
    const int64_t inner = volume_of(x, a + 1, x.size()), picks = volume_of(index, b, index.size()),
                  middle = volume_of(x, b, a), extent = x[a];
    if (volume_of(x, 0, a) * picks * inner != count) return mismatch();
    w.line("  const s64 c = i % {0}, j = i / {0}, k = j % {1}, o = j / {1};", inner, picks);
    w.line("  s64 at = (s64)idx[o / {} * {} + k]; if (at < 0) at += {};", middle, picks, extent);
    w.line("  y[i] = at >= 0 && at < {0} ? x[(o * {0} + at) * {1} + c] : 0;", extent, inner);
  } else if (kind == GatherKind::kElements) {
    if (axis < 0 || axis >= x.rank() || index.rank() != x.rank() || !(y == index)) return mismatch();
    const Dims s = x.strides();
    w.line("  s64 rest = i, from = 0;");
    for (size_t d = x.size(); d-- > 0;) {
      if (static_cast<int64_t>(d) != axis && index[d] > x[d]) return mismatch();
      if (static_cast<int64_t>(d) == axis)
        w.line("  rest /= {};", y[d]);
      else
        w.line("  from += rest % {0} * {1}; rest /= {0};", y[d], s[d]);
    }
    const auto a = static_cast<size_t>(axis);
    w.line("  s64 at = (s64)idx[i]; if (at < 0) at += {0};\n  y[i] = at >= 0 && at < {0} ? x[from + at * {1}] : 0;",
           x[a], s[a]);
  } else if (kind == GatherKind::kNd) {
    const auto b = static_cast<size_t>(std::max<int64_t>(0, batch));
    if (index.rank() < 1 || batch < 0 || b >= index.size()) return mismatch();
    const int64_t depth = index.back();
    if (depth < 1 || b + static_cast<size_t>(depth) > x.size()) return mismatch();
    for (size_t d = 0; d < b; ++d)
      if (x[d] != index[d]) return mismatch();
    const int64_t inner = volume_of(x, b + static_cast<size_t>(depth), x.size()), tuples = index.volume() / depth,
                  per_batch = volume_of(index, b, index.size() - 1);
    if (tuples * inner != count) return mismatch();
    const Dims s = x.strides();
    w.line("  const s64 c = i % {0}, j = i / {0};", inner);
    w.line("  s64 from = j / {} * {} + c; bool in = true;", per_batch, b == 0 ? 0 : s[b - 1]);
    for (int64_t k = 0; k < depth; ++k) {
      const size_t d = b + static_cast<size_t>(k);
      w.line(
          "  {{ s64 at = (s64)idx[j * {0} + {1}]; if (at < 0) at += {2}; if (at < 0 || at >= {2}) in = false; from += "
          "at * {3}; }}",
          depth, k, x[d], s[d]);
    }
    w.line("  y[i] = in ? x[from] : 0;");
  } else {
    return unsupported("gather of kind '{}'", name_of(kind));
  }
  end(count, {{true, 0}, {false, 0}, {false, 1}}, &w, launches);
  return Status();
}

namespace {

struct Combine {
  ScatterReduction reduction;
  const char* form;
};
constexpr Combine kCombine[] = {{ScatterReduction::kAdd, "w_add<R>(old, v)"},
                                {ScatterReduction::kMul, "w_mul<R>(old, v)"},
                                {ScatterReduction::kMax, "w_max<R>(old, v)"},
                                {ScatterReduction::kMin, "w_min<R>(old, v)"}};

// Behind the copy. What may meet in one element belongs to one thread, which takes it in the order of the updates: the
// result does not depend on who comes first.
Status scatter_combining(const Problem& p, const BindArgs& args, ScatterReduction reduction,
                         std::vector<Launch>* launches) {
  const Combine* combine = nullptr;
  for (const Combine& c : kCombine)
    if (reduction == c.reduction) combine = &c;
  const DType type = p.inputs[0].dtype;
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  if (combine == nullptr) return unsupported("scatter that combines by '{}'", name_of(reduction));
  const Dims &x = args.inputs[0], &index = args.inputs[1], &updates = args.inputs[2];
  const Dims s = x.strides();
  const char* st = storage_type(type);
  const auto head = [&](int64_t count, Writer* w) {
    w->raw(prelude());
    w->line(
        "extern \"C\" __global__ void __launch_bounds__({0}) wootz_kernel({1}* y, const {2}* __restrict__ idx, const "
        "{1}* "
        "__restrict__ u) {{\n  typedef {3} R;",
        kBlock, st, register_type(p.inputs[1].dtype), register_type(type));
    w->line("  const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;", kBlock, count);
  };
  const bool either = reduction == ScatterReduction::kAdd || reduction == ScatterReduction::kMax;
  const std::string store = fmt::format("const R old = w_get(y[to]), v = w_get(u[from]); y[to] = Put<{}>::to({});", st,
                                        type != DType::kBool ? combine->form
                                        : either             ? "old || v"
                                                             : "old && v");
  Writer w;
  int64_t threads = 0;
  if (p.as<ScatterParams>().kind == ScatterKind::kElements) {  // a line along the axis
    const int64_t axis = p.as<ScatterParams>().axis;
    if (axis < 0 || axis >= x.rank() || index.rank() != x.rank() || !(updates == index))
      return invalid_argument("scatter elements: {} into {}", index.to_string(), x.to_string());
    const auto a = static_cast<size_t>(axis);
    const Dims is = index.strides();
    threads = index.volume() / index[a];
    head(threads, &w);
    w.line("  s64 rest = i, line = 0, place = 0;");
    for (size_t d = x.size(); d-- > 0;) {
      if (d == a) continue;
      if (index[d] > x[d]) return invalid_argument("scatter elements: {} into {}", index.to_string(), x.to_string());
      w.line("  {{ const s64 c = rest % {0}; rest /= {0}; line += c * {1}; place += c * {2}; }}", index[d], is[d],
             s[d]);
    }
    w.line("  for (int k = 0; k < {}; ++k) {{ const s64 from = line + (s64)k * {}; s64 at = (s64)idx[from];", index[a],
           is[a]);
    w.line(
        "    if (at < 0) at += {0}; if (at < 0 || at >= {0}) continue;\n    const s64 to = place + at * {1}; {2} "
        "}}\n}}",
        x[a], s[a], store);
  } else {  // an element of the slices, and some of the slices
    if (index.rank() < 1 || index.back() < 1 || index.back() > x.rank())
      return invalid_argument("scatter nd: {} into {}", index.to_string(), x.to_string());
    const auto depth = static_cast<size_t>(index.back());
    const int64_t inner = volume_of(x, depth, x.size()), tuples = index.volume() / index.back();
    if (tuples * inner != updates.volume())
      return invalid_argument("scatter nd: {} by {} from {}", x.to_string(), index.to_string(), updates.to_string());
    const int64_t shares = std::clamp<int64_t>(8192 / inner, 1, volume_of(x, 0, depth));
    threads = inner * shares;
    head(threads, &w);
    w.line(
        "  const s64 c = i % {0}, share = i / {0};\n  for (s64 j = 0; j < {1}; ++j) {{ s64 slice = 0; bool in = true;",
        inner, tuples);
    for (size_t k = 0; k < depth; ++k)
      w.line(
          "    {{ s64 at = (s64)idx[j * {0} + {1}]; if (at < 0) at += {2}; if (at < 0 || at >= {2}) in = false; slice "
          "= "
          "slice * {2} + at; }}",
          depth, k, x[k]);
    w.line(
        "    if (!in || slice % {} != share) continue;\n    const s64 to = slice * {} + c, from = j * {} + c; {} "
        "}}\n}}",
        shares, inner, inner, store);
  }
  WOOTZ_RETURN_IF_ERROR(check_count(threads));
  Launch launch;
  launch.source = w.text();
  launch.size.block = kBlock;
  launch.size.grid_x = blocks_for(threads, kBlock);
  launch.pointers = {{true, 0}, {false, 1}, {false, 2}};
  launches->push_back(std::move(launch));
  return Status();
}

}  // namespace

Status generate_scatter(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (any_few_bits(p)) {
    if (p.as<ScatterParams>().reduction != ScatterReduction::kNone || !one_type(p))
      return unsupported("scatter that combines {}",
                         dtype_name(p.outputs.empty() ? DType::kInvalid : p.outputs[0].dtype));
    return move_as_bytes(generate_scatter, p, args, launches);
  }
  WOOTZ_RETURN_IF_ERROR(check_indexed(p, 3));
  if (p.inputs[2].dtype != p.inputs[0].dtype) return unsupported("updates of {}", dtype_name(p.inputs[2].dtype));
  const ScatterReduction reduction = p.as<ScatterParams>().reduction;
  const Dims &x = args.inputs[0], &index = args.inputs[1], &updates = args.inputs[2];
  if (!(x == args.outputs[0]))
    return invalid_argument("scatter into {} gives {}", x.to_string(), args.outputs[0].to_string());
  if (x.volume() == 0) return Status();
  WOOTZ_RETURN_IF_ERROR(check_count(std::max(x.volume(), updates.volume())));
  const auto mismatch = [&] {
    return invalid_argument("scatter {}: {} by {} from {}", name_of(p.as<ScatterParams>().kind), x.to_string(),
                            index.to_string(), updates.to_string());
  };
  {
    Writer w;
    begin(p, "", x.volume(), &w);
    w.line("  y[i] = x[i];");
    end(x.volume(), {{true, 0}, {false, 0}, {false, 1}}, &w, launches);
  }
  if (updates.volume() == 0) return Status();
  if (reduction != ScatterReduction::kNone) return scatter_combining(p, args, reduction, launches);
  const Dims s = x.strides();
  Writer w;
  const std::string more = fmt::format(", const {}* __restrict__ u", bits_type(dtype_bits(p.inputs[0].dtype)));
  begin(p, more.c_str(), updates.volume(), &w);
  const ScatterKind kind = p.as<ScatterParams>().kind;
  if (kind == ScatterKind::kElements) {
    const int64_t axis = p.as<ScatterParams>().axis;
    if (axis < 0 || axis >= x.rank() || index.rank() != x.rank() || !(updates == index)) return mismatch();
    w.line("  s64 rest = i, to = 0;");
    for (size_t d = x.size(); d-- > 0;) {
      if (static_cast<int64_t>(d) != axis && index[d] > x[d]) return mismatch();
      if (static_cast<int64_t>(d) == axis)
        w.line("  rest /= {};", updates[d]);
      else
        w.line("  to += rest % {0} * {1}; rest /= {0};", updates[d], s[d]);
    }
    const auto a = static_cast<size_t>(axis);
    w.line("  s64 at = (s64)idx[i]; if (at < 0) at += {0};\n  if (at >= 0 && at < {0}) y[to + at * {1}] = u[i];", x[a],
           s[a]);
  } else if (kind == ScatterKind::kNd) {
    if (index.rank() < 1) return mismatch();
    const int64_t depth = index.back();
    if (depth < 1 || depth > x.rank()) return mismatch();
    const int64_t inner = volume_of(x, static_cast<size_t>(depth), x.size());
    if (index.volume() / depth * inner != updates.volume()) return mismatch();
    w.line("  const s64 c = i % {0}, j = i / {0}; s64 to = c; bool in = true;", inner);
    for (int64_t k = 0; k < depth; ++k) {
      const auto d = static_cast<size_t>(k);
      w.line(
          "  {{ s64 at = (s64)idx[j * {0} + {1}]; if (at < 0) at += {2}; if (at < 0 || at >= {2}) in = false; to += at "
          "* {3}; }}",
          depth, k, x[d], s[d]);
    }
    w.line("  if (in) y[to] = u[i];");
  } else {
    return unsupported("scatter of kind '{}'", name_of(kind));
  }
  end(updates.volume(), {{true, 0}, {false, 0}, {false, 1}, {false, 2}}, &w, launches);
  return Status();
}

}  // namespace wootz::cuda
