// Entry points of the ONNX parser: version, C symbols, and typed factories over them.
#pragma once

#include <cstdint>

#include "wootz/logger_forward.h"
#include "wootz/macros.h"

/// Version of the parser's API, as major, minor, patch; NV_ONNX_PARSER_VERSION is all three in one number.
#define NV_ONNX_PARSER_MAJOR 0
#define NV_ONNX_PARSER_MINOR 1
#define NV_ONNX_PARSER_PATCH 0
#define NV_ONNX_PARSER_VERSION ((NV_ONNX_PARSER_MAJOR * 10000) + (NV_ONNX_PARSER_MINOR * 100) + NV_ONNX_PARSER_PATCH)

namespace nvinfer1 {
class INetworkDefinition;
class IRefitter;
}  // namespace nvinfer1

namespace nvonnxparser {
class IParser;
class IParserRefitter;
}  // namespace nvonnxparser

/// See createParser and createParserRefitter; `version` is the caller's NV_ONNX_PARSER_VERSION.
extern "C" TENSORRTAPI void* createNvOnnxParser_INTERNAL(void* network, void* logger, int version) noexcept;
extern "C" TENSORRTAPI void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger,
                                                                 int32_t version) noexcept;

/// NV_ONNX_PARSER_VERSION of the library.
extern "C" TENSORRTAPI int getNvOnnxParserVersion() noexcept;

namespace nvonnxparser {
namespace {  // a copy in each translation unit, so that the version is the one it was compiled with

/// A parser that adds what it reads to `network`; owned by the caller. Weights of the model stay in the parser, which
/// must therefore live until the network is built. Null on failure.
inline IParser* createParser(nvinfer1::INetworkDefinition& network, nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParser*>(createNvOnnxParser_INTERNAL(&network, &logger, NV_ONNX_PARSER_VERSION));
}

/// A parser that hands a model's weights to `refitter`; owned by the caller, outlived by the refitter. Null on failure.
inline IParserRefitter* createParserRefitter(nvinfer1::IRefitter& refitter, nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParserRefitter*>(createNvOnnxParserRefitter_INTERNAL(&refitter, &logger, NV_ONNX_PARSER_VERSION));
}

}  // namespace
}  // namespace nvonnxparser
