#include "ops/cases.h"

namespace wootz::ops {

void signal_cases(CaseList& list) {
  const auto length = [](int64_t n) { return HostTensor::scalar<int64_t>(n); };
  list.add("signal/dft_real", "DFT", {list.random(DType::kF32, {2, 12, 1})}, {{"axis", int64_t{1}}});
  list.add("signal/dft_onesided", "DFT", {list.random(DType::kF32, {2, 9, 3, 1}), length(15)},
           {{"axis", int64_t{1}}, {"onesided", int64_t{1}}}, 1, {false, true});
  list.add("signal/dft_inverse", "DFT", {list.random(DType::kF64, {3, 16, 2})}, {{"inverse", int64_t{1}}});
  list.add("signal/dft_inverse_onesided", "DFT", {list.random(DType::kF32, {3, 9, 2})},
           {{"inverse", int64_t{1}}, {"onesided", int64_t{1}}});
  list.add("signal/stft", "STFT", {list.random(DType::kF32, {2, 64, 1}), length(8), list.random(DType::kF32, {16})}, {},
           1, {false, true, true});
  list.add("signal/dft_axis0", "DFT", {list.random(DType::kF16, {10, 3, 2}), length(7)}, {{"axis", int64_t{0}}}, 1,
           {false, true}, 7);
  list.add("signal/dft_inverse_onesided_odd", "DFT", {list.random(DType::kF32, {3, 5, 2}), length(9)},
           {{"inverse", int64_t{1}}, {"onesided", int64_t{1}}}, 1, {false, true}, 9);
  list.add("signal/stft_complex", "STFT", {list.random(DType::kF64, {2, 40, 2}), length(5), HostTensor(), length(12)},
           {{"onesided", int64_t{0}}}, 1, {false, true, false, true});
  list.add("signal/mel", "MelWeightMatrix",
           {length(8), length(64), length(8000), HostTensor::scalar<float>(100), HostTensor::scalar<float>(3500)}, {},
           1, {true, true, true, true, true});
}

}  // namespace wootz::ops
