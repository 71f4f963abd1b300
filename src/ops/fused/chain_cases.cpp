#include "ops/cases.h"
#include "ops/fused/chain.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::ops {
namespace {

// A chain of two nodes over these tensors: the first reads `split` of them, the second its result and the rest.
void add_chain(CaseList& list, const char* name, std::vector<HostTensor> inputs, std::vector<bool> constants,
               size_t split, std::pair<const char*, AttrMap> first, std::pair<const char*, AttrMap> second) {
  const auto body = std::make_shared<Graph>("body");
  std::vector<Value*> values;
  for (const HostTensor& t : inputs) values.push_back(body->add_input("", t.dtype(), to_shape(t.dims())));
  const auto at = values.begin() + static_cast<ptrdiff_t>(split);
  Node* a = body->add_node(op(first.first), "", {values.begin(), at}, std::move(first.second));
  std::vector<Value*> rest{a->output()};
  rest.insert(rest.end(), at, values.end());
  Node* b = body->add_node(op(second.first), "", std::move(rest), std::move(second.second));
  if (!infer_node(*a).ok() || !infer_node(*b).ok()) return;  // the case is then missing, which its test sees
  body->mark_output(b->output());
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, 1, std::move(constants), 64);
}

// Three nodes over x and weights and bias of each product.
void add_gate(CaseList& list, const char* name, std::vector<HostTensor> inputs, AttrMap mean, AttrMap first,
              AttrMap second) {
  const auto body = std::make_shared<Graph>("body");
  std::vector<Value*> v;
  for (const HostTensor& t : inputs) v.push_back(body->add_input("", t.dtype(), to_shape(t.dims())));
  Node* m = body->add_node(op("Pool"), "", {v[0]}, std::move(mean));
  Node* a = body->add_node(op("Conv"), "", {m->output(), v[1], v[2]}, std::move(first));
  Node* b = body->add_node(op("Conv"), "", {a->output(), v[3], v[4]}, std::move(second));
  for (Node* node : {m, a, b})
    if (!infer_node(*node).ok()) return;  // as above
  body->mark_output(b->output());
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, 1, {false, true, true, true, true}, 64);
}

PointwiseExpr quantized(double scale) {
  PointwiseExpr e;
  e.num_inputs = 1;
  const uint16_t x = e.input(0, DType::kF32), by = e.constant(scale, DType::kF32);
  e.outputs = {e.push(PwOp::kQuantize, DType::kI8, x, by, e.constant(0, DType::kF32))};
  return e;
}

// Of data of 8 bits by `x`, weights by `w` (0: there are none), and a result by `y` (0: of floats); of floats nothing.
AttrMap grids(DType type, int64_t inputs, double x, double w, double y) {
  AttrMap attrs;
  if (!is_int8(type)) return attrs;
  attrs["x_scale"] = std::vector<double>{x};
  attrs["x_zero"] = std::vector<double>{0};
  if (w != 0) attrs["w_scale"] = std::vector<double>{w};
  if (y == 0) return attrs;
  attrs["epilogue"] = quantized(y);
  attrs["main_inputs"] = inputs;
  return attrs;
}

// A depthwise convolution and the gate of its image, which is a node within the node; both are results. In 8 bits all
// values in between are quantized.
void add_gated(CaseList& list, const char* name, DType type, const Dims& image, int64_t hidden, int64_t kernel) {
  const int64_t channels = image[1];
  std::vector<HostTensor> inputs{list.random(type, image), list.random(type, {channels, 1, kernel, kernel}),
                                 list.random(type, {hidden, channels, 1, 1}),
                                 list.random(type, {channels, hidden, 1, 1})};
  const auto body = std::make_shared<Graph>("body"), inner = std::make_shared<Graph>("gate");
  std::vector<Value*> v;
  for (const HostTensor& t : inputs) v.push_back(body->add_input("", t.dtype(), to_shape(t.dims())));
  AttrMap of_conv = grids(type, 2, 0.3, 0.4, 0.7), of_mean = grids(type, 1, 0.7, 0, 0.11);
  of_conv["groups"] = channels;
  of_conv["pads"] = std::vector<int64_t>(4, kernel / 2);
  of_mean["kind"] = std::string("avg");
  of_mean["global"] = int64_t{1};
  Node* const conv = body->add_node(op("Conv"), "", {v[0], v[1]}, of_conv);
  if (!infer_node(*conv).ok()) return;  // as above
  std::vector<Value*> in;
  for (const Value* from : {conv->output(), v[2], v[3]}) in.push_back(inner->add_input("", type, from->shape()));
  Node* const mean = inner->add_node(op("Pool"), "", {in[0]}, of_mean);
  if (!infer_node(*mean).ok()) return;
  Node* const first = inner->add_node(op("Conv"), "", {mean->output(), in[1]}, grids(type, 2, 0.11, 0.3, 0.9));
  if (!infer_node(*first).ok()) return;
  Node* const second = inner->add_node(op("Conv"), "", {first->output(), in[2]}, grids(type, 2, 0.9, 0.2, 0));
  if (!infer_node(*second).ok()) return;
  inner->mark_output(second->output());
  Node* const gate = body->add_node(op("Chain"), "", {conv->output(), v[2], v[3]}, {{"body", inner}});
  if (!infer_node(*gate).ok()) return;
  body->mark_output(gate->output());
  body->mark_output(conv->output());
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, 2, {false, true, true, true}, 64);
}

// A concatenation and an expression on it with one operand more.
void add_concat(CaseList& list, const char* name, DType type, const std::vector<Dims>& parts, const Dims& other,
                int64_t axis) {
  const auto body = std::make_shared<Graph>("body");
  std::vector<HostTensor> inputs;
  for (const Dims& dims : parts) inputs.push_back(list.random(type, dims));
  inputs.push_back(list.random(type, other));
  std::vector<Value*> v;
  for (const HostTensor& t : inputs) v.push_back(body->add_input("", t.dtype(), to_shape(t.dims())));
  PointwiseExpr e;
  e.num_inputs = 2;
  const uint16_t sum = e.push(PwOp::kAdd, type, e.input(0, type), e.input(1, type));
  e.outputs = {e.push(PwOp::kTanh, type, sum)};
  Node* whole = body->add_node(op("Concat"), "", {v.begin(), v.end() - 1}, {{"axis", axis}});
  if (!infer_node(*whole).ok()) return;  // as above
  Node* made = body->add_node(op("Pointwise"), "", {v.back(), whole->output()}, {{"expr", e}});
  if (!infer_node(*made).ok()) return;
  body->mark_output(made->output());
  std::vector<bool> constants(inputs.size(), false);
  constants.back() = true;
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, 1, std::move(constants));
}

// Two concatenations, each of what came before, cast, and of a transposed part.
void add_caches(CaseList& list, const char* name, DType type, const Dims& past, int64_t more) {
  const auto body = std::make_shared<Graph>("body");
  std::vector<HostTensor> inputs;
  for (int i = 0; i < 2; ++i) {
    inputs.push_back(list.random(DType::kF32, past));
    inputs.push_back(list.random(type, {past[0], more, past[1], past[3]}));
  }
  std::vector<Value*> v;
  for (const HostTensor& t : inputs) v.push_back(body->add_input("", t.dtype(), to_shape(t.dims())));
  for (size_t i = 0; i < 4; i += 2) {
    Node* const cast = body->add_node(op("Cast"), "", {v[i]}, {{"to", std::string(dtype_name(type))}});
    Node* const moved = body->add_node(op("Transpose"), "", {v[i + 1]}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    if (!infer_node(*cast).ok() || !infer_node(*moved).ok()) return;  // as above
    Node* const whole = body->add_node(op("Concat"), "", {cast->output(), moved->output()}, {{"axis", int64_t{2}}});
    if (!infer_node(*whole).ok()) return;
    body->mark_output(whole->output());
  }
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, 2);
}

// Rows of two tables and what is added to them, normalized.
void add_embedding(CaseList& list, const char* name, DType type, const Dims& indices, int64_t length) {
  const auto body = std::make_shared<Graph>("body");
  PointwiseExpr sum;
  sum.num_inputs = 3;
  const uint16_t rows = sum.push(PwOp::kAdd, type, sum.input(0, type), sum.input(1, type));
  sum.outputs = {sum.push(PwOp::kAdd, type, rows, sum.input(2, type))};
  std::vector<HostTensor> inputs{list.random(type, {9, length}),
                                 list.random(DType::kI64, indices, -9, 8),
                                 list.random(type, {2, length}),
                                 list.random(DType::kI64, indices, 0, 1),
                                 list.random(type, {indices.back(), length}),
                                 list.random(type, {length}),
                                 list.random(type, {length})};
  std::vector<Value*> v;
  for (const HostTensor& t : inputs) v.push_back(body->add_input("", t.dtype(), to_shape(t.dims())));
  Node* kind = body->add_node(op("Gather"), "", {v[2], v[3]}, {{"axis", int64_t{0}}});
  Node* all = body->add_node(op("Gather"), "", {v[0], v[1], kind->output(), v[4]},
                             {{"axis", int64_t{0}}, {"epilogue", sum}, {"main_inputs", int64_t{2}}});
  Node* norm = body->add_node(op("LayerNorm"), "", {all->output(), v[5], v[6]}, {{"axis", int64_t{-1}}});
  for (Node* node : {kind, all, norm})
    if (!infer_node(*node).ok()) return;  // as above
  body->mark_output(norm->output());
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, 1, {true, false, true, false, true, true, true}, 64);
}

// Rows that are normalized and multiplied by weights, with a bias; `kept`: they are a result too.
void add_norm(CaseList& list, const char* name, DType type, const char* norm, const Dims& rows, int64_t columns,
              bool kept) {
  const auto body = std::make_shared<Graph>("body");
  const int64_t length = rows.back();
  std::vector<HostTensor> inputs{list.random(type, rows), list.random(type, {length}),
                                 list.random(type, {length, columns}), list.random(type, {columns})};
  std::vector<Value*> v;
  for (const HostTensor& t : inputs) v.push_back(body->add_input("", t.dtype(), to_shape(t.dims())));
  Node* n = body->add_node(op(norm), "", {v[0], v[1]}, {{"axis", int64_t{-1}}});
  Node* m = body->add_node(op("MatMul"), "", {n->output(), v[2], v[3]}, {});
  for (Node* node : {n, m})
    if (!infer_node(*node).ok()) return;  // as above
  body->mark_output(m->output());
  if (kept) body->mark_output(n->output());
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, kept ? 2 : 1, {false, true, true, true}, 64);
}

// Products of one tensor by weights of 4 bits, with a result each. `norm`: what its rows go through first, or null.
void add_products(CaseList& list, const char* name, DType type, const Dims& x, const std::vector<int64_t>& columns,
                  int64_t block, bool transposed, const char* norm = nullptr) {
  const auto body = std::make_shared<Graph>("body");
  std::vector<HostTensor> inputs;
  const auto add = [&](DType own, const Dims& dims, double least, double most) {
    inputs.push_back(list.random(own, dims, least, most));
    return body->add_input("", own, to_shape(dims));
  };
  const int64_t depth = x.back();
  Value* rows = add(type, x, -1, 1);
  if (norm != nullptr) {
    Node* const n = body->add_node(op(norm), "", {rows, add(type, {depth}, -1, 1)}, {{"axis", int64_t{-1}}});
    if (!infer_node(*n).ok()) return;  // as above
    rows = n->output();
  }
  AttrMap attributes{{"block", block}};
  if (transposed) attributes["trans_b"] = int64_t{1};
  for (const int64_t count : columns) {
    Value* const w = add(DType::kI4, transposed ? Dims{count, depth} : Dims{depth, count}, -8, 7);
    Value* const s = add(DType::kF32, {depth / block, count}, -0.2, 0.2);
    Node* const product = body->add_node(op("WeightOnlyMatMul"), "", {rows, w, s}, attributes);
    if (!infer_node(*product).ok()) return;  // as above
    body->mark_output(product->output());
  }
  std::vector<bool> constants(inputs.size(), true);
  constants[0] = false;
  const int count = static_cast<int>(columns.size());
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, count, std::move(constants), depth);
}

// Convolutions of one image (or of a concatenation, in each of them), with a result each.
void add_siblings(CaseList& list, const char* name, DType type, const std::vector<Dims>& images,
                  const std::vector<int64_t>& channels, const AttrMap& attributes, int64_t kernel) {
  const auto body = std::make_shared<Graph>("body");
  std::vector<HostTensor> inputs;
  std::vector<bool> constants;
  std::vector<Value*> parts;
  const auto add = [&](const Dims& dims, bool constant) {
    inputs.push_back(list.random(type, dims));
    constants.push_back(constant);
    return body->add_input("", type, to_shape(dims));
  };
  int64_t depth = 0;
  for (const Dims& dims : images) {
    parts.push_back(add(dims, false));
    depth += dims[1];
  }
  for (const int64_t count : channels) {
    Value* const w = add({count, depth, kernel, kernel}, true);
    Value* const b = add({count}, true);
    if (parts.size() == 1) {
      Node* const conv = body->add_node(op("Conv"), "", {parts[0], w, b}, attributes);
      if (!infer_node(*conv).ok()) return;  // as above
      body->mark_output(conv->output());
      continue;
    }
    const auto inner = std::make_shared<Graph>("one");
    std::vector<Value*> operands = parts, inside;
    operands.insert(operands.end(), {w, b});
    for (const Value* v : operands) inside.push_back(inner->add_input("", type, v->shape()));
    Node* const whole = inner->add_node(op("Concat"), "", {inside.begin(), inside.end() - 2}, {{"axis", int64_t{1}}});
    if (!infer_node(*whole).ok()) return;
    Node* const conv = inner->add_node(op("Conv"), "", {whole->output(), inside.end()[-2], inside.back()}, attributes);
    if (!infer_node(*conv).ok()) return;
    inner->mark_output(conv->output());
    Node* const one = body->add_node(op("Chain"), "", operands, {{"body", inner}});
    if (!infer_node(*one).ok()) return;
    body->mark_output(one->output());
  }
  const int count = static_cast<int>(channels.size());
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, count, std::move(constants), 64);
}

PointwiseExpr relu(DType type = DType::kF32) {
  PointwiseExpr e;
  e.num_inputs = 1;
  e.outputs = {e.push(PwOp::kRelu, type, e.input(0, type))};
  return e;
}

PointwiseExpr product(DType type = DType::kF32) {
  PointwiseExpr e;
  e.num_inputs = 2;
  const uint16_t x = e.input(0, type);
  e.outputs = {e.push(PwOp::kMul, type, x, e.input(1, type))};
  return e;
}

}  // namespace

void chain_cases(CaseList& list) {
  using Ints = std::vector<int64_t>;
  const auto f32 = [&](const Dims& dims) { return list.random(DType::kF32, dims); };
  add_chain(
      list, "fused/chain_conv_pool", {f32({2, 3, 21, 17}), f32({8, 3, 3, 3}), f32({8})}, {false, true, true}, 3,
      {"Conv",
       {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}, {"epilogue", relu()}, {"main_inputs", int64_t{3}}}},
      {"Pool",
       {{"kind", std::string("max")}, {"kernel", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}});
  add_chain(list, "fused/chain_depthwise_pointwise",
            {f32({1, 8, 20, 9}), f32({8, 1, 3, 3}), f32({4, 8, 1, 1}), f32({4})}, {false, true, true, true}, 2,
            {"Conv", {{"pads", Ints{1, 1, 1, 1}}, {"groups", int64_t{8}}}}, {"Conv", {}});
  add_chain(list, "fused/chain_gate", {f32({2, 8, 19, 9}), f32({2, 8, 1, 1}), f32({4, 8, 1, 1})}, {false, false, true},
            2, {"Pointwise", {{"expr", product()}}}, {"Conv", {{"epilogue", relu()}, {"main_inputs", int64_t{2}}}});
  for (const auto& [name, type] :
       {std::pair("fused/chain_gate_f16", DType::kF16), std::pair("fused/chain_gate_bf16", DType::kBF16)})
    add_chain(list, name,
              {list.random(type, {1, 72, 1, 1}), list.random(type, {1, 72, 9, 5}), list.random(type, {24, 72, 1, 1}),
               list.random(type, {24})},
              {false, false, true, true}, 2, {"Pointwise", {{"expr", product(type)}}},
              {"Conv", {{"epilogue", relu(type)}, {"main_inputs", int64_t{3}}}});
  add_chain(list, "fused/chain_concat_conv_f16",
            {list.random(DType::kF16, {2, 16, 9, 5}), list.random(DType::kF16, {2, 72, 9, 5}),
             list.random(DType::kF16, {24, 88, 1, 1}), list.random(DType::kF16, {24})},
            {false, false, true, true}, 2, {"Concat", {{"axis", int64_t{1}}}},
            {"Conv", {{"epilogue", relu(DType::kF16)}, {"main_inputs", int64_t{3}}}});
  add_chain(list, "fused/chain_concat_conv_i8",
            {list.random(DType::kI8, {2, 16, 9, 5}), list.random(DType::kI8, {2, 80, 9, 5}),
             list.random(DType::kI8, {24, 96, 1, 1})},
            {false, false, true}, 2, {"Concat", {{"axis", int64_t{1}}}}, {"Conv", grids(DType::kI8, 2, 0.3, 0.2, 0.9)});
  add_chain(list, "fused/chain_two_conv_f16",
            {list.random(DType::kF16, {16, 16, 9, 9}), list.random(DType::kF16, {32, 16, 3, 3}),
             list.random(DType::kF16, {32}), list.random(DType::kF16, {32, 32, 1, 1})},
            {false, true, true, true}, 3,
            {"Conv", {{"pads", Ints{1, 1, 1, 1}}, {"epilogue", relu(DType::kF16)}, {"main_inputs", int64_t{3}}}},
            {"Conv", {}});
  block_cases(list);
  const auto with_relu = [](DType type) { return AttrMap{{"epilogue", relu(type)}, {"main_inputs", int64_t{3}}}; };
  add_siblings(list, "fused/siblings_f16", DType::kF16, {{2, 24, 9, 5}}, {16, 72}, with_relu(DType::kF16), 1);
  add_siblings(list, "fused/siblings_bf16", DType::kBF16, {{1, 40, 9, 5}}, {8, 24, 40}, with_relu(DType::kBF16), 1);
  add_siblings(list, "fused/siblings_windows_f16", DType::kF16, {{1, 16, 9, 7}}, {32, 8},
               {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 1}}}, 3);
  add_siblings(list, "fused/siblings_concat_f16", DType::kF16, {{2, 16, 9, 5}, {2, 72, 9, 5}}, {24, 24}, {}, 1);
  add_products(list, "fused/products_f16", DType::kF16, {1, 3, 128}, {48, 16}, 64, false);
  add_products(list, "fused/products_bf16", DType::kBF16, {1, 192}, {16, 32, 64}, 192, true);
  add_products(list, "fused/products", DType::kF32, {2, 2, 96}, {16, 16}, 32, false);
  add_products(list, "fused/normed_products_f16", DType::kF16, {1, 2, 128}, {48, 16}, 64, false, "LayerNorm");
  add_products(list, "fused/normed_products_bf16", DType::kBF16, {5, 192}, {16, 32, 64}, 192, true, "RMSNorm");
  add_products(list, "fused/normed_product_f16", DType::kF16, {8, 64}, {33}, 64, false, "LayerNorm");
  const AttrMap mean{{"kind", std::string("avg")}, {"global", int64_t{1}}};
  add_gate(list, "fused/chain_squeeze_excite",
           {f32({2, 24, 5, 7}), f32({6, 24, 1, 1}), f32({6}), f32({24, 6, 1, 1}), f32({24})}, mean,
           {{"epilogue", relu()}, {"main_inputs", int64_t{3}}}, {});
  add_gated(list, "fused/chain_gated_f16", DType::kF16, {2, 24, 9, 13}, 6, 3);
  add_gated(list, "fused/chain_gated_bf16", DType::kBF16, {1, 40, 7, 6}, 8, 5);
  add_gated(list, "fused/chain_gated_i8", DType::kI8, {2, 24, 9, 13}, 6, 3);
  add_concat(list, "fused/chain_concat", DType::kF32, {{2, 8, 5, 7}, {2, 3, 5, 7}, {2, 16, 5, 7}}, {27, 1, 1}, 1);
  add_concat(list, "fused/chain_concat_f16", DType::kF16, {{3, 4, 8}, {3, 4, 24}}, {4, 32}, 2);
  add_caches(list, "fused/chain_caches_f16", DType::kF16, {2, 3, 5, 24}, 2);
  add_caches(list, "fused/chain_caches_bf16", DType::kBF16, {1, 4, 7, 10}, 1);
  add_embedding(list, "fused/chain_embedding", DType::kF32, {2, 5}, 24);
  add_norm(list, "fused/chain_norm_f16", DType::kF16, "LayerNorm", {2, 9, 72}, 40, true);
  add_norm(list, "fused/chain_norm_bf16", DType::kBF16, "RMSNorm", {35, 136}, 24, false);
  add_embedding(list, "fused/chain_embedding_f16", DType::kF16, {7}, 33);
}

}  // namespace wootz::ops
