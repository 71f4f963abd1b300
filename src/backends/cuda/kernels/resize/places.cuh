// What the kinds of resizing share: where results are, and what is beyond the image.
// The problem: X: elements of x and y; kThreads; kMoving: axes that change; kCrop: results from outside of a region are
// kBeyond; kWhole: of integers; Constants {count: results};
//   Place place(c, i)        where result i comes from in x along the other axes (from), and its place along axis k
//                            of those that change: moved(at, k)
//   coordinate(k, o)         the source's coordinate of place o along axis k
//   last(c, k), stride(c, k) the source's last place along axis k, and from one to the next
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

template <class T>
W_FN T beyond() {
  typedef typename Reg<T>::t R;
  if constexpr (kWhole)
    return Put<T>::to(w_sat<R>(rint(kBeyond)));
  else
    return Put<T>::to(w_cast<R>(kBeyond));
}

// Places of a result along the axes that change.
struct Coordinates {
  double at[kMoving > 0 ? kMoving : 1];
  bool outside;
};

W_FN Coordinates coordinates(const Constants& c, const Place& place) {
  Coordinates all;
  all.outside = false;
#pragma unroll
  for (int k = 0; k < kMoving; ++k) {
    all.at[k] = coordinate(k, moved(place, k));
    if (kCrop) all.outside = all.outside || all.at[k] < 0 || all.at[k] > last(c, k);
  }
  return all;
}
