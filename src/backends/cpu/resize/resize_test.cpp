#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

using rig::random_tensor;

Problem problem(const char* mode, const char* coordinate, const char* nearest, const HostTensor& x, const Dims& y,
                std::vector<double> scales) {
  Problem p;
  p.set_family(Family::kResize);
  p.params = ResizeParams{.mode = *choice_from_name<ResizeMode>(mode),
                          .coordinate = *choice_from_name<ResizeCoordinate>(coordinate),
                          .nearest = *choice_from_name<ResizeNearest>(nearest),
                          .scales = std::move(scales)};
  p.num_main = 1;
  p.inputs = {rig::desc_of(x)};
  p.outputs = {rig::desc(x.dtype(), y)};
  p.acc_dtype = x.dtype();
  return p;
}

TEST(Resize, NearestDoublesAndHalves) {
  std::mt19937_64 rng(rig::seed());
  for (DType type : {DType::kF32, DType::kF16, DType::kU8, DType::kI64}) {
    const HostTensor x = random_tensor(rng, type, {2, 3, 4, 5});
    HostTensor up = HostTensor::allocate(type, {2, 3, 8, 10}).value();
    for (int64_t e = 0; e < up.volume(); ++e) {
      const int64_t plane = e / 80, row = e / 10 % 8, column = e % 10;
      up.set_f64(e, x.get_f64(plane * 20 + row / 2 * 5 + column / 2));
    }
    rig::check(problem("nearest", "asymmetric", "floor", x, {2, 3, 8, 10}, {1, 1, 2, 2}), {x}, {up}, {.tolerance = 0});
    rig::check(problem("nearest", "half_pixel", "round_prefer_floor", x, {2, 3, 8, 10}, {0, 0, 0, 0}), {x}, {up},
               {.tolerance = 0});
    HostTensor down = HostTensor::allocate(type, {2, 3, 2, 5}).value();
    for (int64_t e = 0; e < down.volume(); ++e) down.set_f64(e, x.get_f64(e / 10 * 20 + e / 5 % 2 * 10 + e % 5));
    rig::check(problem("nearest", "asymmetric", "floor", x, {2, 3, 2, 5}, {1, 1, 0.5, 1}), {x}, {down},
               {.tolerance = 0});
  }
}

// Interpolation by its definition, in double: the oracle for every coordinate mode.
TEST(Resize, LinearMatchesItsDefinition) {
  std::mt19937_64 rng(rig::seed());
  for (const char* coordinate : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"})
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{7, 9}, {3, 2}, {1, 1}, {4, 5}}) {
      const HostTensor x = random_tensor(rng, DType::kF32, {2, 17, 4, 5});
      HostTensor y = HostTensor::allocate(DType::kF32, {2, 17, height, width}).value();
      const auto at = [&](int64_t o, int64_t in, int64_t out) {
        const double s = static_cast<double>(out) / static_cast<double>(in);
        double v = (static_cast<double>(o) + 0.5) / s - 0.5;
        if (std::string(coordinate) == "asymmetric") v = static_cast<double>(o) / s;
        if (std::string(coordinate) == "align_corners")
          v = out > 1 ? static_cast<double>(o * (in - 1)) / static_cast<double>(out - 1) : 0;
        if (std::string(coordinate) == "pytorch_half_pixel" && out == 1) v = 0;
        return std::min(std::max(v, 0.0), static_cast<double>(in - 1));
      };
      for (int64_t e = 0; e < y.volume(); ++e) {
        const int64_t plane = e / (height * width);
        const double v = at(e / width % height, 4, height), h = at(e % width, 5, width);
        double sum = 0;
        for (int64_t i = 0; i < 4; ++i)
          for (int64_t j = 0; j < 5; ++j)
            sum += std::max(0.0, 1 - std::abs(v - static_cast<double>(i))) *
                   std::max(0.0, 1 - std::abs(h - static_cast<double>(j))) * x.get_f64(plane * 20 + i * 5 + j);
        y.set_f64(e, sum);
      }
      rig::check(problem("linear", coordinate, "", x, {2, 17, height, width}, {1, 1, 0, 0}), {x}, {y},
                 {.tolerance = 1e-5});
    }
}

}  // namespace
}  // namespace wootz::cpu
