// nvonnxparser::IParserRefitter: an engine's weights out of an ONNX model.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wootz/parser_error.h"

namespace nvonnxparser {

/// Hands the weights of a model to an IRefitter; made by createParserRefitter. The model must be the one the engine was
/// built from, but for its weights. They stay in this object, which must live until the refit is done. One thread at a
/// time.
class IParserRefitter {
 public:
  /// Sets all weights found in a model; IRefitter::refitCudaEngine then applies them. `modelPath` as for
  /// IParser::parse.
  virtual bool refitFromBytes(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool refitFromFile(const char* onnxModelFile) noexcept = 0;

  /// Errors so far, and one of them, by index; null when out of range.
  virtual int32_t getNbErrors() const noexcept = 0;
  virtual const IParserError* getError(int32_t index) const noexcept = 0;
  virtual void clearErrors() = 0;

  /// Three steps that do the same with weights held by the caller; as for IParser.
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;
  virtual bool refitModelProto() noexcept = 0;

  virtual ~IParserRefitter() noexcept = default;
};

}  // namespace nvonnxparser
