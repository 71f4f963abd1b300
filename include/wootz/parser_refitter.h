// nvonnxparser::IParserRefitter: an engine's weights out of an ONNX model.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wootz/parser_error.h"

namespace nvonnxparser {

class IParserRefitter {
 public:
  virtual bool refitFromBytes(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool refitFromFile(const char* onnxModelFile) noexcept = 0;
  virtual int32_t getNbErrors() const noexcept = 0;
  virtual const IParserError* getError(int32_t index) const noexcept = 0;
  virtual void clearErrors() noexcept = 0;
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;
  virtual bool refitModelProto() noexcept = 0;

  virtual ~IParserRefitter() noexcept = default;
};

}  // namespace nvonnxparser
