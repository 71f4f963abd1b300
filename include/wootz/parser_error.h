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
  /// The bytes are no ONNX model, or a file could not be read.
  kMODEL_DESERIALIZE_FAILED = 3,
  /// An argument or attribute value.
  kINVALID_VALUE = 4,
  /// The graph breaks ONNX's rules.
  kINVALID_GRAPH = 5,
  /// A node breaks its operator's rules.
  kINVALID_NODE = 6,
  /// Valid, but not supported; the codes that follow say more exactly what.
  kUNSUPPORTED_GRAPH = 7,
  kUNSUPPORTED_NODE = 8,
  kUNSUPPORTED_NODE_ATTR = 9,
  kUNSUPPORTED_NODE_INPUT = 10,
  kUNSUPPORTED_NODE_DATATYPE = 11,
  kUNSUPPORTED_NODE_DYNAMIC = 12,
  kUNSUPPORTED_NODE_SHAPE = 13,
  /// The refitter refused weights.
  kREFIT_FAILED = 14,
};

template <>
constexpr int32_t EnumMax<ErrorCode>() noexcept {
  return 15;
}

/// One error, owned by the parser, valid until its errors are cleared or it is used again.
class IParserError {
 public:
  /// Code, and the reason in words.
  virtual ErrorCode code() const = 0;
  virtual const char* desc() const = 0;

  /// Source file, line and function of this library that noticed.
  virtual const char* file() const = 0;
  virtual int line() const = 0;
  virtual const char* func() const = 0;

  /// Index of the ONNX node in its graph, -1 when no node is to blame; its name and operator.
  virtual int node() const = 0;
  virtual const char* nodeName() const = 0;
  virtual const char* nodeOperator() const = 0;

  /// Names of the model's functions that the node is inside of, outermost first, and how many.
  virtual const char* const* localFunctionStack() const = 0;
  virtual int32_t localFunctionStackSize() const = 0;

 protected:
  virtual ~IParserError() noexcept = default;
};

}  // namespace nvonnxparser
