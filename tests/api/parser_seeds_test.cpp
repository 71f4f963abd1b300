// The seeds of the importer's fuzz target through the public parser, from end to end.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "api/harness.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using nvonnxparser::createParser;
using nvonnxparser::IParser;
using Floats = std::vector<float>;

// Each seed of the importer's fuzz target: its results on the CPU and on the reference backend are the same.
TEST(ParserSeeds, FromEndToEnd) {
  const char* source = std::getenv("WOOTZ_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  for (const char* name : {"conditional", "convolution", "functions", "loop", "old_opset", "quantized", "shapes"}) {
    SCOPED_TRACE(name);
    std::ifstream file(std::string(source) + "/src/onnx/import_fuzz_corpus/" + name + ".onnx", std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    ASSERT_FALSE(bytes.empty());
    std::vector<std::vector<std::vector<char>>> results;
    for (const char* backend : {"cpu", "reference"}) {
      Bench b;
      wootz_config_set_option(b.config.get(), "backend", backend);
      wootz_config_set_option(b.config.get(), "timing", "0");
      wootz_config_set_option(b.config.get(), "verify_passes", "1");
      Owned<IParser> parser(createParser(*b.network, b.logger));
      ASSERT_EQ(wootz_parser_set_option(parser.get(), "io_types", "exact"), 0);
      ASSERT_TRUE(parser->parse(bytes.data(), bytes.size())) << b.logger.errors();
      IOptimizationProfile* profile = b.builder->createOptimizationProfile();
      std::vector<Dims> shapes;
      for (int32_t i = 0; i < b.network->getNbInputs(); ++i) {
        Dims shape = b.network->getInput(i)->getDimensions();
        for (int32_t d = 0; d < shape.nbDims; ++d)
          if (shape.d[d] < 0) shape.d[d] = 8;
        for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
          ASSERT_TRUE(profile->setDimensions(b.network->getInput(i)->getName(), select, shape));
        shapes.push_back(shape);
      }
      b.config->addOptimizationProfile(profile);
      Owned<ICudaEngine> engine = b.engine();
      ASSERT_NE(engine, nullptr) << b.logger.errors();
      Owned<IExecutionContext> context(engine->createExecutionContext());
      std::vector<std::vector<char>> memory;
      const int32_t inputs = b.network->getNbInputs();
      for (int32_t i = 0; i < engine->getNbIOTensors(); ++i) {
        const char* tensor = engine->getIOTensorName(i);
        if (i < inputs) {
          ASSERT_TRUE(context->setInputShape(tensor, shapes[static_cast<size_t>(i)]));
          memory.emplace_back(volume(shapes[static_cast<size_t>(i)]) * 8, 0);
          if (engine->getTensorDataType(tensor) == DataType::kFLOAT) {
            auto* values = reinterpret_cast<float*>(memory.back().data());
            for (size_t e = 0; e < volume(shapes[static_cast<size_t>(i)]); ++e)
              values[e] = 0.25F * static_cast<float>(e % 9) - 1;
          }
        } else {
          memory.emplace_back(size_t{1} << 16, 0);
        }
        ASSERT_TRUE(context->setTensorAddress(tensor, memory.back().data()));
      }
      ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
      for (int32_t i = inputs; i < engine->getNbIOTensors(); ++i) {
        const Dims shape = context->getTensorShape(engine->getIOTensorName(i));
        for (int32_t d = 0; d < shape.nbDims; ++d) EXPECT_GE(shape.d[d], 0);
        if (engine->getTensorDataType(engine->getIOTensorName(i)) == DataType::kFLOAT)
          memory[static_cast<size_t>(i)].resize(volume(shape) * sizeof(float));
      }
      results.push_back(std::move(memory));
    }
    ASSERT_EQ(results[0].size(), results[1].size());
    for (size_t i = 0; i < results[0].size(); ++i) {
      ASSERT_EQ(results[0][i].size(), results[1][i].size());
      if (results[0][i].size() == size_t{1} << 16) {
        EXPECT_EQ(results[0][i], results[1][i]);
        continue;
      }
      const auto floats = [&](size_t k) {
        const auto* data = reinterpret_cast<const float*>(results[k][i].data());
        return Floats(data, data + results[k][i].size() / sizeof(float));
      };
      expect_near(floats(0), floats(1));
    }
  }
}

}  // namespace
}  // namespace wootz_test
