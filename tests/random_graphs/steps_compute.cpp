// What computes.
#include "random_graphs/generator.h"

namespace wootz::random_graphs {

void Generator::unary() {
  static const std::vector<const char*> kSmooth{
      "Relu",     "Sigmoid", "Tanh",  "Gelu",      "Erf", "HardSigmoid", "HardSwish",
      "Softplus", "Mish",    "Swish", "LeakyRelu", "Elu", "Selu",        "Celu",
      "Softsign", "Sin",     "Cos",   "Abs",       "Neg", "Exp",         "Atan"};
  static const std::vector<const char*> kExact{"Floor", "Ceil", "Round", "Sign"};
  if (chance(10)) {
    add(any(kExact), {random_value(DType::kF32, -1, true)}, {}, true);
  } else if (chance(15)) {
    const double low = 0.1 * pick(-20, 0), high = low + 0.1 * pick(5, 60);
    AttrMap attrs;
    if (chance(80)) attrs["min"] = low;
    if (chance(80)) attrs["max"] = high;
    add("Clip", {random_value()}, std::move(attrs));
  } else if (chance(15)) {
    add(chance(50) ? "Sqrt" : "Log", {add("Add", {add("Abs", {random_value()}), scalar(0.5)})});
  } else {
    add(any(kSmooth), {random_value()});
  }
}

// What broadcasts with x: a scalar, a row, a plane, channels, the whole.
Made Generator::partner(const Made& x) {
  const Dims& dims = x.data.dims();
  if (chance(35)) return scalar(0.25 * pick(-8, 8));
  if (chance(15)) return random_value();
  if (x.data.rank() == 0) return scalar(2);
  Dims small;
  for (size_t a = 0; a < dims.size(); ++a)
    small.push_back(chance(40) && !is_open(x.value->shape()[a]) ? dims[a] : int64_t{1});
  if (chance(40)) {  // leading ones may be missing
    Dims shorter;
    bool begun = false;
    for (const int64_t d : small) {
      begun = begun || d != 1;
      if (begun) shorter.push_back(d);
    }
    small = shorter;
  }
  return weight(small, 1);
}

bool Generator::is_open(const Dim& d) { return !d.is_const(); }

void Generator::binary() {
  const Made x = random_value();
  if (x.value == nullptr) return;
  static const std::vector<const char*> kPlain{"Add", "Sub", "Mul", "Add", "Mul", "Min", "Max"};
  if (chance(12)) {
    const Made safe = chance(50) ? scalar(0.5 * pick(1, 6)) : add("Add", {add("Sigmoid", {partner(x)}), scalar(0.5)});
    add("Div", {x, safe});
  } else if (chance(8)) {
    add("Pow", {chance(50) ? x : add("Abs", {x}), scalar(chance(60) ? 2 : 3)});
  } else {
    const Made other = partner(x);
    if (chance(30))
      add(any(kPlain), {other, x});
    else
      add(any(kPlain), {x, other});
  }
}

void Generator::conv() {
  const Made x = random_value(DType::kF32, chance(85) ? 4 : 3);
  if (x.value == nullptr || is_open(x.value->shape()[1])) return;
  const int64_t channels = x.data.dims()[1];
  const int form = pick(0, 5);
  const int64_t groups = form == 0 ? channels : form == 1 && channels % 2 == 0 ? 2 : 1;
  const int64_t out = groups * pick(1, form == 0 ? 1 : 8), kernel = chance(50) ? 1 : 3, spatial = x.data.rank() - 2;
  Dims w{out, channels / groups};
  Ints pads, strides, dilations;
  for (int64_t a = 0; a < spatial; ++a) {
    w.push_back(kernel);
    pads.push_back(kernel / 2);
    strides.push_back(chance(20) ? 2 : 1);
    dilations.push_back(kernel == 3 && chance(10) ? 2 : 1);
  }
  pads.insert(pads.end(), pads.begin(), pads.end());
  const bool transposed = chance(10) && groups == 1;
  if (transposed) std::swap(w[0], w[1]);
  const double scale = 1 / std::sqrt(static_cast<double>(channels / groups * (kernel == 3 ? 9 : 1)));
  std::vector<Made> inputs{x, weight(w, scale)};
  if (chance(50)) inputs.push_back(weight({out}));
  const Made y = add(transposed ? "ConvTranspose" : "Conv", inputs,
                     {{"pads", pads}, {"strides", strides}, {"dilations", dilations}, {"groups", groups}});
  if (chance(60)) activate(y);
}

Made Generator::activate(const Made& x) {
  static const std::vector<const char*> kNames{"Relu", "Sigmoid", "HardSwish", "Swish", "Gelu", "LeakyRelu"};
  return add(any(kNames), {x});
}

void Generator::gemm() {
  const Made x = random_value(DType::kF32, pick(2, 4));
  if (x.value == nullptr) return;
  const size_t last = x.data.dims().size() - 1;
  if (is_open(x.value->shape()[last])) return;
  const int64_t k = x.data.dims()[last], n = pick(1, 10);
  const bool flip = chance(30);
  const Made w = weight(flip ? Dims{n, k} : Dims{k, n}, 1 / std::sqrt(static_cast<double>(k)));
  Made y = add("MatMul", {x, w}, flip ? AttrMap{{"trans_b", int64_t{1}}} : AttrMap{});
  if (chance(60)) y = add("Add", {y, weight({n})});
  if (chance(30)) activate(y);
  if (chance(20)) {  // siblings over one input
    const Made other = add("MatMul", {x, weight({k, n}, 1 / std::sqrt(static_cast<double>(k)))});
    if (chance(50)) add("Add", {other, y});
  }
}

Ints Generator::some_axes(int rank) {
  Ints axes;
  for (int a = 0; a < rank; ++a)
    if (chance(40)) axes.push_back(chance(30) ? a - rank : a);
  if (axes.empty()) axes.push_back(rank - 1);
  return axes;
}

void Generator::reduce() {
  static const std::vector<std::string> kKinds{"mean", "sum", "max", "min", "l2", "l1", "sumsq", "logsumexp"};
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() == 0) return;
  const Made y = add("Reduce", {x},
                     {{"kind", any(kKinds)}, {"axes", some_axes(x.data.rank())}, {"keepdims", int64_t{chance(60)}}});
  if (chance(30) && y.value != nullptr && y.data.rank() == x.data.rank()) add("Sub", {x, y});
}

void Generator::normalize() {
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() < 2) return;
  const size_t last = x.data.dims().size() - 1;
  const int form = pick(0, 3);
  if (form < 2) {
    if (is_open(x.value->shape()[last]) || x.data.dims()[last] < 3) return;
    const Dims d{x.data.dims()[last]};
    std::vector<Made> inputs{x, weight(d)};
    if (form == 0 && chance(70)) inputs.push_back(weight(d));
    add(form == 0 ? "LayerNorm" : "RMSNorm", inputs, {{"axis", int64_t{-1}}, {"epsilon", 1e-2}});
    return;
  }
  if (x.data.rank() < 3 || is_open(x.value->shape()[1])) return;
  const Dims d{x.data.dims()[1]};
  if (form == 2)
    add("InstanceNorm", {x, weight(d), weight(d)}, {{"epsilon", 1e-2}});
  else
    add("GroupNorm", {x, weight(d), weight(d)}, {{"groups", int64_t{d[0] % 2 == 0 ? 2 : 1}}, {"epsilon", 1e-2}});
}

void Generator::softmax() {
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() == 0) return;
  add(chance(75) ? "Softmax" : "LogSoftmax", {x}, {{"axis", int64_t{pick(-1, x.data.rank() - 1)}}});
}

void Generator::pool() {
  const Made x = random_value(DType::kF32, 4);
  if (chance(30)) {
    add("Pool", {x}, {{"kind", std::string("avg")}, {"global", int64_t{1}}});
    return;
  }
  const int64_t k = pick(2, 3), pad = k == 3 && chance(50) ? 1 : 0;
  add("Pool", {x},
      {{"kind", std::string(chance(50) ? "max" : "avg")},
       {"kernel", Ints{k, k}},
       {"strides", chance(50) ? Ints{2, 2} : Ints{1, 1}},
       {"pads", Ints{pad, pad, pad, pad}},
       {"count_include_pad", int64_t{chance(50)}}});
}

void Generator::compare() {
  static const std::vector<const char*> kNames{"Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"};
  const Made x = random_value(DType::kF32, -1, true);
  if (x.value == nullptr) return;
  const Made mask = add(any(kNames), {x, scalar(0.25 * pick(-4, 4))}, {}, true);
  if (mask.value == nullptr) return;
  const Made used = chance(30) ? add("Not", {mask}, {}, true) : mask;
  add("Where", {used, chance(60) ? activate(x) : scalar(1), chance(60) ? x : scalar(-1)});
}

void Generator::indices() {
  const Made x = random_value(DType::kF32, -1, true);
  if (x.value == nullptr || x.data.rank() == 0) return;
  const int64_t axis = pick(0, x.data.rank() - 1);
  if (chance(50)) {
    add("ArgReduce", {x},
        {{"kind", std::string(chance(50) ? "argmax" : "argmin")}, {"axis", axis}, {"keepdims", int64_t{chance(50)}}},
        true);
  } else {
    try_node("TopK", {x}, {{"axis", axis}, {"k", int64_t{1}}, {"largest", int64_t{chance(50)}}}, 2, true);
  }
}

void Generator::integer() {
  static const std::vector<const char*> kNames{"Add", "Sub", "Mul", "Min", "Max"};
  const Made x = random_value(DType::kI64);
  if (x.value == nullptr) return;
  const Made y = chance(80) ? add(any(kNames), {x, scalar(pick(-2, 3), DType::kI64)}, {}, true)
                            : add("Div", {x, scalar(pick(1, 3), DType::kI64)}, {}, true);
  if (chance(40)) add("Cast", {y}, {{"to", std::string("f32")}}, true);
}

void Generator::cast() {
  static const std::vector<std::string> kTypes{"f64", "f16", "i32", "i64", "bool"};
  const Made x = random_value(DType::kF32, -1, true);
  add("Cast", {add("Cast", {x}, {{"to", any(kTypes)}}, true)}, {{"to", std::string("f32")}}, true);
}

void Generator::cumulate() {
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() == 0) return;
  add("CumSum", {x}, {{"axis", int64_t{pick(0, x.data.rank() - 1)}}, {"reverse", int64_t{chance(50)}}});
}

}  // namespace wootz::random_graphs
