// NvOnnxParser.h by itself.
#include "NvOnnxParser.h"

#include "NvInferPlugin.h"
#include "NvInferSafeRuntime.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace {

using nvonnxparser::ErrorCode;
using nvonnxparser::OnnxParserFlag;

static_assert(int(ErrorCode::kMODEL_DESERIALIZE_FAILED) == 3);
static_assert(int(ErrorCode::kUNSUPPORTED_NODE) == 8);
static_assert(int(ErrorCode::kREFIT_FAILED) == 14);
static_assert(int(OnnxParserFlag::kNATIVE_INSTANCENORM) == 0);
static_assert(int(OnnxParserFlag::kADJUST_FOR_DLA) == 4);
static_assert(nvonnxparser::EnumMax<OnnxParserFlag>() == 5);
static_assert(NV_ONNX_PARSER_VERSION == 100);
static_assert(std::has_virtual_destructor_v<nvonnxparser::IParser>);
static_assert(std::has_virtual_destructor_v<nvonnxparser::IParserRefitter>);

TEST(OnnxParser, SubgraphsAreAtGlobalScope) {
  SubGraphCollection_t graphs{{{0, 1}, true}};
  EXPECT_EQ(graphs[0].first.size(), 2u);
}

}  // namespace
