// Layers whose checks are the same on any backend: on the GPU where there is one, otherwise on the emulator.
#include "api/assertion_checks.h"
#include "api/dynamic_quantize_checks.h"
#include "api/experts_checks.h"
#include "api/random_checks.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

class CudaLayers : public ::testing::Test {
 protected:
  void SetUp() override { real_gpu(); }
};

TEST_F(CudaLayers, RandomFillsDrawAnew) {
  check_draws("cuda");
  check_narrow_draws("cuda");
}

TEST_F(CudaLayers, AssertionsAreChecked) {
  check_assertions_of_extents("cuda");
  check_assertions_of_data("cuda");
  check_assertions_of_found_sizes("cuda");
}

TEST_F(CudaLayers, DynamicQuantization) { check_dynamic_quantization("cuda"); }

TEST_F(CudaLayers, MixtureOfExperts) { check_experts("cuda"); }

}  // namespace
}  // namespace wootz_test
