// TopK: the k largest or smallest elements along an axis and their indices. k is attribute "k" when constant, else
// input 1. Equal elements come in the order of their indices; NaN counts as larger than every number. With attribute
// "softmax" the elements are those of softmax(input) along that axis.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_topk(InferContext& ctx) {
  if (!accepts(Accept::kNumeric, ctx.dtype(0))) return ctx.fail("input is {}", dtype_name(ctx.dtype(0)));
  if (ctx.node().attr_int("softmax", 0) != 0 && !is_float(ctx.dtype(0)))
    return ctx.fail("the softmax of {}", dtype_name(ctx.dtype(0)));
  const Result<int> axis = normalize_axis(ctx.node().attr_int("axis", -1), ctx.rank(0));
  if (!axis.ok()) return ctx.fail("{} (input is {})", axis.status().message(), shape_to_string(ctx.shape(0)));
  Shape shape = ctx.shape(0);
  Dim& extent = shape[static_cast<size_t>(*axis)];
  Dim k;
  if (ctx.node().has_attr("k")) {
    k = Dim(ctx.node().attr_int("k"));
  } else if (!ctx.has(1)) {
    return ctx.fail("k is required");
  } else if (const std::optional<std::vector<Dim>> known = ctx.dims_value(1)) {
    if (known->size() != 1) return ctx.fail("k has shape {}", shape_to_string(ctx.shape(1)));
    k = known->front();
  } else {
    k = ctx.data_dependent(0, *axis, extent.is_const() ? extent.value() : -1);
  }
  if (k.is_const() && (k.value() < 0 || (extent.is_const() && k.value() > extent.value())))
    return ctx.fail("k is {}, axis {} of {} has not as many elements", k.to_string(), *axis,
                    shape_to_string(ctx.shape(0)));
  extent = k;
  ctx.set_output(0, ctx.dtype(0), shape);
  ctx.set_output(1, DType::kI64, std::move(shape));
  return Status();
}

// Sorted by value, then by index. `first` says whether value a comes before value b.
template <typename T, typename First>
void select(const HostTensor& x, HostTensor* values, HostTensor* indices, int axis, int64_t k,
            T (HostTensor::*get)(int64_t) const, First first) {
  const int64_t extent = x.dims()[static_cast<size_t>(axis)];
  const int64_t outer = span_volume(x.dims(), 0, axis), inner = span_volume(x.dims(), axis + 1, x.rank());
  std::vector<T> line(static_cast<size_t>(extent));
  std::vector<int64_t> order(static_cast<size_t>(extent));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t e = 0; e < extent; ++e) line[static_cast<size_t>(e)] = (x.*get)((o * extent + e) * inner + i);
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        const T &va = line[static_cast<size_t>(a)], &vb = line[static_cast<size_t>(b)];
        if (first(va, vb)) return true;
        return first(vb, va) ? false : a < b;
      });
      for (int64_t e = 0; e < k; ++e) {
        const int64_t to = (o * k + e) * inner + i, from = order[static_cast<size_t>(e)];
        if (values != nullptr) copy_elements(x, (o * extent + from) * inner + i, *values, to, 1);
        if (indices != nullptr) indices->set_i64(to, from);
      }
    }
}

// softmax(x) along the axis, rounded to the type of x.
Result<HostTensor> softmaxed(const HostTensor& x, int axis) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor y, HostTensor::allocate(x.dtype(), x.dims()));
  const int64_t extent = x.dims()[static_cast<size_t>(axis)], inner = span_volume(x.dims(), axis + 1, x.rank());
  for (int64_t line = 0, n = extent == 0 ? 0 : x.volume() / extent; line < n; ++line) {
    const int64_t at = line / inner * extent * inner + line % inner;
    double top = -INFINITY, sum = 0;
    for (int64_t e = 0; e < extent; ++e) {
      const double v = x.get_f64(at + e * inner);
      top = std::isnan(v) || v > top ? v : top;
    }
    for (int64_t e = 0; e < extent; ++e) sum += std::exp(x.get_f64(at + e * inner) - top);
    for (int64_t e = 0; e < extent; ++e) y.set_f64(at + e * inner, std::exp(x.get_f64(at + e * inner) - top) / sum);
  }
  return y;
}

Status topk_reference(EvalContext& ctx) {
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", -1), ctx.in(0).rank()));
  HostTensor probabilities;
  if (ctx.node.attr_int("softmax", 0) != 0) {
    WOOTZ_ASSIGN_OR_RETURN(probabilities, softmaxed(ctx.in(0), axis));
  }
  const HostTensor& x = probabilities.valid() ? probabilities : ctx.in(0);
  const bool largest = ctx.node.attr_int("largest", 1) != 0;
  HostTensor* values = &ctx.outputs[0];
  HostTensor* indices = ctx.outputs.size() > 1 ? &ctx.outputs[1] : nullptr;
  const int64_t k = values->dims()[static_cast<size_t>(axis)];
  if (is_float(x.dtype())) {
    const auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
    select<double>(x, values, indices, axis, k, &HostTensor::get_f64,
                   [&](double a, double b) { return largest ? less(b, a) : less(a, b); });
  } else {
    const bool wide = x.dtype() == DType::kU64;
    const auto less = [&](int64_t a, int64_t b) {
      return wide ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
    };
    select<int64_t>(x, values, indices, axis, k, &HostTensor::get_i64,
                    [&](int64_t a, int64_t b) { return largest ? less(b, a) : less(a, b); });
  }
  return Status();
}

const OpDef kTopK{.name = "TopK",
                  .max_inputs = 2,
                  .max_outputs = 2,
                  .attributes = {{"axis", AttrKind::kInt},
                                 {"largest", AttrKind::kInt},
                                 {"sorted", AttrKind::kInt},
                                 {"softmax", AttrKind::kInt},
                                 {"k", AttrKind::kInt}},
                  .infer = infer_topk,
                  .reference = topk_reference,
                  .lowering = Lowering::kTopK,
                  .traits = {}};
const OpDef* const kTopkDefs[] = {&kTopK};

}  // namespace

std::span<const OpDef* const> topk_ops() { return kTopkDefs; }

}  // namespace wootz::ops
