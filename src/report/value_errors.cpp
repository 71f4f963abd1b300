#include "report/value_errors.h"

#include <algorithm>
#include <cmath>

namespace wootz {
namespace {

size_t bin_of(double difference) {
  const double power = std::floor(std::log10(difference)) - ValueErrors::kFirstPower + 1;
  return static_cast<size_t>(std::clamp<double>(power, 0, ValueErrors::kBins - 1));
}

bool same_kind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b;  // infinities of one sign
}

}  // namespace

bool ValueErrors::note_not_finite(int64_t at, double a, double b) {
  if (std::isfinite(a) && std::isfinite(b)) return false;
  const double values[2] = {a, b};
  for (int side = 0; side < 2; ++side) {
    if (std::isfinite(values[side])) continue;
    ++not_finite_[side];
    if (first_[side] < 0) first_[side] = at;
  }
  if (!same_kind(a, b)) ++mismatched_;
  return true;
}

void ValueErrors::add_one(int64_t at, double a, double b) {
  if (note_not_finite(at, a, b)) return;
  const double difference = std::abs(a - b);
  ++compared_;
  sum_ += difference;
  squares_ += difference * difference;
  squares_a_ += a * a;
  squares_b_ += b * b;
  products_ += a * b;
  largest_ = std::max(largest_, difference);
  largest_value_ = std::max(largest_value_, std::abs(a));
  if (difference == 0) return;
  ++differing_;
  ++bins_[bin_of(difference)];
}

template <typename A, typename B>
void ValueErrors::add_all(int64_t count, const A& a, const B& b) {
  for (int64_t i = 0; i < count; ++i) add_one(i, a(i), b(i));
}

Status ValueErrors::add(const HostTensor& a, const HostTensor& b) {
  if (a.dims() != b.dims())
    return invalid_argument("the shapes are {} and {}", a.dims().to_string(), b.dims().to_string());
  if (is_float(a.dtype()) != is_float(b.dtype()))
    return invalid_argument("the types are {} and {}", dtype_name(a.dtype()), dtype_name(b.dtype()));
  floats_ = is_float(a.dtype());
  elements_ += static_cast<uint64_t>(a.volume());
  const auto any_a = [&](int64_t i) { return a.get_f64(i); };
  const auto any_b = [&](int64_t i) { return b.get_f64(i); };
  if (a.dtype() == DType::kF32 && b.dtype() == DType::kF32) {
    const float *x = a.as<float>().data(), *y = b.as<float>().data();
    add_all(
        a.volume(), [=](int64_t i) { return static_cast<double>(x[i]); },
        [=](int64_t i) { return static_cast<double>(y[i]); });
  } else {
    add_all(a.volume(), any_a, any_b);
  }
  return Status();
}

double ValueErrors::error() const {
  if (compared_ == 0 || squares_ == 0) return 0;
  if (!floats_) return static_cast<double>(differing_) / static_cast<double>(compared_);
  return std::min(kLargest, std::sqrt(squares_ / squares_a_));  // by nothing: infinite
}

double ValueErrors::cosine() const {
  if (squares_a_ == 0 && squares_b_ == 0) return 1;
  return squares_a_ == 0 || squares_b_ == 0 ? 0 : products_ / std::sqrt(squares_a_) / std::sqrt(squares_b_);
}

}  // namespace wootz
