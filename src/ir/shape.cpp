// Shapes: lists of symbolic dimensions.
#include <algorithm>

#include "ir/dim.h"

namespace wootz {

Shape to_shape(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

std::optional<Dims> to_dims(const Shape& shape) {
  if (shape.size() > static_cast<size_t>(limits::kMaxRank)) return std::nullopt;
  Dims dims;
  for (const Dim& d : shape) {
    if (!d.is_const()) return std::nullopt;
    dims.push_back(d.value());
  }
  return dims;
}

std::string shape_to_string(const Shape& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) s += ',';
    s += shape[i].to_string();
  }
  return s + ']';
}

Dim volume(const Shape& shape) {
  Dim product = 1;
  for (const Dim& d : shape) product = product * d;
  return product;
}

Result<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank, Dim(1));
  for (size_t i = 0; i < rank; ++i) {
    const Dim da = i + a.size() < rank ? Dim(1) : a[i + a.size() - rank];
    const Dim db = i + b.size() < rank ? Dim(1) : b[i + b.size() - rank];
    const bool a_one = da.is_const() && da.value() == 1, b_one = db.is_const() && db.value() == 1;
    if (a_one) {
      out[i] = db;
    } else if (b_one || da == db) {
      out[i] = da;
    } else if (da.is_const() && db.is_const()) {
      return invalid_argument("shapes {} and {} do not broadcast: {} against {} in dimension {} of the result",
                              shape_to_string(a), shape_to_string(b), da.value(), db.value(), i);
    } else {
      // A number other than 1 decides: the symbol must be it, or 1. Two symbols are taken to be equal.
      out[i] = db.is_const() ? db : da;
    }
  }
  return out;
}

}  // namespace wootz
