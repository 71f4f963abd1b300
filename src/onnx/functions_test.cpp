#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "onnx/model_for_test.h"
#include "ops/interpreter.h"

namespace wootz::importer {
namespace {

using ::onnx::FunctionProto;
using ::testing::HasSubstr;

FunctionProto* add_function(ModelProto* model, const std::string& name, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs) {
  FunctionProto* function = model->add_functions();
  function->set_domain("local");
  function->set_name(name);
  for (const std::string& input : inputs) function->add_input(input);
  for (const std::string& output : outputs) function->add_output(output);
  auto* import = function->add_opset_import();
  import->set_domain("");
  import->set_version(17);
  return function;
}

NodeProto* call(google::protobuf::RepeatedPtrField<NodeProto>* nodes, const std::string& function,
                const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                const std::string& name = "") {
  NodeProto* node = add_node(nodes, function, inputs, outputs, name);
  node->set_domain("local");
  return node;
}

ModelProto model_with_local() {
  ModelProto model = model_for_test();
  auto* import = model.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  add_input(model.mutable_graph(), "x", {"2", "2"});
  add_output(model.mutable_graph(), "y");
  return model;
}

double first(const ImportedForTest& imported, const std::vector<float>& x) {
  const Result<std::vector<HostTensor>> out = run_graph(*imported.graph, {HostTensor::from<float>(x, Dims{2, 2})});
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? (*out)[0].get_f64(0) : -999;
}

TEST(Functions, BodiesAreInlinedWithNamesOfTheirOwn) {
  ModelProto model = model_with_local();
  FunctionProto* twice = add_function(&model, "Twice", {"a"}, {"b"});
  add_node(twice->mutable_node(), "Add", {"a", "a"}, {"y"}, "sum");  // "y" is also a name of the main graph
  add_node(twice->mutable_node(), "Relu", {"y"}, {"b"}, "act");
  call(model.mutable_graph()->mutable_node(), "Twice", {"x"}, {"m"}, "one");
  call(model.mutable_graph()->mutable_node(), "Twice", {"m"}, {"y"}, "two");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(imported.graph->num_nodes(), 4);
  EXPECT_EQ(imported.graph->first()->provenance(), std::vector<std::string>{"one/sum"});
  EXPECT_EQ(imported.graph->last()->provenance(), std::vector<std::string>{"two/act"});
  EXPECT_EQ(first(imported, {3, 0, 0, 0}), 12);
}

TEST(Functions, AttributesAreBoundByReference) {
  ModelProto model = model_with_local();
  FunctionProto* inner = add_function(&model, "Inner", {"a"}, {"b"});
  inner->add_attribute("axis");
  NodeProto* softmax = add_node(inner->mutable_node(), "Softmax", {"a"}, {"b"});
  add_attribute(softmax, "axis", AttributeProto::INT)->set_ref_attr_name("axis");
  FunctionProto* outer = add_function(&model, "Outer", {"a"}, {"b"});
  auto* fallback = outer->add_attribute_proto();
  fallback->set_name("which");
  fallback->set_type(AttributeProto::INT);
  fallback->set_i(0);
  NodeProto* inner_call = call(outer->mutable_node(), "Inner", {"a"}, {"b"});
  add_attribute(inner_call, "axis", AttributeProto::INT)->set_ref_attr_name("which");
  NodeProto* node = call(model.mutable_graph()->mutable_node(), "Outer", {"x"}, {"y"});

  const std::vector<float> x = {0, 0, 100, 0};
  ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_NEAR(first(imported, x), 0, 1e-6);  // default: axis 0, against 100
  add_attribute(node, "which", AttributeProto::INT)->set_i(1);
  imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_NEAR(first(imported, x), 0.5, 1e-6);
  node->mutable_attribute(0)->set_name("unknown");
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("no attribute 'unknown'"));
}

TEST(Functions, OmittedInputsAndTheirOwnOpsets) {
  ModelProto model = model_with_local();
  model.mutable_opset_import(0)->set_version(17);
  FunctionProto* function = add_function(&model, "Bounded", {"a", "low", "high"}, {"b"});
  add_node(function->mutable_node(), "Clip", {"a", "low", "high"}, {"b"});
  call(model.mutable_graph()->mutable_node(), "Bounded", {"x"}, {"y"});
  const ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(first(imported, {-5, 0, 0, 0}), -5);

  function->mutable_opset_import(0)->set_version(6);  // Clip with its bounds as attributes
  function->mutable_node(0)->clear_input();
  function->mutable_node(0)->add_input("a");
  add_attribute(function->mutable_node(0), "min", AttributeProto::FLOAT)->set_f(1);
  const ImportedForTest older = import_for_test(model);
  ASSERT_TRUE(older.status.ok()) << older.status.to_string();
  EXPECT_EQ(first(older, {-5, 0, 0, 0}), 1);
}

TEST(Functions, OverloadsAndPrecedenceOverOps) {
  ModelProto model = model_with_local();
  FunctionProto* plain = add_function(&model, "F", {"a"}, {"b"});
  add_node(plain->mutable_node(), "Relu", {"a"}, {"b"});
  FunctionProto* other = add_function(&model, "F", {"a"}, {"b"});
  other->set_overload("neg");
  add_node(other->mutable_node(), "Neg", {"a"}, {"b"});
  NodeProto* node = call(model.mutable_graph()->mutable_node(), "F", {"x"}, {"y"});
  EXPECT_EQ(first(import_for_test(model), {-3, 0, 0, 0}), 0);
  node->set_overload("neg");
  EXPECT_EQ(first(import_for_test(model), {-3, 0, 0, 0}), 3);
  FunctionProto* mine = add_function(&model, "Abs", {"a"}, {"b"});  // instead of the built-in op
  mine->set_domain("");
  add_node(mine->mutable_node(), "Neg", {"a"}, {"b"});
  node->set_domain("");
  node->set_op_type("Abs");
  node->clear_overload();
  EXPECT_EQ(first(import_for_test(model), {3, 0, 0, 0}), -3);
}

TEST(Functions, RecursionIsRefused) {
  ModelProto model = model_with_local();
  FunctionProto* a = add_function(&model, "A", {"v"}, {"w"});
  call(a->mutable_node(), "B", {"v"}, {"w"});
  FunctionProto* b = add_function(&model, "B", {"v"}, {"w"});
  call(b->mutable_node(), "A", {"v"}, {"w"});
  call(model.mutable_graph()->mutable_node(), "A", {"x"}, {"y"});
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("calls itself"));
}

TEST(Functions, DepthIsBounded) {
  ModelProto deep = model_with_local();
  for (int i = 0; i < limits::kMaxFunctionDepth + 1; ++i) {
    FunctionProto* f = add_function(&deep, "F" + std::to_string(i), {"v"}, {"w"});
    call(f->mutable_node(), "F" + std::to_string(i + 1), {"v"}, {"w"});
  }
  call(deep.mutable_graph()->mutable_node(), "F0", {"x"}, {"y"});
  EXPECT_THAT(import_for_test(deep).status.message(), HasSubstr("nested more than 100 deep"));
}

TEST(Functions, SlowExplosionIsBounded) {
  ModelProto wide = model_with_local();  // each level calls the next twice: 2^40 nodes
  for (int i = 0; i < 40; ++i) {
    FunctionProto* f = add_function(&wide, "F" + std::to_string(i), {"v"}, {"w"});
    call(f->mutable_node(), "F" + std::to_string(i + 1), {"v"}, {"u"});
    call(f->mutable_node(), "F" + std::to_string(i + 1), {"u"}, {"w"});
  }
  FunctionProto* leaf = add_function(&wide, "F40", {"v"}, {"w"});
  add_node(leaf->mutable_node(), "Relu", {"v"}, {"w"});
  call(wide.mutable_graph()->mutable_node(), "F0", {"x"}, {"y"});
  const ImportedForTest imported = import_for_test(wide);
  EXPECT_EQ(imported.status.code(), Code::kResourceExhausted) << imported.status.to_string();
}

TEST(Functions, ProblemsInsideAreReportedWithTheirPath) {
  ModelProto model = model_with_local();
  FunctionProto* f = add_function(&model, "F", {"v"}, {"w", "unset"});
  add_node(f->mutable_node(), "NoSuchOp", {"v"}, {"w"}, "inner");
  call(model.mutable_graph()->mutable_node(), "F", {"x"}, {"y"}, "outer");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_EQ(imported.problems.size(), 1u);
  EXPECT_EQ(imported.problems[0].node, "outer/inner");
  EXPECT_EQ(imported.problems[0].node_index, 0);
  model.mutable_functions(0)->mutable_node(0)->set_op_type("Relu");
  model.mutable_graph()->mutable_node(0)->add_output("z");
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("'unset' of its function is not defined"));
  model.mutable_graph()->mutable_node(0)->add_output("zz");
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("1 inputs and 3 outputs, its function has 1 and 2"));
}

}  // namespace
}  // namespace wootz::importer
