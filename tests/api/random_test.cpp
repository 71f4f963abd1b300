// Random fills: extents and parameters set or given as inputs, and contexts that draw for themselves.
#include <algorithm>
#include <numeric>

#include "api/random_checks.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;

struct Moments {
  double mean = 0, deviation = 0, least = 0, most = 0;
  explicit Moments(const Floats& x) {
    const auto count = static_cast<double>(x.size());
    mean = std::accumulate(x.begin(), x.end(), 0.) / count;
    for (const float v : x) deviation += (v - mean) * (v - mean) / count;
    deviation = std::sqrt(deviation);
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    least = *low;
    most = *high;
  }
};

// The extents are those of input x; a and b are inputs as well.
struct Drawing : Bench {
  explicit Drawing(FillOperation operation) {
    ITensor* x = input("x", {-1, 100});
    IFillLayer* fill = network->addFill(dims({}), operation, DataType::kFLOAT);
    fill->setInput(0, *network->addShape(*x)->getOutput(0));
    fill->setInput(1, *input("a", {}));
    fill->setInput(2, *input("b", {}));
    output(fill, "y");
    profile("x", {1, 100}, {64, 100}, {128, 100});
  }
};

Floats draw(IExecutionContext& context, int64_t rows, float a, float b) {
  const Floats x(static_cast<size_t>(rows) * 100);
  EXPECT_TRUE(context.setInputShape("x", dims({rows, 100})));
  return run(context, {{"x", x.data()}, {"a", &a}, {"b", &b}}, "y");
}

TEST(RandomFill, ExtentsAndParametersAsInputs) {
  for (const FillOperation operation : {FillOperation::kRANDOM_UNIFORM, FillOperation::kRANDOM_NORMAL}) {
    Drawing b(operation);
    const Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    const Floats y = draw(*context, 100, 2, 5);
    ASSERT_EQ(y.size(), 10000U) << b.logger.errors();
    const Moments m(y);
    const bool uniform = operation == FillOperation::kRANDOM_UNIFORM;
    EXPECT_NEAR(m.mean, uniform ? 3.5 : 2, uniform ? 0.05 : 0.3);  // six deviations of the mean
    EXPECT_NEAR(m.deviation, uniform ? 3 / std::sqrt(12.) : 5, uniform ? 0.05 : 0.3);
    if (uniform) EXPECT_TRUE(m.least >= 2 && m.most <= 5) << m.least << " to " << m.most;
    EXPECT_EQ(draw(*context, 7, 0, 1).size(), 700U);
    EXPECT_EQ(b.logger.errors(), "");
  }
}

TEST(RandomFill, EveryInferenceDrawsAnew) {
  for (const char* backend : {"cpu", "reference"}) {
    check_draws(backend);
    check_narrow_draws(backend);
  }
}

}  // namespace
}  // namespace wootz_test
