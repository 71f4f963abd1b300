#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

TEST(Fill, ConstantsOfEveryType) {
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU8, DType::kI32,
                     DType::kI64, DType::kBool})
    for (const Dims& dims : {Dims{3, 500}, Dims{}, Dims{0, 2}, Dims{1000, 100}}) {
      HostTensor y = HostTensor::allocate(type, dims).value();
      for (int64_t i = 0; i < y.volume(); ++i) y.set_f64(i, 1);
      Problem p;
      p.family = Family::kFill;
      p.params = {{"kind", std::string("constant")}, {"value", 1.0}};
      p.outputs = {rig::desc_of(y)};
      rig::check(p, {}, {y}, {.tolerance = 0, .misaligned = true});
    }
}

}  // namespace
}  // namespace wootz::cpu
