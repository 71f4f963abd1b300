// Unique: the different elements, or (with attribute "axis") the different slices along an axis, in ascending order or
// (sorted = 0) in the order of first occurrence. Further outputs: first positions, the way back, and counts.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_unique(InferContext& ctx) {
  if (!accepts(Accept::kAny, ctx.dtype(0))) return ctx.fail("input is {}", dtype_name(ctx.dtype(0)));
  Shape shape{volume(ctx.shape(0))};
  size_t axis = 0;
  if (ctx.node().has_attr("axis")) {
    const Result<int> a = normalize_axis(ctx.node().attr_int("axis"), ctx.rank(0));
    if (!a.ok()) return ctx.fail("{} (input is {})", a.status().message(), shape_to_string(ctx.shape(0)));
    axis = static_cast<size_t>(*a);
    shape = ctx.shape(0);
  }
  const Dim all = shape[axis];
  const int64_t most = all.is_const() ? all.value() : -1;
  shape[axis] = ctx.data_dependent(0, static_cast<int>(axis), most);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  const int outputs = ctx.node().num_outputs();
  if (outputs > 1) ctx.set_output(1, DType::kI64, {ctx.data_dependent(1, 0, most)});
  if (outputs > 2) ctx.set_output(2, DType::kI64, {all});
  if (outputs > 3) ctx.set_output(3, DType::kI64, {ctx.data_dependent(3, 0, most)});
  return Status();
}

// Less than 0, 0 or more. NaN stands after every number and equals itself, so that the order is total.
int compare_elements(const HostTensor& x, int64_t a, int64_t b) {
  if (is_float(x.dtype())) {
    const double va = x.get_f64(a), vb = x.get_f64(b);
    if (std::isnan(va) || std::isnan(vb)) return static_cast<int>(std::isnan(va)) - static_cast<int>(std::isnan(vb));
    return va < vb ? -1 : va > vb;
  }
  const int64_t va = x.get_i64(a), vb = x.get_i64(b);
  if (x.dtype() == DType::kU64) return static_cast<uint64_t>(va) < static_cast<uint64_t>(vb) ? -1 : va != vb;
  return va < vb ? -1 : va > vb;
}

Status unique_reference(EvalContext& ctx) {
  const HostTensor x = ctx.node.has_attr("axis") ? ctx.in(0) : ctx.in(0).reshaped({ctx.in(0).volume()});
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", 0), x.rank()));
  const int64_t extent = x.dims()[static_cast<size_t>(axis)];
  const int64_t outer = span_volume(x.dims(), 0, axis), inner = span_volume(x.dims(), axis + 1, x.rank());
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i)
        if (const int c = compare_elements(x, (o * extent + a) * inner + i, (o * extent + b) * inner + i); c != 0)
          return c;
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(extent));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  // Groups of equal slices; the first member has the lowest position.
  struct Group {
    int64_t first, count;
  };
  std::vector<Group> groups;
  std::vector<int64_t> group_of(static_cast<size_t>(extent));
  for (int64_t at : order) {
    if (groups.empty() || compare(groups.back().first, at) != 0) groups.push_back({at, 0});
    ++groups.back().count;
    group_of[static_cast<size_t>(at)] = static_cast<int64_t>(groups.size()) - 1;
  }
  const auto count = static_cast<int64_t>(groups.size());
  std::vector<int64_t> place(groups.size());  // of a group in the result
  std::vector<int64_t> shown(groups.size());
  std::iota(shown.begin(), shown.end(), 0);
  if (ctx.node.attr_int("sorted", 1) == 0)
    std::sort(shown.begin(), shown.end(), [&](int64_t a, int64_t b) {
      return groups[static_cast<size_t>(a)].first < groups[static_cast<size_t>(b)].first;
    });
  for (size_t p = 0; p < shown.size(); ++p) place[static_cast<size_t>(shown[p])] = static_cast<int64_t>(p);

  Dims dims = x.dims();
  dims[static_cast<size_t>(axis)] = count;
  WOOTZ_RETURN_IF_ERROR(ctx.allocate(0, dims));
  for (int64_t p = 0; p < count; ++p) {
    const Group& group = groups[static_cast<size_t>(shown[static_cast<size_t>(p)])];
    for (int64_t o = 0; o < outer; ++o)
      copy_elements(x, (o * extent + group.first) * inner, ctx.outputs[0], (o * count + p) * inner, inner);
  }
  const size_t outputs = ctx.outputs.size();
  if (outputs > 1) WOOTZ_RETURN_IF_ERROR(ctx.allocate(1, {count}));
  if (outputs > 3) WOOTZ_RETURN_IF_ERROR(ctx.allocate(3, {count}));
  for (int64_t p = 0; p < count; ++p) {
    const Group& group = groups[static_cast<size_t>(shown[static_cast<size_t>(p)])];
    if (outputs > 1) ctx.outputs[1].set_i64(p, group.first);
    if (outputs > 3) ctx.outputs[3].set_i64(p, group.count);
  }
  if (outputs > 2)
    for (int64_t e = 0; e < extent; ++e)
      ctx.outputs[2].set_i64(e, place[static_cast<size_t>(group_of[static_cast<size_t>(e)])]);
  return Status();
}

const OpDef kUnique{.name = "Unique",
                    .max_outputs = 4,
                    .attributes = {{"axis", AttrKind::kInt}, {"sorted", AttrKind::kInt}},
                    .infer = infer_unique,
                    .reference = unique_reference,
                    .traits = {.data_dependent = true}};
const OpDef* const kUniqueDefs[] = {&kUnique};

}  // namespace

std::span<const OpDef* const> unique_ops() { return kUniqueDefs; }

}  // namespace wootz::ops
