// First convolutions that make 16-bit floats of an image while they read it: the same bits as the cast, or expression,
// and the convolution as steps of their own. Of rows of pixels of no whole unit, of two, of four; of one image, and of
// so many small ones that a block takes several tiles.
#include <algorithm>
#include <cstring>

#include "conformance/on_cuda.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

struct Stem {
  const char* image;  // type and extents
  const char* made;   // %h of %x
  const char* weights;
  const char* convolved;  // attributes
  const char* end = "return %y;";
};

class CudaStems : public OnCuda {
 protected:
  // Its steps, and the bits of its result.
  std::pair<size_t, std::vector<std::byte>> run(const Stem& stem, const char* type, bool passes) {
    const std::string text = fmt::format(
        "graph \"g\" {{ %x: {} = input; %w: {}{} = const splat(0.1); {} %y = Conv(%h, %w) {{{}}}; {} }}", stem.image,
        type, stem.weights, fmt::format(fmt::runtime(stem.made), type), stem.convolved, stem.end);
    const std::unique_ptr<Graph> graph = parsed(text);
    if (graph == nullptr) return {};
    const Value* const x = graph->inputs()[0];
    Dims dims;
    for (const Dim& d : x->shape()) dims.push_back(d.value());
    RunOptions options;
    options.backend = "cuda";
    options.passes = passes;
    const Result<RunResult> result = run_graph_on(*graph, {random_tensor(x->dtype(), dims, seed_).value()}, options);
    EXPECT_TRUE(result.ok()) << result.status().to_string() << text;
    if (!result.ok()) return {};
    EXPECT_TRUE(result->reference_steps.empty()) << text;
    const HostTensor& y = result->outputs[0];
    const auto* const bytes = static_cast<const std::byte*>(y.data());
    return {result->steps, {bytes, bytes + y.bytes()}};
  }
};

TEST_F(CudaStems, HaveTheBitsOfTwoSteps) {
  constexpr const char* kCast = "%h = Cast(%x) {{to = \"{0}\"}};";
  const Stem stems[] = {
      {"f32[2,3,23,36]", kCast, "[24,3,7,7]", "strides = [2, 2], pads = [3, 3, 3, 3]"},
      {"f32[1,3,21,38]", kCast, "[32,3,6,6]", "strides = [2, 2], pads = [2, 2, 2, 2]"},
      {"f32[360,3,4,5]", kCast, "[72,3,3,3]", "strides = [1, 1], pads = [1, 1, 1, 1]"},
      {"f32[2,3,45,52]", kCast, "[24,3,7,7]", "strides = [2, 2], pads = [3, 3, 3, 3]",
       "%z = Pool(%y) {kind = \"max\", kernel = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]}; "
       "return %z;"},
      {"u8[2,1,19,20]", "%s: {0}[] = const [0.0039]; %f = Cast(%x) {{to = \"{0}\"}}; %h = Mul(%f, %s);", "[16,1,5,5]",
       "strides = [2, 2], pads = [2, 2, 2, 2]"}};
  for (const Stem& stem : stems)
    for (const char* type : {"f16", "bf16"}) {
      const auto [apart, expected] = run(stem, type, false);
      const auto [together, bits] = run(stem, type, true);
      EXPECT_LT(together, apart) << stem.image;
      EXPECT_FALSE(bits.empty());
      EXPECT_TRUE(bits == expected) << stem.image << " in " << type << ", seed " << seed_;
    }
}

}  // namespace
}  // namespace wootz::conformance
