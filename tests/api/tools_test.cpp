// wootz_compare_engines() and wootz_quantize() as C++ programs call them. What they compute: tests/py/tool_cases.py and
// tests/py/test_quantize.py.
#include "api/harness.h"
#include "base/json.h"

namespace wootz_test {
namespace {

using nvinfer1::DataType;
using nvinfer1::ElementWiseOperation;
using Json = wootz::OrderedJson;

// y = (x * factor) + 1
Owned<nvinfer1::ICudaEngine> engine_of(Bench& bench, float factor, const char* output = "y") {
  const std::vector<float> factors = {factor}, one = {1};  // until the engine is built
  nvinfer1::ITensor* x = bench.input("x", {2, 3});
  nvinfer1::ILayer* product =
      bench.network->addElementWise(*x, *bench.constant({1, 1}, factors), ElementWiseOperation::kPROD);
  product->getOutput(0)->setName("scaled");
  bench.output(
      bench.network->addElementWise(*product->getOutput(0), *bench.constant({1, 1}, one), ElementWiseOperation::kSUM),
      output);
  return bench.engine();
}

struct Given {
  Given() : batches(wootz_batches_create(), wootz_batches_destroy) {}
  int add(int type = static_cast<int>(DataType::kFLOAT), const char* name = "x") const {
    static const std::vector<float> kValues = {1, -2, 3, -4, 5, -6};
    static const int64_t kShape[] = {2, 3};
    const wootz_array array{name, type, 2, kShape, kValues.data()};
    return wootz_batches_add(batches.get(), &array, 1);
  }
  std::unique_ptr<void, void (*)(void*)> batches;
};

std::string text_of(void* memory) {
  const Owned<nvinfer1::IHostMemory> text(static_cast<nvinfer1::IHostMemory*>(memory));
  return text == nullptr ? "" : static_cast<const char*>(text->data());
}

TEST(Tools, EnginesAreCompared) {
  Bench one, two;
  const auto a = engine_of(one, 2), b = engine_of(two, 2.5);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  const Given given;
  ASSERT_EQ(given.add(), 0);
  ASSERT_EQ(given.add(), 0);
  const std::string same = text_of(wootz_compare_engines(a.get(), a.get(), given.batches.get(), nullptr));
  ASSERT_FALSE(same.empty()) << two.logger.errors();
  EXPECT_TRUE(Json::parse(same)["same"]);
  const std::string text =
      text_of(wootz_compare_engines(a.get(), b.get(), given.batches.get(), R"({"names": ["a.plan", "b.plan"]})"));
  const Json json = Json::parse(text);
  EXPECT_FALSE(json["same"]);
  EXPECT_EQ(json["batches"], 2);
  EXPECT_EQ(json["first_divergence"], "y");
  EXPECT_EQ(json["values"].back()["largest_difference"], 3);
  EXPECT_NE(text_of(wootz_comparison_as(text.c_str(), "text")).find("the first in the order of execution: 'y'"),
            std::string::npos);
  EXPECT_NE(text_of(wootz_comparison_as(text.c_str(), "html")).find("a.plan"), std::string::npos);
  const std::string loose =
      text_of(wootz_compare_engines(a.get(), b.get(), given.batches.get(), R"({"tolerance": 1})"));
  EXPECT_TRUE(Json::parse(loose)["same"]);
}

TEST(Tools, WhatCannotBeComparedIsRefused) {
  Bench one, two;
  const auto a = engine_of(one, 2), other = engine_of(two, 2, "z");
  const Given given, none, wrong, unknown;
  ASSERT_EQ(given.add(), 0);
  ASSERT_EQ(wrong.add(static_cast<int>(DataType::kINT32)), 0);
  ASSERT_EQ(unknown.add(static_cast<int>(DataType::kFLOAT), "w"), 0);
  const auto refused = [&](void* b, const Given& batches, const char* options, const char* text) {
    one.logger.take_errors();
    EXPECT_EQ(wootz_compare_engines(a.get(), b, batches.batches.get(), options), nullptr);
    const std::string why = one.logger.take_errors();
    EXPECT_NE(why.find(text), std::string::npos) << why;
  };
  refused(nullptr, given, nullptr, "B: it is no engine that this library loaded");
  refused(other.get(), given, nullptr, "no output in common");
  refused(a.get(), none, nullptr, "there is no batch");
  refused(a.get(), wrong, nullptr, "input 'x': it is i32, the engine takes f32");
  refused(a.get(), unknown, nullptr, "input 'x' is not given");
  refused(a.get(), given, "[]", "no JSON object");
  refused(a.get(), given, R"({"tolerance": -1})", "below 0");
  refused(a.get(), given, R"({"toleranz": 1})", "option 'toleranz'");
  EXPECT_EQ(wootz_comparison_as("{}", "text"), nullptr);
  EXPECT_EQ(wootz_comparison_as(nullptr, "text"), nullptr);
}

TEST(Tools, ArraysThatAreNoneAreRefused) {
  const Bench bench;  // its logger gets the reasons
  const Given given;
  EXPECT_NE(given.add(1000), 0);
  EXPECT_NE(given.add(static_cast<int>(DataType::kFLOAT), nullptr), 0);
  EXPECT_NE(wootz_batches_add(nullptr, nullptr, 0), 0);
  const int64_t shape[] = {-1};
  const wootz_array negative{"x", 0, 1, shape, shape};
  EXPECT_NE(wootz_batches_add(given.batches.get(), &negative, 1), 0);
  wootz_batches_destroy(nullptr);
  EXPECT_NE(bench.logger.errors().find("there is no type 1000"), std::string::npos) << bench.logger.errors();
}

TEST(Tools, QuantizingSaysWhatIsMissing) {
  Bench bench;
  const Given given;
  ASSERT_EQ(given.add(), 0);
  const std::string output = ::testing::TempDir() + "tools_test.onnx";
  const auto refused = [&](const char* model, const char* options, const char* text) {
    bench.logger.take_errors();
    EXPECT_EQ(
        wootz_quantize(bench.builder.get(), bench.config.get(), model, output.c_str(), given.batches.get(), options),
        nullptr);
    const std::string why = bench.logger.take_errors();
    EXPECT_NE(why.find(text), std::string::npos) << why;
  };
  refused("no such file.onnx", nullptr, "no such file.onnx");
  refused(nullptr, nullptr, "are null");
  refused("m.onnx", R"({"format": "int3"})", "there is no format 'int3'");
  refused("m.onnx", R"({"budget": -1})", "option 'budget': a number from 0 is wanted");
  refused("m.onnx", R"({"keep": "conv"})", "option 'keep': a list of names is wanted");
  refused("m.onnx", R"({"block": 16})", "option 'block' is of int4");
  refused("m.onnx", R"({"speed": 1})", "there is no option 'speed'");
  refused("m.onnx", R"({"format": "bf16", "algorithm": "minmax"})", "bf16 has no ranges of activations");
  EXPECT_EQ(wootz_quantize(nullptr, bench.config.get(), "m.onnx", "o.onnx", given.batches.get(), nullptr), nullptr);
  EXPECT_EQ(wootz_quantization_as("{}", "text"), nullptr);
}

}  // namespace
}  // namespace wootz_test
