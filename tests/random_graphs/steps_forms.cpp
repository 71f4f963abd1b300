// What exporters write for one op, and what passes should find.
#include "random_graphs/generator.h"

namespace wootz::random_graphs {

void Generator::spelled_gate() {
  const Made x = random_value();
  switch (pick(0, 4)) {
    case 0: {
      const Made e =
          add("Erf", {chance(50) ? add("Div", {x, scalar(std::sqrt(2.0))}) : add("Mul", {x, scalar(std::sqrt(0.5))})});
      const Made g = add("Add", {e, scalar(1)});
      if (chance(50))
        add("Mul", {add("Mul", {x, g}), scalar(0.5)});
      else
        add("Mul", {add("Mul", {x, scalar(0.5)}), g});
      return;
    }
    case 1: add("Mul", {x, add("Sigmoid", {x})}); return;
    case 2: add("Mul", {x, add("Tanh", {add("Softplus", {x})})}); return;
    case 3:
      add("Div", {add("Mul", {x, add("Clip", {add("Add", {x, scalar(3)})}, {{"min", 0.0}, {"max", 6.0}})}), scalar(6)});
      return;
    default: {
      const Made cube = add("Mul", {add("Mul", {x, x}), x});
      const Made t =
          add("Tanh", {add("Mul", {add("Add", {x, add("Mul", {cube, scalar(0.044715)})}), scalar(0.7978845608)})});
      add("Mul", {add("Mul", {x, scalar(0.5)}), add("Add", {t, scalar(1)})});
    }
  }
}

void Generator::spelled_norm() {
  const Made x = random_value();
  if (x.value == nullptr || x.data.rank() < 2) return;
  const size_t last = x.data.dims().size() - 1;
  if (x.data.dims()[last] < 3 || is_open(x.value->shape()[last])) return;
  const auto mean = [&](const Made& v) {
    return add("Reduce", {v}, {{"kind", std::string("mean")}, {"axes", Ints{-1}}});
  };
  const bool rms = chance(30);
  const Made centred = rms ? x : add("Sub", {x, mean(x)});
  const Made square = chance(50) ? add("Mul", {centred, centred}) : add("Pow", {centred, scalar(2)});
  const Made deviation = add("Sqrt", {add("Add", {mean(square), scalar(0.01)})});
  Made y = add("Div", {centred, deviation});
  const Dims d{x.data.dims()[last]};
  if (chance(80)) y = add("Mul", {y, weight(d)});
  if (chance(70)) add("Add", {y, weight(d)});
}

void Generator::batch_norm() {
  const Made x = random_value(DType::kF32, 4);
  if (x.value == nullptr || is_open(x.value->shape()[1])) return;
  const Dims d{x.data.dims()[1], 1, 1};
  if (chance(50)) {
    HostTensor variance = random(DType::kF32, d);
    for (int64_t i = 0; i < variance.volume(); ++i) variance.set_f64(i, 0.5 + std::fabs(variance.get_f64(i)));
    const Made v = constant(std::move(variance));
    const Made y = add("BatchNorm", {x, weight(d), weight(d), weight(d), v}, {{"epsilon", 1e-3}});
    if (chance(50)) activate(y);
  } else {
    add("Add", {add("Mul", {x, weight(d)}), weight(d)});
  }
}

void Generator::attention() {
  const Made x = random_value(DType::kF32, 3);
  if (x.value == nullptr || is_open(x.value->shape()[2]) || is_open(x.value->shape()[1])) return;
  const int64_t tokens = x.data.dims()[1], width = x.data.dims()[2], heads = 2, head = 4;
  const auto project = [&](Ints perm) {
    const Made y = add("MatMul", {x, weight({width, heads * head}, 1 / std::sqrt(static_cast<double>(width)))});
    return add("Transpose", {add("Reshape", {y, ints({0, tokens, heads, head})})}, {{"perm", std::move(perm)}});
  };
  const Made q = project({0, 2, 1, 3}), k = project({0, 2, 3, 1}), v = project({0, 2, 1, 3});
  Made score = add("MatMul", {q, k});
  score = chance(50) ? add("Div", {score, scalar(2)}) : add("Mul", {score, scalar(0.5)});
  if (chance(40)) score = add("Add", {score, weight({1, 1, tokens, tokens}, 1)});
  const Made seen = add("MatMul", {add("Softmax", {score}, {{"axis", int64_t{-1}}}), v});
  add("Reshape", {add("Transpose", {seen}, {{"perm", Ints{0, 2, 1, 3}}}), ints({0, tokens, heads * head})});
}

void Generator::residual() {
  const Made x = random_value(DType::kF32, 4);
  if (x.value == nullptr || is_open(x.value->shape()[1])) return;
  const int64_t c = x.data.dims()[1];
  Made y = add("Conv", {x, weight({c, c, 3, 3}, 0.3 / std::sqrt(9.0 * static_cast<double>(c)))},
               {{"pads", Ints{1, 1, 1, 1}}});
  if (chance(40)) y = activate(y);
  y = chance(50) ? add("Add", {x, y}) : add("Add", {y, x});
  if (chance(60)) activate(y);
  if (chance(25) && y.value != nullptr) {  // squeeze and excite
    const Made s = add("Pool", {y}, {{"kind", std::string("average")}, {"global", int64_t{1}}});
    add("Mul", {y, add("Sigmoid", {add("Conv", {s, weight({c, c, 1, 1}, 0.3)})})});
  }
}

// The same thing computed twice.
void Generator::twice() {
  const Made x = random_value();
  const Made a = add("Sigmoid", {x}), b = add("Sigmoid", {x});
  if (a.value != nullptr && b.value != nullptr) add(chance(50) ? "Add" : "Mul", {a, b});
}

void Generator::identities() {
  const Made x = random_value();
  switch (pick(0, 5)) {
    case 0: add("Identity", {x}, {}, true); return;
    case 1: add("Mul", {x, scalar(1)}); return;
    case 2: add("Add", {x, scalar(0)}); return;
    case 3: add("Cast", {x}, {{"to", std::string("f32")}}, true); return;
    case 4: add("Add", {weight({3}), weight({3})}); return;  // of constants
    default: add("Sub", {x, x});
  }
}

}  // namespace wootz::random_graphs
