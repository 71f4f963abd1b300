#include "base/dims.h"

namespace wootz {

std::string Dims::to_string() const {
  std::string s = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i) s += 'x';
    s += std::to_string(d_[static_cast<size_t>(i)]);
  }
  return s + "]";
}

Result<int64_t> checked_volume(std::span<const int64_t> dims) {
  int64_t volume = 1;
  bool zero = false;
  for (int64_t d : dims)
    if (d < 0) return invalid_argument("dimension {} is negative", d);
  for (int64_t d : dims) {
    if (d == 0) {  // empty; the others still bound the strides
      zero = true;
      continue;
    }
    if (__builtin_mul_overflow(volume, d, &volume) || volume > limits::kMaxElements)
      return make_error(Code::kResourceExhausted, "a tensor of shape {} has more than {} elements",
                        Dims(dims).to_string(), limits::kMaxElements);
  }
  return zero ? 0 : volume;
}

Result<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  const int rank = a.rank() > b.rank() ? a.rank() : b.rank();
  Dims out = Dims::filled(rank, 1);
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const int64_t da = ia < 0 ? 1 : a[static_cast<size_t>(ia)];
    const int64_t db = ib < 0 ? 1 : b[static_cast<size_t>(ib)];
    if (da != db && da != 1 && db != 1)
      return invalid_argument("shapes {} and {} do not broadcast: {} against {}", a.to_string(), b.to_string(), da, db);
    out[static_cast<size_t>(i)] = da == 1 ? db : da;
  }
  return out;
}

Dims broadcast_strides(const Dims& from, const Dims& to) {
  const Dims dense = from.strides();
  Dims out = Dims::filled(to.rank(), 0);
  const int shift = to.rank() - from.rank();
  for (int i = 0; i < from.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    out[static_cast<size_t>(i + shift)] = from[k] == 1 ? 0 : dense[k];
  }
  return out;
}

Result<int> normalize_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return invalid_argument("axis {} is outside [-{}, {})", axis, rank, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace wootz
