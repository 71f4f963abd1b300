#include "onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "base/limits.h"
#include "onnx/import_table.h"
#include "onnx/model_for_test.h"
#include "ops/interpreter.h"

namespace wootz::importer {
namespace {

using ::testing::HasSubstr;

ModelProto relu_model() {
  ModelProto model = model_for_test();
  add_input(model.mutable_graph(), "x", {"N", "4"});
  add_node(model.mutable_graph(), "Relu", {"x"}, {"y"}, "act");
  add_output(model.mutable_graph(), "y");
  return model;
}

TEST(Import, NamesTypesAndProvenance) {
  const ImportedForTest imported = import_for_test(relu_model());
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  const Graph& graph = *imported.graph;
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.inputs()[0]->name(), "x");
  EXPECT_EQ(graph.outputs()[0]->name(), "y");
  EXPECT_EQ(graph.outputs()[0]->dtype(), DType::kF32);
  EXPECT_EQ(graph.outputs()[0]->shape(), graph.inputs()[0]->shape());
  EXPECT_EQ(graph.first()->name(), "act");
  EXPECT_EQ(graph.first()->provenance(), std::vector<std::string>{"act"});
}

TEST(Import, DynamicDimensionsBecomeSymbols) {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "a", {"N", "", "3", "-1"});
  add_input(graph, "b", {"N", "M"});
  add_node(graph, "Relu", {"a"}, {"y"});
  add_output(graph, "y");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  const Shape& a = imported.graph->inputs()[0]->shape();
  const Shape& b = imported.graph->inputs()[1]->shape();
  EXPECT_EQ(a[0], b[0]);
  EXPECT_FALSE(a[1] == a[3]);
  EXPECT_EQ(a[2], Dim(3));
  std::vector<std::string> names;
  for (const Symbol& symbol : imported.graph->symbols()) names.push_back(symbol.name);
  EXPECT_EQ(names, (std::vector<std::string>{"N", "a_dim1", "a_dim3", "M"}));
  EXPECT_EQ(imported.graph->symbols()[0].kind, SymbolKind::kInputDim);
  EXPECT_EQ(imported.graph->symbols()[0].value_id, imported.graph->inputs()[0]->id());
}

TEST(Import, SymbolNamesAreDistinct) {
  ModelProto model = model_for_test();
  add_input(model.mutable_graph(), "a", {"b_dim0"});
  add_input(model.mutable_graph(), "b", {""});
  add_output(model.mutable_graph(), "a");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_EQ(imported.graph->symbols().size(), 2u);
  EXPECT_NE(imported.graph->symbols()[0].name, imported.graph->symbols()[1].name);
}

TEST(Import, MessagesAreFitForATerminal) {
  ModelProto model = model_for_test();
  add_input(model.mutable_graph(), "x", {"2"});
  add_node(model.mutable_graph(), "No\x1b[31mOp", {"x\r"}, {"y"}, "evil\nname");
  add_output(model.mutable_graph(), "y");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_FALSE(imported.problems.empty());
  for (const char c : imported.status.message()) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
}

TEST(Import, ListedInitializersAreConstants) {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"2"});
  add_input(graph, "w", {"2"});
  *graph->add_initializer() = raw_tensor<float>("w", TensorProto::FLOAT, {2}, {1, 2});
  add_node(graph, "Add", {"x", "w"}, {"y"});
  add_output(graph, "y");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(imported.graph->inputs().size(), 1u);
  EXPECT_TRUE(imported.graph->first()->input(1)->is_constant());
  EXPECT_EQ(imported.graph->first()->input(1)->name(), "w");

  ImportOptions options;  // what the caller gives goes before the model's own value
  const std::vector<float> given = {5, 6};
  options.constant_inputs.emplace("w", HostTensor::from<float>(given, Dims{2}));
  const ImportedForTest overridden = import_for_test(model, options);
  ASSERT_TRUE(overridden.status.ok()) << overridden.status.to_string();
  EXPECT_EQ(overridden.graph->first()->input(1)->constant().get_f64(0), 5);
}

TEST(Import, InputsAsConstants) {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"N", "4"});
  add_input(graph, "b", {"N", "1"});
  add_node(graph, "Add", {"x", "b"}, {"y"});
  add_output(graph, "y");
  const std::vector<float> data = {1, 2, 3};
  ImportOptions options;
  options.constant_inputs.emplace("b", HostTensor::from<float>(data, Dims{3, 1}));
  const ImportedForTest imported = import_for_test(model, options);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(shape_to_string(imported.graph->inputs()[0]->shape()), "[3,4]");  // N is known by the constant

  options.constant_inputs.clear();
  options.constant_inputs.emplace("b", HostTensor::from<float>(data, Dims{1, 3}));
  EXPECT_THAT(import_for_test(model, options).status.message(), HasSubstr("shape [1x3], which does not fit"));
  options.constant_inputs.clear();
  options.constant_inputs.emplace("b", HostTensor::scalar<int64_t>(1));
  EXPECT_THAT(import_for_test(model, options).status.message(),
              HasSubstr("it is f32, the constant given for it is i64"));
  options.constant_inputs.clear();
  options.constant_inputs.emplace("absent", HostTensor::scalar<float>(1));
  EXPECT_THAT(import_for_test(model, options).status.message(), HasSubstr("'absent', which the model does not have"));
}

TEST(Import, AllProblemsInOnePass) {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"2"});
  add_node(graph, "NoSuchOp", {"x"}, {"a"}, "first");
  add_node(graph, "Relu", {"a"}, {"b"}, "after");  // not a problem of its own
  add_node(graph, "Relu", {"missing"}, {"c"}, "reader");
  add_node(graph, "Other", {"b"}, {"d"}, "second")->set_domain("com.example");
  add_node(graph, "Relu", {"x"}, {"e"}, "fine");
  add_output(graph, "d");
  add_output(graph, "e");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_FALSE(imported.status.ok());
  ASSERT_EQ(imported.problems.size(), 3u) << imported.status.to_string();
  EXPECT_EQ(imported.problems[0].node, "first");
  EXPECT_EQ(imported.problems[0].op, "NoSuchOp");
  EXPECT_EQ(imported.problems[0].opset, 17);
  EXPECT_EQ(imported.problems[0].node_index, 0);
  EXPECT_EQ(imported.problems[0].code, Code::kUnsupported);
  EXPECT_EQ(imported.problems[1].node, "reader");
  EXPECT_THAT(imported.problems[1].reason, HasSubstr("'missing' is not defined"));
  EXPECT_EQ(imported.problems[2].domain, "com.example");
  EXPECT_EQ(imported.problems[2].node_index, 3);
  EXPECT_THAT(imported.status.message(), HasSubstr("3 problems"));
  EXPECT_THAT(imported.status.message(), HasSubstr("node 'first' (NoSuchOp, opset 17)"));
}

TEST(Import, SupportIsAskedNodeByNode) {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"2", "3"});
  add_node(graph, "NoSuchOp", {"x"}, {"a"});
  add_node(graph, "Relu", {"a"}, {"b"});
  add_node(graph, "MatMul", {"b", "b"}, {"c"});  // 2x3 by 2x3: seen through the declared type of a
  add_node(graph, "Relu", {"x"}, {"d"});
  add_output(graph, "c");
  add_output(graph, "d");
  const auto supported = [&] {
    const std::string bytes = model.SerializeAsString();
    const Result<ModelSupport> support = query_support(std::as_bytes(std::span(bytes)));
    std::string text;
    if (support.ok())
      for (const NodeSupport& node : support->nodes) text += node.supported ? '+' : '-';
    return text;
  };
  EXPECT_EQ(supported(), "-+++");
  set_type(graph->add_value_info(), "a", TensorProto::FLOAT, {"2", "3"});
  EXPECT_EQ(supported(), "-+-+");
}

TEST(Import, Versions) {
  ModelProto model = relu_model();
  model.set_ir_version(kMaxOnnxIrVersion + 1);
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("IR version 15 is newer than 14"));
  model.clear_ir_version();
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("IR version"));
  model.set_ir_version(8);
  model.mutable_opset_import(0)->set_version(kMaxOnnxOpset + 1);
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("opset 29 of domain ai.onnx is newer than 28"));
  model.mutable_opset_import(0)->set_version(0);
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("opset 0"));
  model.mutable_opset_import(0)->set_version(17);
  model.mutable_opset_import(0)->set_domain("ai.onnx");  // another name of ""
  EXPECT_TRUE(import_for_test(model).status.ok());
  model.clear_opset_import();
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("imports no opset"));
  model.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  model.add_opset_import()->set_version(17);
  EXPECT_TRUE(import_for_test(model).status.ok());
}

TEST(Import, AnOpNewerThanTheModel) {
  const auto newer = [](const SupportedOp& op) { return op.domain.empty() && op.since_versions[0] > 7; };
  const auto it = std::find_if(supported_ops().begin(), supported_ops().end(), newer);
  ASSERT_NE(it, supported_ops().end());
  ModelProto model = model_for_test(it->since_versions[0] - 1);
  add_input(model.mutable_graph(), "x", {"2"});
  add_node(model.mutable_graph(), it->op, {"x"}, {"y"});
  add_output(model.mutable_graph(), "y");
  EXPECT_THAT(import_for_test(model).status.message(),
              HasSubstr(fmt::format("supported from opset {}, the model imports {}", it->since_versions[0],
                                    it->since_versions[0] - 1)));
}

TEST(Import, SignaturesOfTheOps) {
  const auto refusal = [](const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs) {
    ModelProto model = model_for_test();
    add_input(model.mutable_graph(), "x", {"2", "2"});
    add_node(model.mutable_graph(), op, inputs, outputs);
    add_output(model.mutable_graph(), "y");
    return import_for_test(model).status.message();
  };
  EXPECT_THAT(refusal("Relu", {}, {"y"}), HasSubstr("input 0 is required"));
  EXPECT_THAT(refusal("MatMul", {"x", ""}, {"y"}), HasSubstr("input 1 is required"));
  EXPECT_THAT(refusal("Relu", {"x", "x"}, {"y"}), HasSubstr("2 inputs, the op has at most 1"));
  EXPECT_THAT(refusal("Relu", {"x"}, {"y", "z"}), HasSubstr("2 outputs, the op has at most 1"));
  EXPECT_THAT(refusal("Concat", {"x", "", "x"}, {"y"}), HasSubstr("input 1 is required"));
  EXPECT_THAT(refusal("NoSuchOp", {"x"}, {"y"}), HasSubstr("domain ai.onnx has no op 'NoSuchOp'"));
}

TEST(Import, TableIsOrderedAndUnambiguous) {
  for (const SupportedOp& op : supported_ops())
    for (size_t i = 0; i < op.since_versions.size(); ++i) {
      EXPECT_GE(op.since_versions[i], 1) << op.op;
      EXPECT_LE(op.since_versions[i], newest_opset(op.domain)) << op.op;
      if (i > 0) EXPECT_LT(op.since_versions[i - 1], op.since_versions[i]) << op.op << " is listed twice";
    }
}

TEST(Import, NamesMustHoldTogether) {
  const auto refusal = [](const std::function<void(GraphProto*)>& change) {
    ModelProto model = relu_model();
    change(model.mutable_graph());
    return import_for_test(model).status.message();
  };
  EXPECT_THAT(refusal([](GraphProto* g) { add_node(g, "Relu", {"x"}, {"y"}); }), HasSubstr("'y' is defined already"));
  EXPECT_THAT(refusal([](GraphProto* g) {
                *g->add_initializer() = raw_tensor<float>("w", TensorProto::FLOAT, {1}, {1});
                add_node(g, "Relu", {"w"}, {"x"});
              }),
              HasSubstr("'x' is defined already"));
  EXPECT_THAT(refusal([](GraphProto* g) { add_input(g, "x", {"2"}); }), HasSubstr("defined twice"));
  EXPECT_THAT(refusal([](GraphProto* g) {
                for (int i = 0; i < 2; ++i)
                  *g->add_initializer() = raw_tensor<float>("w", TensorProto::FLOAT, {1}, {1});
              }),
              HasSubstr("'w': the name is defined twice"));
  EXPECT_THAT(refusal([](GraphProto* g) { add_output(g, "nowhere"); }),
              HasSubstr("output 'nowhere': nothing defines it"));
  EXPECT_THAT(refusal([](GraphProto* g) { add_output(g, "y"); }), HasSubstr("listed twice"));
  EXPECT_THAT(refusal([](GraphProto* g) { g->clear_output(); }), HasSubstr("no outputs"));
  EXPECT_THAT(refusal([](GraphProto* g) { g->mutable_node(0)->clear_output(); }), HasSubstr("no outputs"));
  EXPECT_THAT(refusal([](GraphProto* g) { g->mutable_node(0)->clear_op_type(); }), HasSubstr("no op type"));
  EXPECT_THAT(refusal([](GraphProto* g) { g->mutable_node(0)->set_name("a\xff\nb"); }), HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal([](GraphProto* g) { g->mutable_node(0)->set_output(0, "\xff\n"); }), HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal([](GraphProto* g) { g->mutable_input(0)->set_name(""); }), HasSubstr("without a name"));
  EXPECT_THAT(refusal([](GraphProto* g) { g->mutable_node(0)->set_name(std::string(100'000, 'n')); }),
              HasSubstr("the limit is 65536"));
  EXPECT_THAT(refusal([](GraphProto* g) { g->add_sparse_initializer()->mutable_values()->set_name("s"); }),
              HasSubstr("sparse initializer 's'"));
  EXPECT_THAT(refusal([](GraphProto* g) {
                for (int i = 0; i < 2; ++i) add_attribute(g->mutable_node(0), "twice", AttributeProto::INT);
              }),
              HasSubstr("attribute 'twice' is given twice"));
}

TEST(Import, InputTypes) {
  const auto refusal = [](const std::function<void(::onnx::ValueInfoProto*)>& change) {
    ModelProto model = relu_model();
    change(model.mutable_graph()->mutable_input(0));
    return import_for_test(model).status.message();
  };
  EXPECT_THAT(refusal([](auto* v) { v->mutable_type()->mutable_sequence_type(); }), HasSubstr("sequence"));
  EXPECT_THAT(refusal([](auto* v) { v->mutable_type()->mutable_optional_type(); }), HasSubstr("optional"));
  EXPECT_THAT(refusal([](auto* v) { v->clear_type(); }), HasSubstr("no type"));
  EXPECT_THAT(refusal([](auto* v) { v->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::STRING); }),
              HasSubstr("STRING"));
  EXPECT_THAT(refusal([](auto* v) { v->mutable_type()->mutable_tensor_type()->clear_shape(); }),
              HasSubstr("rank is not known"));
  EXPECT_THAT(refusal([](auto* v) { set_type(v, "x", TensorProto::FLOAT, {"-2"}); }), HasSubstr("extent -2"));
  EXPECT_THAT(refusal([](auto* v) { set_type(v, "x", TensorProto::FLOAT, std::vector<std::string>(9, "1")); }),
              HasSubstr("rank 9"));
  EXPECT_NE(refusal([](auto* v) { set_type(v, "x", TensorProto::FLOAT, {"1099511627776", "1099511627776"}); }), "");
}

TEST(Import, OrderDoesNotMatterAndCyclesAreRefused) {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"2"});
  add_node(graph, "Relu", {"b"}, {"c"}, "third");
  add_node(graph, "Relu", {"a"}, {"b"}, "second");
  add_node(graph, "Relu", {"x"}, {"a"}, "first");
  add_output(graph, "c");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(imported.graph->first()->name(), "first");
  EXPECT_EQ(imported.graph->last()->name(), "third");
  graph->mutable_node(2)->set_input(0, "c");
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("on a cycle"));
}

TEST(Import, OutputsThatAreInputsOrConstants) {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"2"});
  *graph->add_initializer() = raw_tensor<float>("w", TensorProto::FLOAT, {2}, {7, 8});
  add_output(graph, "x");
  add_output(graph, "w");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  const std::vector<float> data = {1, 2};
  const Result<std::vector<HostTensor>> out = run_graph(*imported.graph, {HostTensor::from<float>(data, Dims{2})});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ((*out)[0].get_f64(1), 2);
  EXPECT_EQ((*out)[1].get_f64(0), 7);
  EXPECT_EQ(imported.graph->outputs()[0]->name(), "x");
}

TEST(Import, DeclaredOutputTypeMustAgree) {
  ModelProto model = relu_model();
  set_type(model.mutable_graph()->mutable_output(0), "y", TensorProto::INT64, {"2"});
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("declared i64 and computed as f32"));
}

TEST(Import, AttributesOfTheWrongType) {
  ModelProto model = model_for_test();
  add_input(model.mutable_graph(), "x", {"2", "2"});
  NodeProto* node = add_node(model.mutable_graph(), "Softmax", {"x"}, {"y"});
  add_attribute(node, "axis", AttributeProto::FLOAT)->set_f(1);
  add_output(model.mutable_graph(), "y");
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("attribute 'axis' is FLOAT, expected INT"));
}

TEST(Import, ShapeComputationsAreFolded) {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"2", "3", "4"});
  *graph->add_initializer() = raw_tensor<int64_t>("minus", TensorProto::INT64, {1}, {-1});
  *graph->add_initializer() = raw_tensor<int64_t>("zero", TensorProto::INT64, {1}, {0});
  add_node(graph, "Shape", {"x"}, {"shape"});
  add_node(graph, "Gather", {"shape", "zero"}, {"rows"});
  NodeProto* concat = add_node(graph, "Concat", {"rows", "minus"}, {"target"});
  add_attribute(concat, "axis", AttributeProto::INT)->set_i(0);
  add_node(graph, "Reshape", {"x", "target"}, {"y"});
  add_output(graph, "y");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(imported.graph->num_nodes(), 1);
  EXPECT_EQ(shape_to_string(imported.graph->outputs()[0]->shape()), "[2,12]");
}

TEST(Import, FoldingIsBounded) {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  *graph->add_initializer() =
      raw_tensor<int64_t>("size", TensorProto::INT64, {2}, {int64_t{1} << 18, int64_t{1} << 18});
  add_node(graph, "ConstantOfShape", {"size"}, {"huge"});
  add_node(graph, "Relu", {"huge"}, {"y"});
  add_output(graph, "y");
  const ImportedForTest imported = import_for_test(model);  // a quarter of a terabyte, not computed here
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(imported.graph->num_nodes(), 2);
}

TEST(Import, LongChainsNeedNoStack) {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x0", {"1"});
  constexpr int kLength = 20'000;
  for (int i = 0; i < kLength; ++i) add_node(graph, "Relu", {"x" + std::to_string(i)}, {"x" + std::to_string(i + 1)});
  add_output(graph, "x" + std::to_string(kLength));
  const ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(imported.graph->num_nodes(), kLength);
}

// Every model that the environment points to (a folder of .onnx files).
TEST(Import, SlowModelsOfTheEnvironment) {
  const char* folder = std::getenv("WOOTZ_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "WOOTZ_MODELS is not set";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    const Result<std::shared_ptr<Graph>> graph = import_file(entry.path());
    EXPECT_TRUE(graph.ok()) << entry.path() << ": " << graph.status().to_string();
  }
}

}  // namespace
}  // namespace wootz::importer
