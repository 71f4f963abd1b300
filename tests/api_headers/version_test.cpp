// NvInferVersion.h and NvInferLegacyDims.h by themselves.
#include "NvInferVersion.h"

#if WOOTZ_TENSORRT_API != 11 && (NV_TENSORRT_MAJOR != 10 || NV_TENSORRT_MINOR != 16 || NV_TENSORRT_PATCH != 0)
#error "the default API level is 10.16.0"
#endif

#include "NvInferLegacyDims.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace {

static_assert(NV_TENSORRT_VERSION_INT(10, 16, 0) == 101600);
static_assert(std::is_aggregate_v<nvinfer1::Dims>);
static_assert(sizeof(nvinfer1::Dims) == 72);
static_assert(nvinfer1::Dims::MAX_DIMS == 8);

TEST(LegacyDims, FillInOrder) {
  const nvinfer1::Dims4 d{1, 3, 224, 225};
  EXPECT_EQ(d.nbDims, 4);
  EXPECT_EQ(d.d[1], 3);
  EXPECT_EQ(d.d[3], 225);
  EXPECT_EQ(d.d[7], 0);
  EXPECT_EQ(nvinfer1::Dims3().nbDims, 3);
}

TEST(LegacyDims, NameHeightAndWidth) {
  nvinfer1::DimsHW d{5, 7};
  d.w() += 1;
  EXPECT_EQ(d.h(), 5);
  EXPECT_EQ(d.w(), 8);
  const nvinfer1::Dims sliced = d;
  EXPECT_EQ(sliced.nbDims, 2);
}

}  // namespace
