// What a small network gives: a layer with a setting is compared with the same said in another way, and with itself
// without it.
#pragma once

#include <deque>

#include "api/layer_check.h"

namespace wootz_test {

// A constant of values that stay: a network does not copy what it is given.
template <class T>
ITensor* made(Bench& b, std::initializer_list<int64_t> shape, std::vector<T> values) {
  static std::deque<std::vector<T>> kept;
  kept.push_back(std::move(values));
  return b.constant<T>(shape, kept.back());
}

struct Outcome {
  std::vector<int64_t> shape;
  Floats values;
  bool operator==(const Outcome& o) const { return shape == o.shape && values == o.values; }
};
using Net = std::function<ITensor*(Bench&)>;

// Of float inputs with known shapes, which are filled with a pattern of both signs.
inline Outcome outcome(const Net& net) {
  Outcome result;
  Bench b;
  wootz_config_set_option(b.config.get(), "timing", "0");
  ITensor* y = net(b);
  if (y == nullptr) {
    ADD_FAILURE() << b.logger.errors();
    return result;
  }
  result.shape = list(y->getDimensions());
  if (y->getType() != DataType::kFLOAT) y = b.network->addCast(*y, DataType::kFLOAT)->getOutput(0);
  b.output(y, "y");
  const Owned<ICudaEngine> engine = b.engine();
  EXPECT_NE(engine, nullptr) << b.logger.errors();
  if (engine == nullptr) return result;
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  std::vector<Floats> data;
  std::vector<std::string> names;
  for (int32_t i = 0; i < b.network->getNbInputs(); ++i) {
    names.emplace_back(b.network->getInput(i)->getName());
    data.emplace_back(volume(b.network->getInput(i)->getDimensions()));
    for (size_t k = 0; k < data.back().size(); ++k) data.back()[k] = 0.5F * static_cast<float>(k * 7 % 11) - 2.25F;
  }
  Inputs inputs;
  for (size_t i = 0; i < data.size(); ++i) inputs.emplace_back(names[i].c_str(), data[i].data());
  result.values = run(*context, inputs, "y");
  return result;
}

// With the setting the layer gives what `same` gives, and not what it gives without.
template <class Layer>
void expect_setting(const std::function<Layer*(Bench&)>& make, const std::function<void(Layer&)>& set,
                    const Net& same) {
  const Outcome before = outcome([&](Bench& b) { return make(b)->getOutput(0); });
  const Outcome after = outcome([&](Bench& b) {
    Layer* layer = make(b);
    set(*layer);
    return layer->getOutput(0);
  });
  const Outcome wanted = outcome(same);
  EXPECT_EQ(after.shape, wanted.shape);
  expect_near(after.values, wanted.values, 1e-4F);
  EXPECT_FALSE(after == before) << "the setting changes nothing";
}

// The same for a layer whose two states the functions make.
template <class Layer>
void expect_setting(const std::function<Layer*(Bench&)>& make, const std::function<void(Layer&)>& set,
                    const std::function<Layer*(Bench&)>& same) {
  expect_setting<Layer>(make, set, Net([&](Bench& b) -> ITensor* { return same(b)->getOutput(0); }));
}

}  // namespace wootz_test
