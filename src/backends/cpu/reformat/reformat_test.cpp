#include "backends/cpu/own_provider.h"
#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

// Layouts are part of what is asked: the problem has them, and offers keep them.
void check_reformat(const HostTensor& x, DType to_type, Layout from, Layout to, bool offered) {
  Problem p;
  p.set_family(Family::kReformat);
  p.num_main = 1;
  p.inputs = {rig::desc_of(x)};
  p.outputs = {rig::desc(to_type, x.dims())};
  p.inputs[0].layout = from;
  p.outputs[0].layout = to;
  HostTensor want = HostTensor::allocate(to_type, x.dims()).value();
  for (int64_t i = 0; i < x.volume(); ++i) {
    if (is_float(x.dtype()))
      want.set_f64(i, x.get_f64(i));
    else
      want.set_i64(i, x.get_i64(i));
  }
  SCOPED_TRACE(p.key());
  rig::check(p, {x}, {want}, {.tolerance = 0, .in_place = false, .misaligned = true, .expect_offer = offered});
}

const Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8, Layout::kBlocked16};

TEST(Reformat, BetweenAllLayouts) {
  std::mt19937_64 rng(rig::seed());
  for (const Dims& dims : {Dims{2, 16, 3, 5}, Dims{1, 3, 9, 9}, Dims{2, 24, 7}, Dims{2, 40, 2, 3, 2},
                           Dims{1, 64, 33, 31}, Dims{0, 8, 2, 2}, Dims{2, 8, 0, 2}, Dims{3, 1, 4, 4}})
    for (DType type : {DType::kF32, DType::kBF16, DType::kU8, DType::kI64}) {
      const HostTensor x = rig::random_tensor(rng, type, dims, -100, 100);
      for (Layout from : kLayouts)
        for (Layout to : kLayouts) check_reformat(x, type, from, to, true);
    }
}

TEST(Reformat, BetweenTypes) {
  std::mt19937_64 rng(rig::seed());
  const HostTensor x = rig::random_tensor(rng, DType::kF32, {2, 16, 5, 7}, -100, 100);
  for (DType to : {DType::kF16, DType::kBF16, DType::kF64}) {
    for (Layout layout : kLayouts) check_reformat(x, to, layout, layout, true);
    check_reformat(x, to, Layout::kLinear, Layout::kChannelsLast, true);
    check_reformat(x, to, Layout::kChannelsLast, Layout::kLinear, true);
    check_reformat(x, to, Layout::kLinear, Layout::kBlocked16, true);
    check_reformat(x, to, Layout::kBlocked16, Layout::kLinear, false);
  }
  // One channel: read for all of its block, whose others are zeros all the same.
  check_reformat(rig::random_tensor(rng, DType::kI32, {2, 1, 3, 5}, -100, 100), DType::kF32, Layout::kLinear,
                 Layout::kBlocked8, true);
  check_reformat(rig::random_tensor(rng, DType::kF16, {3, 700}), DType::kF32, Layout::kLinear, Layout::kLinear, true);
  check_reformat(rig::random_tensor(rng, DType::kI64, {40}), DType::kI32, Layout::kLinear, Layout::kLinear, true);
  check_reformat(rig::random_tensor(rng, DType::kI32, {40}), DType::kI32, Layout::kLinear, Layout::kLinear, true);
  check_reformat(HostTensor::allocate(DType::kI4, {40}).value(), DType::kI8, Layout::kLinear, Layout::kLinear, false);
}

}  // namespace
}  // namespace wootz::cpu
