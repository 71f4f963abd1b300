// Errors of the ONNX parser.
#pragma once

#include <cstdint>

namespace nvonnxparser {

/// Number of values of enumeration T: one more than its largest enumerator.
template <typename T>
constexpr int32_t EnumMax() noexcept;

enum class ErrorCode : int {
  kSUCCESS = 0,
  kINTERNAL_ERROR = 1,
  kMEM_ALLOC_FAILED = 2,
  kMODEL_DESERIALIZE_FAILED = 3,
  kINVALID_VALUE = 4,
  kINVALID_GRAPH = 5,
  kINVALID_NODE = 6,
  kUNSUPPORTED_GRAPH = 7,
  kUNSUPPORTED_NODE = 8,
  kUNSUPPORTED_NODE_ATTR = 9,
  kUNSUPPORTED_NODE_INPUT = 10,
  kUNSUPPORTED_NODE_DATATYPE = 11,
  kUNSUPPORTED_NODE_DYNAMIC = 12,
  kUNSUPPORTED_NODE_SHAPE = 13,
  kREFIT_FAILED = 14,
};

template <>
constexpr int32_t EnumMax<ErrorCode>() noexcept {
  return 15;
}

class IParserError {
 public:
  virtual ErrorCode code() const noexcept = 0;
  virtual const char* desc() const noexcept = 0;
  virtual const char* file() const noexcept = 0;
  virtual int line() const noexcept = 0;
  virtual const char* func() const noexcept = 0;
  virtual int node() const noexcept = 0;
  virtual const char* nodeName() const noexcept = 0;
  virtual const char* nodeOperator() const noexcept = 0;
  virtual const char* const* localFunctionStack() const noexcept = 0;
  virtual int32_t localFunctionStackSize() const noexcept = 0;

  virtual ~IParserError() noexcept = default;
};

}  // namespace nvonnxparser
