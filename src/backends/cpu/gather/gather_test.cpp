#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

using rig::random_tensor;

HostTensor random_indices(std::mt19937_64& rng, DType type, const Dims& dims, int64_t extent) {
  HostTensor t = HostTensor::allocate(type, dims).value();
  for (int64_t i = 0; i < t.volume(); ++i)
    t.set_i64(i, static_cast<int64_t>(rng() % static_cast<uint64_t>(2 * extent)) - extent);
  return t;
}

Problem problem(const char* kind, const HostTensor& x, const HostTensor& i, const Dims& y, int64_t axis,
                int64_t batch = 0) {
  Problem p;
  p.set_family(Family::kGather);
  p.params = GatherParams{.kind = *choice_from_name<GatherKind>(kind), .axis = axis, .batch_dims = batch};
  p.num_main = 2;
  p.inputs = {rig::desc_of(x), rig::desc_of(i)};
  p.outputs = {rig::desc(x.dtype(), y)};
  p.acc_dtype = x.dtype();
  return p;
}

int64_t wrap(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

TEST(Gather, RowsAlongEveryAxis) {
  std::mt19937_64 rng(rig::seed());
  for (DType type : {DType::kF32, DType::kI64, DType::kF16, DType::kI8})
    for (int axis = 0; axis < 3; ++axis) {
      const HostTensor x = random_tensor(rng, type, {4, 5, 6});
      const int64_t extent = x.dims()[static_cast<size_t>(axis)];
      const HostTensor i = random_indices(rng, axis == 1 ? DType::kI32 : DType::kI64, {2, 3}, extent);
      Dims dims;
      for (int d = 0; d < axis; ++d) dims.push_back(x.dims()[static_cast<size_t>(d)]);
      dims.push_back(2), dims.push_back(3);
      for (int d = axis + 1; d < 3; ++d) dims.push_back(x.dims()[static_cast<size_t>(d)]);
      HostTensor y = HostTensor::allocate(type, dims).value();
      const int64_t inner = x.dims().strides()[static_cast<size_t>(axis)];
      for (int64_t e = 0; e < y.volume(); ++e) {
        const int64_t outer = e / (6 * inner), which = e / inner % 6;
        y.set_f64(e, x.get_f64((outer * extent + wrap(i.get_i64(which), extent)) * inner + e % inner));
      }
      rig::check(problem("gather", x, i, dims, axis), {x, i}, {y}, {.tolerance = 0});
    }
}

TEST(Gather, ElementsAndSlices) {
  std::mt19937_64 rng(rig::seed());
  const HostTensor x = random_tensor(rng, DType::kF32, {3, 4, 5});
  const HostTensor i = random_indices(rng, DType::kI64, {2, 4, 5}, 3);
  HostTensor y = HostTensor::allocate(DType::kF32, {2, 4, 5}).value();
  for (int64_t e = 0; e < y.volume(); ++e) y.set_f64(e, x.get_f64(wrap(i.get_i64(e), 3) * 20 + e % 20));
  rig::check(problem("elements", x, i, {2, 4, 5}, 0), {x, i}, {y}, {.tolerance = 0});

  HostTensor t = HostTensor::allocate(DType::kI64, {3, 2, 1}).value();
  for (int64_t e = 0; e < 6; ++e) t.set_i64(e, e % 4 - 2);
  HostTensor z = HostTensor::allocate(DType::kF32, {3, 2, 5}).value();
  for (int64_t e = 0; e < z.volume(); ++e)
    z.set_f64(e, x.get_f64((e / 10 * 4 + wrap(t.get_i64(e / 5), 4)) * 5 + e % 5));
  rig::check(problem("nd", x, t, {3, 2, 5}, 0, 1), {x, t}, {z}, {.tolerance = 0});
}

TEST(Gather, AnIndexOutsideIsAnError) {
  std::mt19937_64 rng(rig::seed());
  const HostTensor x = random_tensor(rng, DType::kF32, {4, 3});
  HostTensor i = HostTensor::allocate(DType::kI64, {2}).value();
  for (int64_t bad : {int64_t{4}, int64_t{-5}, INT64_MAX, INT64_MIN}) {
    i.set_i64(1, bad);
    const Problem p = problem("gather", x, i, {2, 3}, 0);
    for (const Candidate& offer : rig::offers_for(p, "")) {
      const auto run = rig::run_candidate(p, offer, {x, i}, {}, false);
      ASSERT_FALSE(run.ok()) << bad;
      EXPECT_NE(run.status().message().find("outside an axis of 4"), std::string::npos) << run.status().to_string();
    }
  }
}

// With an epilogue, constant indices (of which some follow one another) or not, of every axis.
TEST(Gather, Epilogues) {
  std::mt19937_64 rng(rig::seed());
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16})
    for (int axis = 0; axis < 3; ++axis)
      for (const bool constant : {false, true}) {
        const HostTensor x = random_tensor(rng, type, {3, 7, 40});
        const int64_t extent = x.dims()[static_cast<size_t>(axis)];
        HostTensor i = random_indices(rng, DType::kI64, {extent}, extent);
        for (int64_t k = 0; k < extent / 2; ++k) i.set_i64(k, k + extent - extent / 2);
        const HostTensor other = random_tensor(rng, DType::kF32, x.dims());
        HostTensor want = HostTensor::allocate(DType::kF64, x.dims()).value();
        const int64_t inner = x.dims().strides()[static_cast<size_t>(axis)];
        for (int64_t e = 0; e < want.volume(); ++e) {
          const int64_t from = wrap(i.get_i64(e / inner % extent), extent);
          want.set_f64(e, x.get_f64((e / inner / extent * extent + from) * inner + e % inner));
        }
        Problem p = problem("gather", x, i, x.dims(), axis);
        p.inputs[1].constant = constant;
        p.inputs.push_back(rig::desc_of(other));
        p.epilogue = rig::test_epilogue(type, DType::kF32);
        p.outputs = {rig::desc(DType::kF32, x.dims())};
        want = rig::apply_epilogue(p.epilogue, want, {other});
        rig::check(p, {x, i, other}, {want}, {.tolerance = 1e-6});
        i.set_i64(extent - 1, extent);  // outside
        Problem bad = p;
        for (const Candidate& offer : rig::offers_for(bad, "avx2")) {
          const auto ran = rig::run_candidate(bad, offer, {x, i, other}, {}, false);
          EXPECT_FALSE(ran.ok()) << offer.tactic.to_string();
        }
      }
}

}  // namespace
}  // namespace wootz::cpu
