#include "scaling/networks.h"

#include <cmath>

#include "ops/registry.h"

namespace wootz::scaling {
namespace {

using Ints = std::vector<int64_t>;

class Maker {
 public:
  explicit Maker(const char* name) : graph(std::make_shared<Graph>(name)) {}

  Value* add(const char* name, std::vector<Value*> inputs, AttrMap attrs = {}) {
    return graph->add_node(op(name), "", std::move(inputs), std::move(attrs))->output();
  }
  Value* weight(const Dims& dims, float scale = 0.1f) {
    std::vector<float> data(static_cast<size_t>(dims.volume()));
    for (float& v : data)
      v = scale * (static_cast<float>(seed_ = seed_ * 1664525u + 1013904223u) / 4294967296.0f - 0.5f);
    return graph->add_constant("", HostTensor::from<float>(data, dims));
  }
  Value* scalar(float value) { return graph->add_constant("", HostTensor::scalar(value)); }
  Value* shape(Ints extents) {
    const Dims count{static_cast<int64_t>(extents.size())};
    return graph->add_constant("", HostTensor::from<int64_t>(extents, count));
  }
  Value* conv(Value* x, int64_t in, int64_t out, int64_t kernel) {
    const int64_t pad = kernel / 2;
    return add("Conv", {x, weight({out, in, kernel, kernel})}, {{"pads", Ints{pad, pad, pad, pad}}});
  }
  Value* batch_norm(Value* x, int64_t channels) {
    const Dims dims{channels, 1, 1};
    const std::vector<float> ones(static_cast<size_t>(channels), 1.0f);
    Value* variance = graph->add_constant("", HostTensor::from<float>(ones, dims));
    return add("BatchNorm", {x, weight(dims), weight(dims), weight(dims), variance});
  }
  bool below(int nodes) const { return graph->num_nodes() < nodes; }
  std::shared_ptr<Graph> finish(Value* output) {
    graph->mark_output(output);
    return graph;
  }

  std::shared_ptr<Graph> graph;

 private:
  uint32_t seed_ = 1;
};

std::shared_ptr<Graph> chain(int nodes) {
  Maker m("chain");
  Value* x = m.graph->add_input("x", DType::kF32, {1, 8, 8, 8});
  while (m.below(nodes)) {
    x = m.conv(x, 8, 8, 3);
    x = m.add("Relu", {x});
    x = m.add("Add", {x, m.weight({8, 1, 1})});
    x = m.add("Sigmoid", {x});
    x = m.add("Transpose", {x}, {{"perm", Ints{0, 1, 3, 2}}});
  }
  return m.finish(x);
}

std::shared_ptr<Graph> wide(int nodes) {
  Maker m("wide");
  Value* x = m.graph->add_input("x", DType::kF32, {1, 8, 8, 8});
  std::vector<Value*> ends;
  while (m.below(nodes * 3 / 4))
    ends.push_back(m.add("Relu", {m.add("Add", {m.conv(x, 8, 8, 1), m.weight({8, 1, 1})})}));
  while (ends.size() > 1) {
    std::vector<Value*> sums;
    for (size_t i = 0; i + 1 < ends.size(); i += 2) sums.push_back(m.add("Add", {ends[i], ends[i + 1]}));
    if (ends.size() % 2 == 1) sums.push_back(ends.back());
    ends = std::move(sums);
  }
  return m.finish(ends[0]);
}

std::shared_ptr<Graph> residual(int nodes) {
  Maker m("residual");
  Value* x = m.graph->add_input("x", DType::kF32, {1, 16, 8, 8});
  while (m.below(nodes)) {
    Value* y = m.add("Relu", {m.batch_norm(m.conv(x, 16, 8, 1), 8)});
    y = m.add("Relu", {m.batch_norm(m.conv(y, 8, 8, 3), 8)});
    y = m.batch_norm(m.conv(y, 8, 16, 1), 16);
    x = m.add("Relu", {m.add("Add", {x, y})});
  }
  return m.finish(x);
}

std::shared_ptr<Graph> transformer(int nodes) {
  Maker m("transformer");
  const int64_t tokens = 16, width = 32, heads = 2;
  Value* x = m.graph->add_input("x", DType::kF32, {1, tokens, width});
  const auto linear = [&](Value* v, int64_t in, int64_t out) {
    return m.add("Add", {m.add("MatMul", {v, m.weight({in, out})}), m.weight({out})});
  };
  const auto norm = [&](Value* v) {
    Value* mean = m.add("Reduce", {v}, {{"kind", std::string("mean")}, {"axes", Ints{-1}}});
    Value* centred = m.add("Sub", {v, mean});
    Value* variance =
        m.add("Reduce", {m.add("Mul", {centred, centred})}, {{"kind", std::string("mean")}, {"axes", Ints{-1}}});
    Value* scale = m.add("Sqrt", {m.add("Add", {variance, m.scalar(1e-5f)})});
    return m.add("Add", {m.add("Mul", {m.add("Div", {centred, scale}), m.weight({width})}), m.weight({width})});
  };
  const auto split = [&](Value* v, Ints perm) {
    Value* shape = m.shape({1, tokens, heads, width / heads});
    return m.add("Transpose", {m.add("Reshape", {v, shape})}, {{"perm", std::move(perm)}});
  };
  while (m.below(nodes)) {
    Value* q = split(linear(x, width, width), {0, 2, 1, 3});
    Value* k = split(linear(x, width, width), {0, 2, 3, 1});
    Value* v = split(linear(x, width, width), {0, 2, 1, 3});
    Value* score = m.add("Div", {m.add("MatMul", {q, k}), m.scalar(4)});
    Value* seen = m.add("MatMul", {m.add("Softmax", {score}, {{"axis", int64_t{-1}}}), v});
    seen = m.add("Reshape", {m.add("Transpose", {seen}, {{"perm", Ints{0, 2, 1, 3}}}), m.shape({1, tokens, width})});
    x = norm(m.add("Add", {x, linear(seen, width, width)}));
    Value* h = linear(x, width, 2 * width);
    Value* erf = m.add("Add", {m.add("Erf", {m.add("Div", {h, m.scalar(std::sqrt(2.0f))})}), m.scalar(1)});
    h = m.add("Mul", {m.add("Mul", {h, erf}), m.scalar(0.5f)});
    x = norm(m.add("Add", {x, linear(h, 2 * width, width)}));
  }
  return m.finish(x);
}

std::shared_ptr<Graph> concat(int nodes) {
  Maker m("concat");
  Value* x = m.graph->add_input("x", DType::kF32, {1, 8, 8, 8});
  std::vector<Value*> last{x, x, x, x};
  while (m.below(nodes)) {
    Value* all = m.add("Concat", last, {{"axis", int64_t{1}}});
    Value* y = m.add("Relu", {m.conv(all, 32, 8, 1)});
    last = {last[1], last[2], last[3], y};
  }
  return m.finish(m.add("Concat", last, {{"axis", int64_t{1}}}));
}

std::shared_ptr<Graph> tower(int nodes) {
  Maker m("tower");
  Value* x = m.graph->add_input("x", DType::kF32, {1, 8, 8, 8});
  Value* seen = m.add("Softmax", {x}, {{"axis", int64_t{1}}});
  Value* y = x;
  while (m.below(nodes)) y = m.add("Mul", {m.conv(y, 8, 8, 1), seen});
  return m.finish(y);
}

std::shared_ptr<Graph> outputs(int nodes) {
  Maker m("outputs");
  Value* x = m.graph->add_input("x", DType::kF32, {1, 8, 8, 8});
  while (m.below(nodes)) {
    x = m.add("Relu", {m.conv(x, 8, 8, 1)});
    if (m.graph->num_nodes() % 4 == 2) m.graph->mark_output(x);
    x = m.add("Tanh", {m.add("Add", {x, m.weight({8, 1, 1})})});
  }
  return m.finish(x);
}

// Inverted bottlenecks with squeeze and excite, as in MobileNetV3 and EfficientNet.
std::shared_ptr<Graph> mbconv(int nodes) {
  Maker m("mbconv");
  const int64_t width = 8, inner = 32;
  Value* x = m.graph->add_input("x", DType::kF32, {1, width, 16, 16});
  const auto swish = [&](Value* v) { return m.add("Mul", {v, m.add("Sigmoid", {v})}); };
  while (m.below(nodes)) {
    Value* y = swish(m.batch_norm(m.conv(x, width, inner, 1), inner));
    y = m.add("Conv", {y, m.weight({inner, 1, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}, {"groups", inner}});
    y = swish(m.batch_norm(y, inner));
    Value* seen = m.add("Reduce", {y}, {{"kind", std::string("mean")}, {"axes", Ints{2, 3}}, {"keepdims", int64_t{1}}});
    seen = m.add("Sigmoid", {m.conv(swish(m.conv(seen, inner, 4, 1)), 4, inner, 1)});
    y = m.batch_norm(m.conv(m.add("Mul", {y, seen}), inner, width, 1), width);
    x = m.add("Add", {x, y});
  }
  return m.finish(x);
}

// Split, bottlenecks, everything joined: YOLO's C2f. What it passes on is kept for the end, as its neck does.
std::shared_ptr<Graph> c2f(int nodes) {
  Maker m("c2f");
  Value* x = m.graph->add_input("x", DType::kF32, {1, 16, 16, 16});
  const auto conv = [&](Value* v, int64_t in, int64_t out, int64_t kernel) {
    Value* y = m.conv(v, in, out, kernel);
    return m.add("Mul", {y, m.add("Sigmoid", {y})});
  };
  Value* kept = nullptr;
  while (m.below(nodes)) {
    Node* halves =
        m.graph->add_node(op("Split"), "", {conv(x, 16, 16, 1)}, {{"axis", int64_t{1}}, {"split", Ints{8, 8}}}, 2);
    Value* last = halves->output(1);
    std::vector<Value*> all{halves->output(0), last};
    for (int i = 0; i < 2; ++i) {
      last = m.add("Add", {last, conv(conv(last, 8, 8, 3), 8, 8, 3)});
      all.push_back(last);
    }
    x = conv(m.add("Concat", all, {{"axis", int64_t{1}}}), 32, 16, 1);
    if (kept == nullptr) kept = x;
  }
  return m.finish(conv(m.add("Concat", {kept, x}, {{"axis", int64_t{1}}}), 32, 16, 1));
}

}  // namespace

const std::vector<NetworkKind>& network_kinds() {
  static const std::vector<NetworkKind> kKinds = {
      {"chain", chain},   {"wide", wide},   {"residual", residual}, {"transformer", transformer},
      {"concat", concat}, {"tower", tower}, {"outputs", outputs},   {"mbconv", mbconv},
      {"c2f", c2f}};
  return kKinds;
}

}  // namespace wootz::scaling
