// Chains that a block of an image network ends with.
#include "ops/cases.h"
#include "ops/fused/chain.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::ops {
namespace {

PointwiseExpr relu_of(DType type) {
  PointwiseExpr e;
  e.num_inputs = 1;
  e.outputs = {e.push(PwOp::kRelu, type, e.input(0, type))};
  return e;
}

// Of the sum and what is added to it.
PointwiseExpr sum_relu(DType type) {
  PointwiseExpr e;
  e.num_inputs = 2;
  const uint16_t both = e.push(PwOp::kAdd, type, e.input(0, type), e.input(1, type));
  e.outputs = {e.push(PwOp::kRelu, type, both)};
  return e;
}

// A convolution and the one by single pixels of it, which adds a shortcut, and one of the result by single pixels more,
// around the node of the two; both results. Nothing is cut off the last: a channel of which a ReLU leaves little would
// show what rounds the large sums before it.
void add_next(CaseList& list, const char* name, DType type, const Dims& image, int64_t middle, int64_t columns,
              int64_t next) {
  const auto body = std::make_shared<Graph>("body"), inner = std::make_shared<Graph>("pair");
  std::vector<HostTensor> inputs;
  for (const Dims& dims :
       {image, Dims{middle, image[1], 3, 3}, Dims{middle}, Dims{columns, middle, 1, 1}, Dims{columns},
        Dims{image[0], columns, image[2], image[3]}, Dims{next, columns, 1, 1}, Dims{next}})
    inputs.push_back(list.random(type, dims));
  std::vector<Value*> v, in;
  for (const HostTensor& t : inputs) v.push_back(body->add_input("", t.dtype(), to_shape(t.dims())));
  for (size_t i = 0; i < 6; ++i) in.push_back(inner->add_input("", type, v[i]->shape()));
  const AttrMap first{{"pads", std::vector<int64_t>(4, 1)}, {"epilogue", relu_of(type)}, {"main_inputs", int64_t{3}}};
  Node* const a = inner->add_node(op("Conv"), "", {in[0], in[1], in[2]}, first);
  if (!infer_node(*a).ok()) return;  // the case is then missing, which its test sees
  Node* const b = inner->add_node(op("Conv"), "", {a->output(), in[3], in[4], in[5]},
                                  {{"epilogue", sum_relu(type)}, {"main_inputs", int64_t{3}}});
  if (!infer_node(*b).ok()) return;
  inner->mark_output(b->output());
  Node* const pair = body->add_node(op("Chain"), "", {v.begin(), v.begin() + 6}, {{"body", inner}});
  if (!infer_node(*pair).ok()) return;
  Node* const third = body->add_node(op("Conv"), "", {pair->output(), v[6], v[7]}, {});
  if (!infer_node(*third).ok()) return;
  body->mark_output(third->output());
  body->mark_output(pair->output());
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, 2, {false, true, true, true, true, false, true, true},
           64);
}

// A convolution by single pixels, whose result is added to what a window's convolution and another one by single pixels
// make.
void add_shortcut(CaseList& list, const char* name, DType type, const Dims& image, const Dims& other, int64_t middle,
                  int64_t columns) {
  const auto body = std::make_shared<Graph>("body");
  std::vector<HostTensor> inputs;
  for (const Dims& dims : {other, Dims{columns, other[1], 1, 1}, Dims{columns}, image, Dims{middle, image[1], 3, 3},
                           Dims{middle}, Dims{columns, middle, 1, 1}, Dims{columns}})
    inputs.push_back(list.random(type, dims));
  std::vector<Value*> v;
  for (const HostTensor& t : inputs) v.push_back(body->add_input("", t.dtype(), to_shape(t.dims())));
  const AttrMap first{{"pads", std::vector<int64_t>(4, 1)}, {"epilogue", relu_of(type)}, {"main_inputs", int64_t{3}}};
  Node* const shortcut = body->add_node(op("Conv"), "", {v[0], v[1], v[2]}, {});
  Node* const middle_one = body->add_node(op("Conv"), "", {v[3], v[4], v[5]}, first);
  if (!infer_node(*shortcut).ok() || !infer_node(*middle_one).ok()) return;  // as above
  Node* const last = body->add_node(op("Conv"), "", {middle_one->output(), v[6], v[7], shortcut->output()},
                                    {{"epilogue", sum_relu(type)}, {"main_inputs", int64_t{3}}});
  if (!infer_node(*last).ok()) return;
  body->mark_output(last->output());
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, 1, {false, true, true, false, true, true, true, true},
           64);
}

// Two convolutions with biases whose results are added up: by windows, and by single pixels at steps of two.
void add_sum(CaseList& list, const char* name, DType type, const Dims& image, const Dims& other, int64_t window,
             int64_t columns) {
  const auto body = std::make_shared<Graph>("body");
  std::vector<HostTensor> inputs;
  for (const Dims& dims : {other, Dims{columns, other[1], 1, 1}, Dims{columns}, image,
                           Dims{columns, image[1], window, window}, Dims{columns}})
    inputs.push_back(list.random(type, dims));
  std::vector<Value*> v;
  for (const HostTensor& t : inputs) v.push_back(body->add_input("", t.dtype(), to_shape(t.dims())));
  Node* const first = body->add_node(op("Conv"), "", {v[0], v[1], v[2]}, {{"strides", std::vector<int64_t>{2, 2}}});
  if (!infer_node(*first).ok()) return;  // as above
  Node* const second = body->add_node(
      op("Conv"), "", {v[3], v[4], v[5], first->output()},
      {{"pads", std::vector<int64_t>(4, window / 2)}, {"epilogue", sum_relu(type)}, {"main_inputs", int64_t{3}}});
  if (!infer_node(*second).ok()) return;
  body->mark_output(second->output());
  list.add(name, "Chain", std::move(inputs), {{"body", body}}, 1, {false, true, true, false, true, true}, 64);
}

}  // namespace

void block_cases(CaseList& list) {
  add_shortcut(list, "fused/chain_shortcut_f16", DType::kF16, {16, 16, 9, 9}, {16, 32, 9, 9}, 32, 64);
  add_next(list, "fused/chain_next_f16", DType::kF16, {16, 16, 9, 9}, 32, 64, 64);
  add_sum(list, "fused/chain_sum_f16", DType::kF16, {52, 16, 9, 9}, {52, 72, 17, 18}, 1, 40);
  add_sum(list, "fused/chain_sum_bf16", DType::kBF16, {52, 8, 8, 10}, {52, 24, 16, 19}, 3, 24);
}

}  // namespace wootz::ops
