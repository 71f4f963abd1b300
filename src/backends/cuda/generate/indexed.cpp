// Families gather and scatter. An index outside its axis reads as zero and writes nothing: a launch cannot fail for it.
#include <algorithm>

#include "backends/cuda/generate/copies.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/nibbles.h"

namespace wootz::cuda {
namespace {

Status check_indexed(const Problem& p, int inputs) {
  if (p.inputs.size() < static_cast<size_t>(inputs) || p.num_main != inputs || p.outputs.size() != 1 ||
      (p.epilogue.empty() && p.inputs.size() != static_cast<size_t>(inputs)))
    return unsupported("{} of {} inputs", family_name(p.family()), p.inputs.size());
  const DType type = p.inputs[0].dtype, index = p.inputs[1].dtype;
  if (bits_type(dtype_bits(type)) == nullptr) return unsupported("{}", dtype_name(type));
  if (p.epilogue.empty() ? p.outputs[0].dtype != type : !p.is(Family::kGather))
    return unsupported("{} of {} that gives {}", family_name(p.family()), dtype_name(type),
                       dtype_name(p.outputs[0].dtype));
  if (index != DType::kI32 && index != DType::kI64) return unsupported("indices of {}", dtype_name(index));
  for (const TensorDesc& t : p.inputs)
    if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  return p.outputs[0].layout == Layout::kLinear ? Status() : unsupported("layout {}", layout_name(p.outputs[0].layout));
}

// Data and results of one type; indices are another's.
bool one_type(const Problem& p) {
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (i != 1 && p.inputs[i].dtype != p.inputs[0].dtype) return false;
  return !p.inputs.empty() && p.outputs.size() == 1 && p.outputs[0].dtype == p.inputs[0].dtype;
}

// Elements that are only moved.
const char* moved_type(const Problem& p) { return bits_type(dtype_bits(p.inputs[0].dtype)); }

// Rows are latency: of few threads a block, all multiprocessors have some.
int threads_of(const Problem& p) { return p.is(Family::kGather) ? 128 : kBlock; }

// A kernel of `count` threads with the operands y, x (of a gather), index and updates (of a scatter).
KernelSource begin(std::string_view file, const Problem& p, const BindArgs& args, const char* type, int64_t count) {
  const bool scatters = p.is(Family::kScatter);
  const bool combines = scatters && p.as<ScatterParams>().reduction != ScatterReduction::kNone;
  KernelSource source(file, transient(p, args));
  source.type("T", type);
  source.fixed("kThreads", threads_of(p));
  if (!p.epilogue.empty())
    source.operand(fmt::format("{}* __restrict__", storage_type(p.outputs[0].dtype)), "y", {true, 0});
  else
    source.operand(combines ? "T*" : "T* __restrict__", "y", {true, 0});
  if (!scatters) source.operand("const T*", "x", {false, 0});
  source.operand(fmt::format("const {}*", register_type(p.inputs[1].dtype)), "index", {false, 1});
  if (scatters) source.operand("const T*", "updates", {false, 2});
  source.number("count", count);
  return source;
}

Status finish(const Problem& p, int64_t count, KernelSource* source, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_count(count));
  return source->finish(threads_of(p), blocks_for(count, threads_of(p)), launches);
}

// All axes but one, with the strides of the given operands.
std::vector<Axis> axes_beside(size_t axis, const Dims& extents, const std::vector<Dims>& strides) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (d == axis) continue;
    axes.push_back({extents[d], {}});
    for (const Dims& s : strides) axes.back().strides.push_back(s[d]);
  }
  return merge_axes(std::move(axes));
}

// The axes of all elements of `extents`, with strides `strides` beside `axis` and none along it.
std::vector<Axis> axes_of_lines(size_t axis, const Dims& extents, const Dims& strides) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < extents.size(); ++d) axes.push_back({extents[d], {d == axis ? 0 : strides[d]}});
  return merge_axes(std::move(axes));
}

// An index for each element, along one axis of `whole`.
bool fits_elements(int64_t axis, const Dims& whole, const Dims& index) {
  if (axis < 0 || axis >= whole.rank() || index.rank() != whole.rank()) return false;
  for (size_t d = 0; d < whole.size(); ++d)
    if (static_cast<int64_t>(d) != axis && index[d] > whole[d]) return false;
  return true;
}

// Extents and strides of axes [first, first + depth), as tuples of indices count them.
void add_tuples(const Dims& whole, const Dims& strides, size_t first, size_t depth, KernelSource* source) {
  std::vector<int64_t> extents, steps;
  for (size_t k = first; k < first + depth; ++k) {
    extents.push_back(whole[k]);
    steps.push_back(strides[k]);
  }
  source->fixed("kDepth", static_cast<int64_t>(depth));
  source->list("extent", extents);
  source->list("stride", steps);
}

Status mismatch(const char* family, const char* kind, const Dims& x, const Dims& index, const Dims& other) {
  return invalid_argument("{} {}: {} by {} with {}", family, kind, x.to_string(), index.to_string(), other.to_string());
}

// Axes of the result with the strides of what the expression reads.
Result<std::vector<Axis>> axes_of_expression(const Problem& p, const BindArgs& args) {
  const Dims& y = args.outputs[0];
  std::vector<Axis> axes;
  for (const int64_t extent : y) axes.push_back({extent, {}});
  for (size_t i = 2; i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, strides_over(Layout::kLinear, args.inputs[i], y));
    for (size_t d = 0; d < axes.size(); ++d) axes[d].strides.push_back(strides[d]);
  }
  return merge_axes(std::move(axes));
}

// results() of gather/slices.cuh; `axes` are counted in vectors.
Status add_results(const Problem& p, const std::vector<Axis>& axes, KernelSource* source) {
  constexpr std::string_view kParameters = "N i, const Pack<T, kVector>& x";
  if (p.epilogue.empty()) {
    source->type("Y", moved_type(p));
    source->code(fmt::format("W_FN Pack<Y, kVector> results(const Operands&, const Constants&, {}) {{ return x; }}\n",
                             kParameters));
    return Status();
  }
  source->type("Y", storage_type(p.outputs[0].dtype));
  source->epilogue_operands(p);
  std::vector<std::string> names, inputs{"w_get(x.v[k])"};
  for (size_t k = 1; k + 1 < p.inputs.size(); ++k) names.push_back(fmt::format("e{}", k));
  source->walk("At", "at", axes, names);
  const VectorReads reads = vector_reads(p, 2, axes, names, 0, "at_i");
  inputs.insert(inputs.end(), reads.inputs.begin(), reads.inputs.end());
  return source->results(p.epilogue, kParameters, "  const At at_i = at(c, (s64)i);\n" + reads.lines, inputs);
}

Status gather_slices(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const Dims &x = args.inputs[0], &index = args.inputs[1], &y = args.outputs[0];
  const int64_t axis = p.as<GatherParams>().axis, batch = p.as<GatherParams>().batch_dims, count = y.volume();
  if (axis < 0 || axis >= x.rank() || batch < 0 || batch > axis || batch > index.rank())
    return mismatch("gather", "slices", x, index, y);
  const auto a = static_cast<size_t>(axis), b = static_cast<size_t>(batch);
  for (size_t d = 0; d < b; ++d)
    if (x[d] != index[d]) return mismatch("gather", "slices", x, index, y);
  const int64_t inner = volume_of(x, a + 1, x.size()), picks = volume_of(index, b, index.size());
  if (volume_of(x, 0, a) * picks * inner != count) return mismatch("gather", "slices", x, index, y);
  const DType type = p.inputs[0].dtype;
  if (!p.epilogue.empty()) WOOTZ_RETURN_IF_ERROR(check_epilogue(p, type));
  WOOTZ_ASSIGN_OR_RETURN(std::vector<Axis> axes, axes_of_expression(p, args));
  int largest = std::max(dtype_bits(type), dtype_bits(p.outputs[0].dtype)) / 8;
  for (size_t i = 2; i < p.inputs.size(); ++i) largest = std::max(largest, dtype_bits(p.inputs[i].dtype) / 8);
  int vector = vector_length(axes, largest);
  while (inner % vector != 0) vector /= 2;
  count_in_vectors(vector, &axes);
  KernelSource source =
      begin("gather/slices.cuh", p, args, p.epilogue.empty() ? moved_type(p) : storage_type(type), count / vector);
  source.type("N", count < INT32_MAX ? "u32" : "u64");
  source.fixed("kVector", vector);
  source.number("inner", inner / vector);
  source.number("picks", picks);
  source.number("middle", volume_of(x, b, a));
  source.number("extent", x[a]);
  WOOTZ_RETURN_IF_ERROR(add_results(p, axes, &source));
  return finish(p, count / vector, &source, launches);
}

Status gather_elements(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const Dims &x = args.inputs[0], &index = args.inputs[1], &y = args.outputs[0];
  const int64_t axis = p.as<GatherParams>().axis;
  if (!fits_elements(axis, x, index) || !(y == index)) return mismatch("gather", "elements", x, index, y);
  const auto a = static_cast<size_t>(axis);
  const Dims strides = x.strides();
  KernelSource source = begin("gather/elements.cuh", p, args, moved_type(p), y.volume());
  source.number("extent", x[a]);
  source.number("stride", strides[a]);
  source.walk("Line", "line", axes_of_lines(a, y, strides), {"x"});
  return finish(p, y.volume(), &source, launches);
}

Status gather_tuples(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const Dims &x = args.inputs[0], &index = args.inputs[1], &y = args.outputs[0];
  const int64_t batch = p.as<GatherParams>().batch_dims, count = y.volume();
  const auto b = static_cast<size_t>(std::max<int64_t>(0, batch));
  if (index.rank() < 1 || batch < 0 || b >= index.size()) return mismatch("gather", "tuples", x, index, y);
  const int64_t depth = index.back();
  if (depth < 1 || b + static_cast<size_t>(depth) > x.size()) return mismatch("gather", "tuples", x, index, y);
  for (size_t d = 0; d < b; ++d)
    if (x[d] != index[d]) return mismatch("gather", "tuples", x, index, y);
  const int64_t inner = volume_of(x, b + static_cast<size_t>(depth), x.size());
  if (index.volume() / depth * inner != count) return mismatch("gather", "tuples", x, index, y);
  const Dims strides = x.strides();
  KernelSource source = begin("gather/tuples.cuh", p, args, moved_type(p), count);
  source.number("inner", inner);
  source.number("tuples", volume_of(index, b, index.size() - 1));
  source.number("step", b == 0 ? 0 : strides[b - 1]);
  add_tuples(x, strides, b, static_cast<size_t>(depth), &source);
  return finish(p, count, &source, launches);
}

}  // namespace

Status generate_gather(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (any_few_bits(p))
    return one_type(p) && p.epilogue.empty() ? move_as_bytes(generate_gather, p, args, launches)
                                             : unsupported("gather of unlike operands");
  WOOTZ_RETURN_IF_ERROR(check_indexed(p, 2));
  if (!p.epilogue.empty() && p.as<GatherParams>().kind != GatherKind::kGather)
    return unsupported("gather of kind '{}' with an expression", name_of(p.as<GatherParams>().kind));
  if (args.outputs[0].volume() == 0) return Status();
  switch (p.as<GatherParams>().kind) {
    case GatherKind::kGather: return gather_slices(p, args, launches);
    case GatherKind::kElements: return gather_elements(p, args, launches);
    case GatherKind::kNd: return gather_tuples(p, args, launches);
  }
  return unsupported("gather of kind '{}'", name_of(p.as<GatherParams>().kind));
}

namespace {

Status scatter_elements(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const Dims &x = args.inputs[0], &index = args.inputs[1], &updates = args.inputs[2];
  const int64_t axis = p.as<ScatterParams>().axis;
  if (!fits_elements(axis, x, index) || !(updates == index)) return mismatch("scatter", "elements", x, index, updates);
  const auto a = static_cast<size_t>(axis);
  const Dims strides = x.strides();
  KernelSource source = begin("scatter/elements.cuh", p, args, moved_type(p), updates.volume());
  source.number("extent", x[a]);
  source.number("stride", strides[a]);
  source.walk("Line", "line", axes_of_lines(a, updates, strides), {"y"});
  return finish(p, updates.volume(), &source, launches);
}

// The depth of the tuples that say which slices of x the updates are for; 0: they do not go together.
size_t tuple_depth(const Dims& x, const Dims& index, const Dims& updates) {
  if (index.rank() < 1 || index.back() < 1 || index.back() > x.rank()) return 0;
  const auto depth = static_cast<size_t>(index.back());
  return index.volume() / index.back() * volume_of(x, depth, x.size()) == updates.volume() ? depth : 0;
}

Status scatter_tuples(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const Dims &x = args.inputs[0], &index = args.inputs[1], &updates = args.inputs[2];
  const size_t depth = tuple_depth(x, index, updates);
  if (depth == 0) return mismatch("scatter", "tuples", x, index, updates);
  KernelSource source = begin("scatter/tuples.cuh", p, args, moved_type(p), updates.volume());
  source.number("inner", volume_of(x, depth, x.size()));
  add_tuples(x, x.strides(), 0, depth, &source);
  return finish(p, updates.volume(), &source, launches);
}

// Structs of scatter/combine.cuh, for numbers and for booleans.
struct Combine {
  ScatterReduction reduction;
  const char *numbers, *booleans;
};
constexpr Combine kCombine[] = {{ScatterReduction::kAdd, "AddTo", "Either"},
                                {ScatterReduction::kMul, "MulTo", "Both"},
                                {ScatterReduction::kMax, "MaxOf", "Either"},
                                {ScatterReduction::kMin, "MinOf", "Both"}};
const char* combine_of(const Problem& p) {
  for (const Combine& c : kCombine)
    if (p.as<ScatterParams>().reduction == c.reduction)
      return p.inputs[0].dtype == DType::kBool ? c.booleans : c.numbers;
  return nullptr;
}

Status combine_elements(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const Dims &x = args.inputs[0], &index = args.inputs[1], &updates = args.inputs[2];
  const int64_t axis = p.as<ScatterParams>().axis;
  if (!fits_elements(axis, x, index) || !(updates == index)) return mismatch("scatter", "elements", x, index, updates);
  const auto a = static_cast<size_t>(axis);
  const Dims strides = x.strides(), steps = index.strides();
  const int64_t lines = index.volume() / index[a];
  KernelSource source = begin("scatter/combine_elements.cuh", p, args, storage_type(p.inputs[0].dtype), lines);
  source.choice("Combine", combine_of(p));
  source.number("length", index[a]);
  source.number("step", steps[a]);
  source.number("extent", x[a]);
  source.number("stride", strides[a]);
  source.walk("Line", "line", axes_beside(a, index, {strides, steps}), {"y", "update"});
  return finish(p, lines, &source, launches);
}

Status combine_tuples(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const Dims &x = args.inputs[0], &index = args.inputs[1], &updates = args.inputs[2];
  const size_t depth = tuple_depth(x, index, updates);
  if (depth == 0) return mismatch("scatter", "tuples", x, index, updates);
  Dims slices;
  for (size_t d = 0; d < depth; ++d) slices.push_back(x[d]);
  const int64_t inner = volume_of(x, depth, x.size()), tuples = index.volume() / index.back(),
                shares = std::clamp<int64_t>(8192 / inner, 1, slices.volume());
  KernelSource source = begin("scatter/combine_tuples.cuh", p, args, storage_type(p.inputs[0].dtype), inner * shares);
  source.choice("Combine", combine_of(p));
  source.number("inner", inner);
  source.number("shares", shares);
  source.number("tuples", tuples);
  add_tuples(slices, slices.strides(), 0, depth, &source);
  return finish(p, inner * shares, &source, launches);
}

// What may meet in one element belongs to one thread, which takes it in the order of the updates: the result does not
// depend on who comes first.
Status scatter_combining(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[0].dtype));
  if (combine_of(p) == nullptr)
    return unsupported("scatter that combines by '{}'", name_of(p.as<ScatterParams>().reduction));
  return p.as<ScatterParams>().kind == ScatterKind::kElements ? combine_elements(p, args, launches)
                                                              : combine_tuples(p, args, launches);
}

}  // namespace

Status generate_scatter(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const ScatterParams& params = p.as<ScatterParams>();
  if (any_few_bits(p)) {
    if (params.reduction != ScatterReduction::kNone || !one_type(p))
      return unsupported("scatter that combines {}",
                         dtype_name(p.outputs.empty() ? DType::kInvalid : p.outputs[0].dtype));
    return move_as_bytes(generate_scatter, p, args, launches);
  }
  WOOTZ_RETURN_IF_ERROR(check_indexed(p, 3));
  if (p.inputs[2].dtype != p.inputs[0].dtype) return unsupported("updates of {}", dtype_name(p.inputs[2].dtype));
  const Dims &x = args.inputs[0], &updates = args.inputs[2];
  if (!(x == args.outputs[0]))
    return invalid_argument("scatter into {} gives {}", x.to_string(), args.outputs[0].to_string());
  if (x.volume() == 0) return Status();
  Copy all;
  all.add(x.volume(), 1, 1);
  WOOTZ_RETURN_IF_ERROR(add_copies({std::move(all)}, dtype_bits(p.inputs[0].dtype), transient(p, args), launches));
  if (updates.volume() == 0) return Status();
  if (params.reduction != ScatterReduction::kNone) return scatter_combining(p, args, launches);
  switch (params.kind) {
    case ScatterKind::kElements: return scatter_elements(p, args, launches);
    case ScatterKind::kNd: return scatter_tuples(p, args, launches);
  }
  return unsupported("scatter of kind '{}'", name_of(params.kind));
}

}  // namespace wootz::cuda
