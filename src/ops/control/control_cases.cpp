#include "ops/cases.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::ops {
namespace {

// One node over inputs of one type.
std::shared_ptr<Graph> one_node(const char* name, std::string_view op_name, const std::vector<Dims>& inputs) {
  auto graph = std::make_shared<Graph>(name);
  std::vector<Value*> values;
  for (size_t i = 0; i < inputs.size(); ++i)
    values.push_back(graph->add_input("b" + std::to_string(i), DType::kF32, to_shape(inputs[i])));
  Node* node = graph->add_node(op(op_name), "", std::move(values), {});
  graph->mark_output(node->output());
  if (!infer_graph(*graph).ok()) return nullptr;
  return graph;
}

}  // namespace

void control_cases(CaseList& list) {
  const Dims dims{3, 4};
  for (const bool taken : {false, true}) {
    const auto then = one_node("then", "Add", {dims, dims}), other = one_node("else", "Neg", {dims});
    list.add(std::string("control/if_") + (taken ? "then" : "else"), "If",
             {HostTensor::scalar<bool>(taken), list.random(DType::kF32, dims), list.random(DType::kF32, dims),
              list.random(DType::kF32, dims)},
             {{"then_branch", then}, {"else_branch", other}});
  }
  // Scan over rows: the state adds up, each sum is given.
  auto body = std::make_shared<Graph>("body");
  Value* state = body->add_input("state", DType::kF32, {Dim(4)});
  Value* element = body->add_input("element", DType::kF32, {Dim(4)});
  Value* sum = body->add_node(op("Add"), "", {state, element}, {})->output();
  body->mark_output(sum);
  body->mark_output(body->add_node(op("Identity"), "", {sum}, {})->output());
  if (!infer_graph(*body).ok()) return;
  list.add("control/scan_rows", "Scan", {list.random(DType::kF32, {4}), list.random(DType::kF32, dims)},
           {{"body", body}, {"states", int64_t{1}}, {"scans", int64_t{1}}}, 2);
}

}  // namespace wootz::ops
