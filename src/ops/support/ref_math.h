// What the numeric references share: whole tensors as doubles, and one plain matrix product.
#pragma once

#include <span>
#include <vector>

#include "base/tensor.h"

namespace wootz {

// Elements [begin, begin + out.size()) as doubles.
void load_f64(const HostTensor& tensor, int64_t begin, std::span<double> out);
std::vector<double> load_f64(const HostTensor& tensor);
// Rounds to the tensor's type; integers round half to even and wrap.
void store_f64(HostTensor* tensor, int64_t begin, std::span<const double> values);

// c[m,n] += a[m,k] * b[k,n]; all dense and row-major.
void matmul_accumulate(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c);

// Walks all positions of a shape in row-major order, keeping an offset into each of several strided tensors.
class StridedWalk {
 public:
  StridedWalk(const Dims& dims, std::vector<Dims> strides);
  int64_t offset(size_t tensor) const { return offsets_[tensor]; }
  const Dims& position() const { return position_; }
  void next();

 private:
  Dims dims_, position_;
  std::vector<Dims> strides_;
  std::vector<int64_t> offsets_;
};

}  // namespace wootz
