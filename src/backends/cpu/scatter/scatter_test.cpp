#include <cmath>

#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

double combined(const std::string& how, double a, double b) {
  return how == "add"   ? a + b
         : how == "mul" ? a * b
         : how == "max" ? std::max(a, b)
         : how == "min" ? std::min(a, b)
                        : b;
}

void check_scatter(const char* kind, int64_t axis, const std::string& how, const HostTensor& x, const HostTensor& i,
                   const HostTensor& u, const HostTensor& y) {
  Problem p;
  p.set_family(Family::kScatter);
  p.params = ScatterParams{.kind = *choice_from_name<ScatterKind>(kind),
                           .axis = axis,
                           .reduction = *choice_from_name<ScatterReduction>(how)};
  p.num_main = 3;
  p.inputs = {rig::desc_of(x), rig::desc_of(i), rig::desc_of(u)};
  p.outputs = {rig::desc_of(y)};
  SCOPED_TRACE(p.key());
  rig::check(p, {x, i, u}, {y}, {.tolerance = is_float(x.dtype()) ? 1e-6 : 0, .misaligned = axis == 1});
}

HostTensor copy_of(const HostTensor& x) {
  HostTensor y = HostTensor::allocate(x.dtype(), x.dims()).value();
  for (int64_t e = 0; e < x.volume(); ++e) y.set_f64(e, x.get_f64(e));
  return y;
}

const DType kTypes[] = {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kU8};

TEST(Scatter, ElementsWithRepeatedIndices) {
  std::mt19937_64 rng(rig::seed());
  struct Case {
    Dims data, index;
    int64_t axis;
  };
  for (const Case& c : {Case{{5, 6}, {5, 9}, 1}, Case{{5, 6}, {3, 4}, 0}, Case{{3, 4, 5}, {3, 2, 5}, 1},
                        Case{{7}, {20}, 0}, Case{{4, 4}, {0, 4}, 0}})
    for (DType type : kTypes)
      for (const char* how : {"none", "add", "mul", "max", "min"}) {
        const auto a = static_cast<size_t>(c.axis);
        const HostTensor x = rig::random_tensor(rng, type, c.data, 0, 2),
                         u = rig::random_tensor(rng, type, c.index, 0, 2);
        const HostTensor i = rig::random_tensor(rng, DType::kI32, c.index, -static_cast<double>(c.data[a]),
                                                static_cast<double>(c.data[a]) - 1);
        HostTensor y = copy_of(x);
        const Dims strides = c.index.strides(), to = c.data.strides();
        for (int64_t e = 0; e < u.volume(); ++e) {
          int64_t at = 0;
          for (size_t d = 0; d < c.data.size(); ++d) {
            int64_t k = d == a ? i.get_i64(e) : e / strides[d] % c.index[d];
            if (k < 0) k += c.data[a];
            at += k * to[d];
          }
          const double v = combined(how, y.get_f64(at), u.get_f64(e));
          if (is_float(type))
            y.set_f64(at, v);
          else
            y.set_i64(at, static_cast<int64_t>(v));
        }
        check_scatter("elements", c.axis, how, x, i, u, y);
      }
}

TEST(Scatter, SlicesByTuples) {
  std::mt19937_64 rng(rig::seed());
  struct Case {
    Dims data, lead;
    int tuple;
  };
  for (const Case& c : {Case{{4, 5, 6}, {3}, 2}, Case{{4, 5}, {2, 2}, 2}, Case{{8, 3}, {4}, 1}, Case{{4, 5}, {0}, 1}})
    for (DType type : kTypes)
      for (const char* how : {"none", "add", "min"}) {
        Dims index = c.lead, update = c.lead;
        index.push_back(c.tuple);
        int64_t inner = 1;
        for (int d = c.tuple; d < c.data.rank(); ++d)
          update.push_back(c.data[static_cast<size_t>(d)]), inner *= c.data[static_cast<size_t>(d)];
        const HostTensor x = rig::random_tensor(rng, type, c.data, 0, 3),
                         u = rig::random_tensor(rng, type, update, 0, 3);
        HostTensor i = HostTensor::allocate(DType::kI64, index).value(), y = copy_of(x);
        for (int64_t r = 0; r < c.lead.volume(); ++r) {
          int64_t at = 0;
          for (int t = 0; t < c.tuple; ++t) {
            const int64_t n = c.data[static_cast<size_t>(t)],
                          k = static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
            i.set_i64(r * c.tuple + t, rng() % 2 ? k : k - n);
            at = at * n + k;
          }
          for (int64_t e = 0; e < inner; ++e)
            y.set_f64(at * inner + e, combined(how, y.get_f64(at * inner + e), u.get_f64(r * inner + e)));
        }
        check_scatter("nd", 0, how, x, i, u, y);
      }
}

TEST(Scatter, IndicesOutOfRangeAreErrors) {
  const HostTensor x = HostTensor::allocate(DType::kF32, {4}).value(),
                   u = HostTensor::allocate(DType::kF32, {2}).value();
  for (const char* kind : {"elements", "nd"}) {
    const HostTensor i =
        HostTensor::from<int64_t>(std::vector<int64_t>{1, 4}, std::string_view(kind) == "nd" ? Dims{2, 1} : Dims{2});
    Problem p;
    p.set_family(Family::kScatter);
    p.params = ScatterParams{.kind = *choice_from_name<ScatterKind>(kind), .axis = 0};
    p.num_main = 3;
    p.inputs = {rig::desc_of(x), rig::desc_of(i), rig::desc_of(u)};
    p.outputs = {rig::desc_of(x)};
    EXPECT_FALSE(rig::run_candidate(p, rig::offers_for(p, "avx2").at(0), {x, i, u}, {}, false).ok());
  }
}

}  // namespace
}  // namespace wootz::cpu
