// A dense layer with softmax whose batch is open: the network that tests of building and running use.
#pragma once

#include "api/harness.h"

namespace wootz_test {

using namespace nvinfer1;
using Floats = std::vector<float>;

// y = softmax(x w) over 16 columns; x [-1, 8].
struct Dense : Bench {
  Dense() {
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) - 3;
    wootz_config_set_option(config.get(), "timing", "0");
    ITensor* x = input("x", {-1, 8});
    ITensor* c = network->addConstant(dims({8, 16}), weights(w))->getOutput(0);
    ILayer* product = network->addMatrixMultiply(*x, MatrixOperation::kNONE, *c, MatrixOperation::kNONE);
    product->setName("product");
    product->getOutput(0)->setName("logits");
    logits = product->getOutput(0);
    ISoftMaxLayer* softmax = network->addSoftMax(*logits);
    softmax->setAxes(1U << 1);
    softmax->setName("softmax");
    output(softmax, "y");
    profile("x", {1, 8}, {4, 8}, {64, 8});
  }
  Floats expected(const Floats& x) const {
    Floats y;
    for (size_t r = 0; r < x.size() / 8; ++r) {
      Floats row(16, 0);
      float sum = 0;
      for (size_t c = 0; c < 16; ++c) {
        for (size_t k = 0; k < 8; ++k) row[c] += x[r * 8 + k] * w[k * 16 + c];
        row[c] = std::exp(row[c]);
        sum += row[c];
      }
      for (float v : row) y.push_back(v / sum);
    }
    return y;
  }
  Floats w = Floats(8 * 16);
  ITensor* logits = nullptr;
};

inline Floats rows(size_t n, float seed) {
  Floats x(n * 8);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(seed + static_cast<float>(i)) * 0.3F;
  return x;
}

}  // namespace wootz_test
