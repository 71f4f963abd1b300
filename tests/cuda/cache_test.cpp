// Caches of keys and values on a device: in their place, and from one into another, through what the context has
// recorded.
#include "api/kv_cache.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using nvinfer1::DataType;

TEST(CudaKvCache, InPlaceAndApart) {
  real_gpu();
  check_cache_steps<float>(DataType::kFLOAT, "cuda");
  check_cache_steps<uint16_t>(DataType::kHALF, "cuda");
  check_cache_steps<int8_t>(DataType::kINT8, "cuda");
}

}  // namespace
}  // namespace wootz_test
