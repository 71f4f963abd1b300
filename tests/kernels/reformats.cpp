#include "kernels/reformats.h"

#include "tuner/measure/random_data.h"

namespace wootz::kernels {
namespace {

Problem problem_of(DType from_type, Layout from, DType to_type, Layout to, const Dims& dims) {
  Problem p;
  p.set_family(Family::kReformat);
  p.num_main = 1;
  p.inputs = {{from_type, from, dims, dims}};
  p.outputs = {{to_type, to, dims, dims}};
  return p;
}

void add(DType from_type, Layout from, DType to_type, Layout to, const Dims& dims, uint64_t seed, CaseSet* cases) {
  const Result<HostTensor> x = random_tensor(from_type, dims, seed, 100);
  Result<HostTensor> y = HostTensor::allocate(to_type, dims);
  if (!x.ok() || !y.ok()) return;
  for (int64_t i = 0; i < x->volume(); ++i) {
    if (is_float(from_type))
      y->set_f64(i, x->get_f64(i));
    else
      y->set_i64(i, x->get_i64(i));
  }
  KernelCase c;
  c.name = fmt::format("reformat {} {} to {} {}", dtype_name(from_type), layout_name(from), dtype_name(to_type),
                       layout_name(to));
  c.problem = problem_of(from_type, from, to_type, to, dims);
  c.inputs = {*x};
  c.expected = {std::move(y).value()};
  cases->add(std::move(c));
}

}  // namespace

void add_reformats(uint64_t seed, CaseSet* cases) {
  constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8, Layout::kBlocked16};
  // Of inputs and outputs alone: no cast takes them.
  constexpr Layout kBorder[] = {Layout::kBlocked2,  Layout::kBlocked4,      Layout::kBlocked16Border,
                                Layout::kBlocked32, Layout::kChannelsLast8, Layout::kChannelsLast16};
  const Dims shapes[] = {{2, 16, 3, 5}, {1, 3, 9, 9}, {2, 24, 7},   {2, 40, 2, 3, 2}, {1, 64, 33, 31},
                         {0, 8, 2, 2},  {2, 8, 0, 2}, {3, 1, 4, 4}, {1, 1, 1, 1}};
  for (const Dims& dims : shapes)
    for (const DType type : {DType::kF32, DType::kBF16, DType::kU8, DType::kI64})
      for (const Layout from : kLayouts)
        for (const Layout to : kLayouts) add(type, from, type, to, dims, seed++, cases);
  for (const Dims& dims : {Dims{2, 19, 5, 7}, Dims{1, 70, 2, 3, 2}, Dims{2, 3, 9}, Dims{1, 32, 1, 1}, Dims{0, 5, 2, 2}})
    for (const DType type : {DType::kF32, DType::kF16, DType::kI8, DType::kI64})
      for (const Layout border : kBorder) {
        for (const Layout other : kLayouts) {
          add(type, other, type, border, dims, seed++, cases);
          add(type, border, type, other, dims, seed++, cases);
        }
        for (const Layout other : kBorder) add(type, border, type, other, dims, seed++, cases);
      }
  constexpr std::pair<DType, DType> kTypes[] = {
      {DType::kF32, DType::kF16}, {DType::kF32, DType::kBF16}, {DType::kF16, DType::kF32}, {DType::kBF16, DType::kF32},
      {DType::kI32, DType::kF32}, {DType::kU8, DType::kF32},   {DType::kI64, DType::kI32}, {DType::kF32, DType::kF64}};
  for (const auto& [from, to] : kTypes) {
    for (const Layout layout : kLayouts) add(from, layout, to, layout, {2, 19, 5, 7}, seed++, cases);
    add(from, Layout::kLinear, to, Layout::kChannelsLast, {2, 19, 5, 7}, seed++, cases);
    add(from, Layout::kChannelsLast, to, Layout::kLinear, {2, 19, 5, 7}, seed++, cases);
    add(from, Layout::kLinear, to, Layout::kLinear, {700}, seed++, cases);
  }
}

std::vector<std::pair<std::string, Problem>> bench_reformats() {
  const Dims dims{1, 64, 56, 56};
  const auto of = [&](DType from_type, Layout from, DType to_type, Layout to) {
    return problem_of(from_type, from, to_type, to, dims);
  };
  return {{"reformat/to_channels_last_f32", of(DType::kF32, Layout::kLinear, DType::kF32, Layout::kChannelsLast)},
          {"reformat/from_channels_last_f32", of(DType::kF32, Layout::kChannelsLast, DType::kF32, Layout::kLinear)},
          {"reformat/to_channels_last_f16", of(DType::kF16, Layout::kLinear, DType::kF16, Layout::kChannelsLast)},
          {"reformat/to_blocked16_f32", of(DType::kF32, Layout::kLinear, DType::kF32, Layout::kBlocked16)},
          {"reformat/to_blocked32_i8", of(DType::kI8, Layout::kLinear, DType::kI8, Layout::kBlocked32)},
          {"reformat/from_channels_last8_f16", of(DType::kF16, Layout::kChannelsLast8, DType::kF16, Layout::kLinear)},
          {"reformat/f32_to_f16", of(DType::kF32, Layout::kLinear, DType::kF16, Layout::kLinear)}};
}

}  // namespace wootz::kernels
