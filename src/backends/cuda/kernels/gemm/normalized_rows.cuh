// Rows that a product of gemm/mma.cuh or gemm/fed.cuh multiplies as they are, and normalizes behind its sums: what the
// sums of a row and of its squares say, and the normalized rows, where they are a result. The problem: X; kCentered,
// kEpsilon; kKept, with Operands.kept, and Parameters parameters(p, pack) and scaled() as norm/packs.cuh has them;
// kVector; Constants {depth: of a row}.
#pragma once
#include "backends/cuda/kernels/common/inverse_root.cuh"

// Mean and inverse deviation of a row, of which each element is such a part. A deviation below a thousandth of the mean
// is beyond what 16 bits hold of x, and FP32 of the sum of its squares.
W_FN Pack<float, 2> mean_and_inverse(float each, float sum, float squares) {
  constexpr float kLeast = 1.0f / (1 << 20);
  const float mean = kCentered ? sum * each : 0.0f, square = squares * each;
  const float least = square * kLeast, variance = square - mean * mean;
  return {mean, w_inverse_root((variance < least ? least : variance) + (float)kEpsilon)};
}

// Sums by columns of w, whose sum of each is `columns` and to which the normalization's bias adds `added`; `of`: the
// row's mean and inverse deviation; `factor`: of all products.
template <class T, int kCount>
W_FN void normalize_sums(const Pack<T, kCount>& sum, const Pack<float, kCount>& columns,
                         const Pack<float, kCount>& added, const Pack<float, 2>& of, float factor, float (&a)[kCount]) {
  const float all = of.v[1] * factor;
#pragma unroll
  for (int v = 0; v < kCount; ++v)
    a[v] = all * (kCentered ? (float)sum.v[v] - of.v[0] * columns.v[v] : (float)sum.v[v]) + added.v[v];
}

// Vector v of `rows` rows from m0 on, which the blocks of these rows store together: what is read for it. Row -1:
// there is none.
template <class Given>
struct Keeping {
  Pack<X, kVector> x;
  Given given;
  int row;
  s64 at;
};
template <class P, class C>
W_FN auto read_kept(const P& p, const C& c, const X* x, int m0, int rows, int v) {
  const int each = c.depth / kVector, row = v / each, pack = v - row * each;
  Keeping<decltype(parameters(p, 0))> own{};
  own.row = row < rows && m0 + row < c.rows ? row : -1;
  if (own.row < 0) return own;
  own.at = ((s64)(m0 + row) * each + pack) * kVector;
  own.x = *(const Pack<X, kVector>*)(x + own.at);
  own.given = parameters(p, pack);
  return own;
}
template <class P, class Own>
W_FN void keep(const P& p, const Own& own, const Pack<float, 2>* notes) {
  if (own.row < 0) return;
  const Pack<float, 2> of = notes[own.row];
  Pack<X, kVector> z;
#pragma unroll
  for (int k = 0; k < kVector; ++k)
    z.v[k] = Put<X>::to(scaled(own.given, k, (w_get(own.x.v[k]) - (kCentered ? of.v[0] : 0.0f)) * of.v[1]));
  *(Pack<X, kVector>*)(p.kept + own.at) = z;
}
