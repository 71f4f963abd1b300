#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

HostTensor indices(std::mt19937_64& rng, DType type, const Dims& dims, int64_t extent) {
  return rig::random_tensor(rng, type, dims, -static_cast<double>(extent), static_cast<double>(extent) - 1);
}
int64_t wrap(int64_t i, int64_t n) { return i < 0 ? i + n : i; }

Problem problem_of(GatherParams params, const std::vector<HostTensor>& in, const HostTensor& out) {
  Problem p;
  p.params = params;
  p.num_main = static_cast<int>(in.size());
  for (const HostTensor& t : in) p.inputs.push_back(rig::desc_of(t));
  p.outputs = {rig::desc_of(out)};
  return p;
}

void copy(const HostTensor& from, int64_t i, HostTensor* to, int64_t o) { to->set_f64(o, from.get_f64(i)); }

TEST(GatherCases, AlongAnAxis) {
  std::mt19937_64 rng(rig::seed());
  struct Case {
    Dims data, index;
    int axis;
  };
  for (const Case& c : {Case{{30, 64}, {7}, 0}, Case{{5, 6, 7}, {2, 3}, 1}, Case{{4, 9}, {5}, 1}, Case{{9}, {}, 0},
                        Case{{3, 4}, {0}, 1}, Case{{3, 0, 2}, {4}, 0}, Case{{1000, 3}, {300}, 0}})
    for (DType type : {DType::kF32, DType::kF16, DType::kI8, DType::kI64, DType::kBool})
      for (DType index_type : {DType::kI32, DType::kI64}) {
        const auto a = static_cast<size_t>(c.axis);
        const HostTensor x = rig::random_tensor(rng, type, c.data, -100, 100),
                         i = indices(rng, index_type, c.index, c.data[a]);
        Dims out;
        int64_t outer = 1, inner = 1;
        for (size_t d = 0; d < c.data.size(); ++d) {
          if (d == a) {
            for (int64_t n : c.index) out.push_back(n);
            continue;
          }
          (d < a ? outer : inner) *= c.data[d];
          out.push_back(c.data[d]);
        }
        HostTensor y = HostTensor::allocate(type, out).value();
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t k = 0; k < i.volume(); ++k)
            for (int64_t e = 0; e < inner; ++e)
              copy(x, (o * c.data[a] + wrap(i.get_i64(k), c.data[a])) * inner + e, &y,
                   (o * i.volume() + k) * inner + e);
        rig::check(problem_of({.kind = GatherKind::kGather, .axis = c.axis}, {x, i}, y), {x, i}, {y},
                   {.tolerance = 0, .misaligned = true});
      }
}

TEST(GatherCases, Elements) {
  std::mt19937_64 rng(rig::seed());
  struct Case {
    Dims data, index;
    int axis;
  };
  for (const Case& c : {Case{{5, 6}, {5, 9}, 1}, Case{{5, 6}, {3, 4}, 0}, Case{{3, 4, 5}, {3, 2, 5}, 1},
                        Case{{7}, {20}, 0}, Case{{4, 4}, {0, 4}, 0}})
    for (DType type : {DType::kF32, DType::kU8, DType::kF64}) {
      const auto a = static_cast<size_t>(c.axis);
      const HostTensor x = rig::random_tensor(rng, type, c.data, -100, 100),
                       i = indices(rng, DType::kI64, c.index, c.data[a]);
      HostTensor y = HostTensor::allocate(type, c.index).value();
      const Dims strides = c.index.strides(), from = c.data.strides();
      for (int64_t e = 0; e < y.volume(); ++e) {
        int64_t at = 0;
        for (size_t d = 0; d < c.data.size(); ++d)
          at += (d == a ? wrap(i.get_i64(e), c.data[a]) : e / strides[d] % c.index[d]) * from[d];
        copy(x, at, &y, e);
      }
      rig::check(problem_of({.kind = GatherKind::kElements, .axis = c.axis}, {x, i}, y), {x, i}, {y}, {.tolerance = 0});
    }
}

TEST(GatherCases, ByTuples) {
  std::mt19937_64 rng(rig::seed());
  struct Case {
    Dims data;
    Dims lead;
    int tuple, batch;
  };
  for (const Case& c : {Case{{4, 5, 6}, {3}, 2, 0}, Case{{4, 5, 6}, {2, 2}, 3, 0}, Case{{2, 5, 6}, {2, 4}, 1, 1},
                        Case{{2, 3, 4, 5}, {2, 3, 2}, 1, 2}, Case{{4, 5}, {0}, 1, 0}}) {
    Dims index = c.lead, out = c.lead;
    index.push_back(c.tuple);
    int64_t inner = 1, batches = 1, span = 1;
    for (int d = 0; d < c.data.rank(); ++d) {
      const int64_t n = c.data[static_cast<size_t>(d)];
      if (d < c.batch)
        batches *= n;
      else
        span *= n;
      if (d >= c.batch + c.tuple) inner *= n, out.push_back(n);
    }
    const HostTensor x = rig::random_tensor(rng, DType::kF32, c.data);
    HostTensor i = HostTensor::allocate(DType::kI64, index).value();
    HostTensor y = HostTensor::allocate(DType::kF32, out).value();
    const int64_t rows = c.lead.volume(), per_batch = batches == 0 ? 0 : rows / batches;
    for (int64_t r = 0; r < rows; ++r) {
      int64_t at = 0;
      for (int t = 0; t < c.tuple; ++t) {
        const int64_t n = c.data[static_cast<size_t>(c.batch + t)];
        const auto k = static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
        i.set_i64(r * c.tuple + t, rng() % 2 ? k : k - n);
        at = at * n + k;
      }
      for (int64_t e = 0; e < inner; ++e) copy(x, r / per_batch * span + at * inner + e, &y, r * inner + e);
    }
    rig::check(problem_of({.kind = GatherKind::kNd, .batch_dims = c.batch}, {x, i}, y), {x, i}, {y}, {.tolerance = 0});
  }
}

TEST(GatherCases, IndicesOutOfRangeAreErrors) {
  std::mt19937_64 rng(rig::seed());
  const HostTensor x = rig::random_tensor(rng, DType::kF32, {4, 3});
  for (const char* kind : {"gather", "elements", "nd"})
    for (int64_t bad : {int64_t{4}, int64_t{-5}, INT64_MAX, INT64_MIN}) {
      HostTensor i = HostTensor::from<int64_t>(std::vector<int64_t>{0, 1, bad, 2, 3, 0},
                                               std::string_view(kind) == "nd"       ? Dims{6, 1}
                                               : std::string_view(kind) == "gather" ? Dims{6}
                                                                                    : Dims{2, 3});
      const HostTensor y =
          HostTensor::allocate(DType::kF32, std::string_view(kind) == "elements" ? Dims{2, 3} : Dims{6, 3}).value();
      const Problem p = problem_of({.kind = *choice_from_name<GatherKind>(kind)}, {x, i}, y);
      const auto offers = rig::offers_for(p, "avx2");
      ASSERT_FALSE(offers.empty());
      const auto got = rig::run_candidate(p, offers[0], {x, i}, {}, false);
      ASSERT_FALSE(got.ok());
      EXPECT_NE(got.status().message().find(fmt::format("index {}", bad)), std::string::npos)
          << got.status().to_string();
    }
  // Nothing to read at all.
  const HostTensor none = HostTensor::allocate(DType::kF32, {0, 3}).value(),
                   i = HostTensor::from<int64_t>(std::vector<int64_t>{0}, {1});
  const Problem p =
      problem_of({.kind = GatherKind::kGather}, {none, i}, HostTensor::allocate(DType::kF32, {1, 3}).value());
  EXPECT_FALSE(rig::run_candidate(p, rig::offers_for(p, "avx2").at(0), {none, i}, {}, false).ok());
}

}  // namespace
}  // namespace wootz::cpu
