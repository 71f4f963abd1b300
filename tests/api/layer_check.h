// Checks one layer: builds a network around it, with passes and without, and on the reference backend, and compares its
// output 0 with numbers worked out by hand.
#pragma once

#include <functional>

#include "api/harness.h"

namespace wootz_test {

using namespace nvinfer1;
using Floats = std::vector<float>;
using Make = std::function<ILayer*(Bench&, std::vector<ITensor*>&)>;

struct In {
  std::vector<int64_t> shape;
  Floats values;
};

inline Floats iota(size_t n, float start = 0, float step = 1) {
  Floats v(n);
  for (size_t i = 0; i < n; ++i) v[i] = start + step * static_cast<float>(i);
  return v;
}

struct Mode {
  const char* backend;
  const char* passes;
};

// Builds a network of float inputs in1, in2, ... with `make`, whose layer's output 0 is compared.
inline void check_layer(const std::vector<In>& inputs, const std::vector<int64_t>& shape, const Floats& want,
                        const Make& make, float tolerance = 1e-5F) {
  for (const Mode mode : {Mode{"cpu", ""}, Mode{"cpu", "all"}, Mode{"reference", ""}}) {
    SCOPED_TRACE(std::string(mode.backend) + " without passes: " + mode.passes);
    Bench b;
    wootz_config_set_option(b.config.get(), "backend", mode.backend);
    wootz_config_set_option(b.config.get(), "disable_passes", mode.passes);
    wootz_config_set_option(b.config.get(), "timing", "0");
    std::vector<ITensor*> tensors;
    std::vector<std::string> names;
    for (size_t i = 0; i < inputs.size(); ++i) names.push_back("in" + std::to_string(i + 1));
    for (size_t i = 0; i < inputs.size(); ++i) {
      Dims d{};
      for (int64_t v : inputs[i].shape) d.d[d.nbDims++] = v;
      tensors.push_back(b.network->addInput(names[i].c_str(), DataType::kFLOAT, d));
    }
    ILayer* layer = make(b, tensors);
    ASSERT_NE(layer, nullptr) << b.logger.errors();
    EXPECT_EQ(list(layer->getOutput(0)->getDimensions()), shape) << b.logger.errors();
    if (layer->getOutput(0)->getType() != DataType::kFLOAT)
      layer = b.network->addCast(*layer->getOutput(0), DataType::kFLOAT);
    b.output(layer, "y");
    Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    Owned<IExecutionContext> context(engine->createExecutionContext());
    Inputs data;
    for (size_t i = 0; i < inputs.size(); ++i) data.emplace_back(names[i].c_str(), inputs[i].values.data());
    expect_near(run(*context, data, "y"), want, tolerance);
    EXPECT_EQ(b.logger.errors(), "");
  }
}

}  // namespace wootz_test
