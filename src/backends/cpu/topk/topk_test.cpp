#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

const DType kTypes[] = {DType::kF32, DType::kF16, DType::kF64, DType::kI8,
                        DType::kU8,  DType::kI32, DType::kI64, DType::kU64};

// NaN above every number.
bool less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

void check_topk(const HostTensor& x, int axis, int64_t k, bool largest) {
  const auto a = static_cast<size_t>(axis);
  Dims out = x.dims();
  out[a] = k;
  HostTensor values = HostTensor::allocate(x.dtype(), out).value(),
             indices = HostTensor::allocate(DType::kI64, out).value();
  const int64_t n = x.dims()[a], inner = x.dims().strides()[a], lines = n == 0 ? 0 : x.volume() / n;
  for (int64_t l = 0; l < lines; ++l) {
    const int64_t base = l / inner * inner * n + l % inner;
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      const double vi = x.get_f64(base + i * inner), vj = x.get_f64(base + j * inner);
      return largest ? less(vj, vi) : less(vi, vj);
    });
    for (int64_t e = 0; e < k; ++e) {
      const int64_t to = l / inner * inner * k + e * inner + l % inner;
      values.set_f64(to, x.get_f64(base + order[static_cast<size_t>(e)] * inner));
      indices.set_i64(to, order[static_cast<size_t>(e)]);
    }
  }
  Problem p;
  p.set_family(Family::kTopK);
  p.params = TopKParams{.kind = TopKKind::kTopK, .axis = axis, .k = k, .largest = largest, .sorted = true};
  p.num_main = 1;
  p.inputs = {rig::desc_of(x)};
  p.outputs = {rig::desc_of(values), rig::desc_of(indices)};
  SCOPED_TRACE(p.key());
  rig::check(p, {x}, {values, indices}, {.tolerance = 0, .misaligned = false});
}

void check_arg(const HostTensor& x, int axis, bool max, bool last, bool keep) {
  const auto a = static_cast<size_t>(axis);
  Dims out;
  for (size_t d = 0; d < x.dims().size(); ++d)
    if (d != a || keep) out.push_back(d == a ? 1 : x.dims()[d]);
  HostTensor y = HostTensor::allocate(DType::kI64, out).value();
  const int64_t n = x.dims()[a], inner = x.dims().strides()[a];
  for (int64_t l = 0; l < y.volume(); ++l) {
    const int64_t base = l / inner * inner * n + l % inner;
    const auto better = [&](double p, double q) {
      if (std::isnan(p) || std::isnan(q)) return std::isnan(p) && !std::isnan(q);
      return max ? p > q : p < q;
    };
    int64_t best = 0;
    for (int64_t e = 1; e < n; ++e) {
      const double v = x.get_f64(base + e * inner), b = x.get_f64(base + best * inner);
      if (better(v, b) || (last && !better(b, v))) best = e;
    }
    y.set_i64(l, best);
  }
  Problem p;
  p.set_family(Family::kTopK);
  p.params = TopKParams{.kind = max ? TopKKind::kArgMax : TopKKind::kArgMin, .axis = axis, .select_last = last};
  p.num_main = 1;
  p.inputs = {rig::desc_of(x)};
  p.outputs = {rig::desc_of(y)};
  SCOPED_TRACE(p.key());
  rig::check(p, {x}, {y}, {.tolerance = 0, .misaligned = true});
}

TEST(TopK, EveryTypeAxisAndDirection) {
  std::mt19937_64 rng(rig::seed());
  for (DType type : kTypes)
    for (const Dims& dims : {Dims{40}, Dims{3, 17}, Dims{4, 5, 6}, Dims{2, 700}})
      for (int axis = 0; axis < dims.rank(); ++axis)
        for (bool largest : {false, true}) {
          const int64_t n = dims[static_cast<size_t>(axis)];
          const HostTensor x = rig::random_tensor(rng, type, dims, -9, 9);  // many ties in the integers
          check_topk(x, axis, static_cast<int64_t>(rng() % static_cast<uint64_t>(n + 1)), largest);
          check_arg(x, axis, largest, rng() % 2, rng() % 2);
        }
}

TEST(TopK, NaNInfinityZeroAndExtremes) {
  HostTensor x = HostTensor::from<float>(
      std::vector<float>{0.f, -0.f, NAN, INFINITY, -INFINITY, 1.f, NAN, -0.f, 3e38f, -3e38f}, {10});
  for (bool largest : {false, true}) {
    check_topk(x, 0, 10, largest);
    for (bool last : {false, true}) check_arg(x, 0, largest, last, true);
  }
  x = HostTensor::from<int64_t>(std::vector<int64_t>{INT64_MAX, 0, INT64_MIN, -1, 1, INT64_MAX}, {6});
  for (bool largest : {false, true})
    for (bool last : {false, true}) check_arg(x, 0, largest, last, true);
}

TEST(TopK, Empty) {
  check_topk(HostTensor::allocate(DType::kF32, {0, 5}).value(), 1, 3, true);
  check_topk(HostTensor::allocate(DType::kF32, {5, 0}).value(), 1, 0, true);
  check_arg(HostTensor::allocate(DType::kF32, {0, 5}).value(), 1, true, false, false);
}

}  // namespace
}  // namespace wootz::cpu
