// What only moves elements, and shapes that are computed with.
#include "random_graphs/generator.h"

namespace wootz::random_graphs {

Ints Generator::permutation(int rank) {
  Ints perm;
  for (int a = 0; a < rank; ++a) perm.push_back(a);
  std::shuffle(perm.begin(), perm.end(), rng_);
  return perm;
}

void Generator::transpose() {
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() < 2) return;
  const Made y = add("Transpose", {x}, {{"perm", permutation(x.data.rank())}}, true);
  if (chance(40) && y.value != nullptr)
    add("Transpose", {chance(50) ? y : add("Relu", {y})}, {{"perm", permutation(x.data.rank())}}, true);
}

void Generator::reshape() {
  const Made x = random_value();
  if (x.value == nullptr) return;
  const int form = pick(0, 4);
  if (form == 0) {
    add("Flatten", {x}, {{"axis", int64_t{pick(0, x.data.rank())}}}, true);
  } else if (form == 1) {
    add("Unsqueeze", {x}, {{"axes", Ints{pick(0, x.data.rank())}}}, true);
  } else if (form == 2) {
    for (size_t a = 0; a < x.data.dims().size(); ++a)
      if (x.data.dims()[a] == 1 && !is_open(x.value->shape()[a]) && chance(70)) {
        add("Squeeze", {x}, {{"axes", Ints{static_cast<int64_t>(a)}}}, true);
        return;
      }
  } else if (x.data.rank() > 0) {  // two axes into one, or one into two
    Ints target;
    const int at = pick(0, x.data.rank() - 1);
    for (int a = 0; a < x.data.rank(); ++a) {
      const int64_t d = x.data.dims()[static_cast<size_t>(a)];
      if (a == at && d % 2 == 0 && form == 3) {
        target.push_back(2);
        target.push_back(-1);
      } else if (a == at && a + 1 < x.data.rank() && form == 4) {
        target.push_back(-1);
        ++a;
      } else {
        target.push_back(is_open(x.value->shape()[static_cast<size_t>(a)]) ? 0 : d);
      }
    }
    add("Reshape", {x, ints(target)}, {}, true);
  }
}

void Generator::concat() {
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() == 0) return;
  const int64_t axis = pick(0, x.data.rank() - 1);
  std::vector<Made> inputs{x};
  for (int i = 0, n = pick(1, 3); i < n; ++i) {
    Made other = chance(50) ? activate(x) : random_value(DType::kF32, x.data.rank());
    if (chance(20)) other = x;
    if (other.value != nullptr) inputs.push_back(other);
  }
  add("Concat", inputs, {{"axis", axis}}, true);
}

void Generator::split() {
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() == 0) return;
  const auto axis = static_cast<size_t>(pick(0, x.data.rank() - 1));
  const int64_t d = x.data.dims()[axis];
  if (d < 2 || is_open(x.value->shape()[axis])) return;
  const int64_t first = pick(1, static_cast<int>(d) - 1);
  const auto parts =
      try_node("Split", {x}, {{"axis", static_cast<int64_t>(axis)}, {"split", Ints{first, d - first}}}, 2, true);
  if (parts.size() == 2 && chance(50)) add("Mul", {parts[0], add("Sigmoid", {parts[1]})});
  if (parts.size() == 2 && chance(30))
    add("Concat", {parts[0], parts[1]}, {{"axis", static_cast<int64_t>(axis)}}, true);
}

void Generator::slice() {
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() == 0) return;
  const int64_t axis = pick(0, x.data.rank() - 1), step = chance(20) ? 2 : chance(10) ? -1 : 1;
  Ints starts{step < 0 ? -1 : pick(0, 3)}, ends{step < 0 ? -1000 : chance(30) ? 1000 : pick(1, 8)};
  add("Slice", {x}, {{"starts", starts}, {"ends", ends}, {"axes", Ints{axis}}, {"steps", Ints{step}}}, true);
}

void Generator::pad() {
  static const std::vector<std::string> kModes{"constant", "constant", "edge", "reflect"};
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() == 0) return;
  Ints pads;
  for (int i = 0; i < 2 * x.data.rank(); ++i) pads.push_back(chance(35) && i % x.data.rank() > 1 ? pick(0, 2) : 0);
  const Made y = add("Pad", {x}, {{"pads", pads}, {"mode", any(kModes)}, {"value", chance(70) ? 0.0 : 0.5}});
  if (chance(50) && y.value != nullptr && y.data.rank() == 4 && !is_open(y.value->shape()[1]))
    add("Conv", {y, weight({4, y.data.dims()[1], 3, 3}, 0.2)});
}

void Generator::expand() {
  const Made x = random_value();
  if (x.value == nullptr) return;
  if (chance(30) && x.data.rank() > 0) {
    Ints repeats;
    for (int a = 0; a < x.data.rank(); ++a) repeats.push_back(chance(30) ? 2 : 1);
    add("Tile", {x}, {{"repeats", repeats}}, true);
    return;
  }
  Ints target;
  for (int a = 0; a < x.data.rank(); ++a)
    target.push_back(x.data.dims()[static_cast<size_t>(a)] == 1 && chance(60) ? pick(1, 3) : 1);
  if (chance(30)) target.insert(target.begin(), pick(1, 2));
  add("Expand", {x, ints(target)}, {}, true);
}

void Generator::gather() {
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() == 0) return;
  const auto axis = static_cast<size_t>(pick(0, x.data.rank() - 1));
  if (is_open(x.value->shape()[axis])) return;
  const int64_t d = x.data.dims()[axis];
  Ints indices;
  for (int i = 0, n = pick(1, 4); i < n; ++i) indices.push_back(pick(static_cast<int>(-d), static_cast<int>(d) - 1));
  const Made at = chance(30) ? scalar(static_cast<double>(indices[0]), DType::kI64) : ints(indices);
  add("Gather", {x, at}, {{"axis", static_cast<int64_t>(axis)}}, true);
}

void Generator::resize() {
  const Made x = random_value(DType::kF32, 4);
  const bool linear = chance(40);
  add("Resize", {x},
      {{"mode", std::string(linear ? "linear" : "nearest")},
       {"coordinate_transformation_mode", std::string(linear ? "half_pixel" : "asymmetric")},
       {"nearest_mode", std::string("floor")},
       {"scales", std::vector<double>{1, 1, 2, chance(50) ? 2.0 : 1.0}}});
}

void Generator::blocks() {
  const Made x = random_value(DType::kF32, 4);
  add(chance(50) ? "DepthToSpace" : "SpaceToDepth", {x}, {{"blocksize", int64_t{2}}}, true);
}

// Shapes read, computed with, and used.
void Generator::shapes() {
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() < 2) return;
  const Made shape = add("Shape", {x}, {}, true);
  const auto extent = [&](int64_t a) { return add("Gather", {shape, ints({a})}, {}, true); };
  const int form = pick(0, 2);
  if (form == 0) {
    const Made target = add("Concat", {extent(0), ints({-1})}, {{"axis", int64_t{0}}}, true);
    add("Reshape", {x, target}, {}, true);
  } else if (form == 1) {
    const Made product = add("Mul", {extent(0), extent(1)}, {}, true);
    std::vector<Made> parts{product};
    for (int a = 2; a < x.data.rank(); ++a) parts.push_back(extent(a));
    add("Reshape", {x, parts.size() == 1 ? product : add("Concat", parts, {{"axis", int64_t{0}}}, true)}, {}, true);
  } else {
    const Made row = weight({1, 1}, 1);
    add("Expand", {row, add("Concat", {extent(0), ints({pick(1, 4)})}, {{"axis", int64_t{0}}}, true)}, {}, true);
  }
}

}  // namespace wootz::random_graphs
