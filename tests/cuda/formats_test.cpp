// Formats of inputs and outputs whose channels come in vectors, on a GPU or the emulator.
#include "api/format_cases.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

// Each format with one of its types, which runs choose; kernels are compiled by the width of an element.
TEST(CudaFormats, LieAsTheFormatSays) {
  real_gpu();
  std::mt19937 random(static_cast<unsigned>(wootz::test_seed()));
  for (const VectorFormat& f : vector_formats()) check_format(f, f.types[random() % f.types.size()], "cuda", random);
}

TEST(CudaFormats, SlowLieAsTheFormatSaysInEveryType) {
  real_gpu();
  std::mt19937 random(static_cast<unsigned>(wootz::test_seed()));
  for (const VectorFormat& f : vector_formats())
    for (const nvinfer1::DataType type : f.types) check_format(f, type, "cuda", random);
}

TEST(CudaFormats, FollowOpenExtentsInEachProfile) {
  real_gpu();
  std::mt19937 random(static_cast<unsigned>(wootz::test_seed()));
  const std::vector<VectorFormat> all = vector_formats();
  const VectorFormat& f = all[random() % all.size()];
  check_open_format(f, f.types[0], "cuda", 2, random);
}

}  // namespace
}  // namespace wootz_test
