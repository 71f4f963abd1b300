// ILayer, base of all layers, and LayerType.
#pragma once

#include <cstdint>

#include "wootz/dtype.h"
#include "wootz/enum_max.h"
#include "wootz/level.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

class ITensor;

/// Kind of a layer: which class to static_cast an ILayer* to.
enum class LayerType : int32_t {
  kCONVOLUTION = 0,
  kCAST = 1,
  kACTIVATION = 2,
  kPOOLING = 3,
  kLRN = 4,
  kSCALE = 5,
  kSOFTMAX = 6,
  kDECONVOLUTION = 7,
  kCONCATENATION = 8,
  kELEMENTWISE = 9,
  kPLUGIN = 10,
  kUNARY = 11,
  kPADDING = 12,
  kSHUFFLE = 13,
  kREDUCE = 14,
  kTOPK = 15,
  kGATHER = 16,
  kMATRIX_MULTIPLY = 17,
  kRAGGED_SOFTMAX = 18,
  kCONSTANT = 19,
  kIDENTITY = 20,
  kPLUGIN_V2 = 21,
  kSLICE = 22,
  kSHAPE = 23,
  kPARAMETRIC_RELU = 24,
  kRESIZE = 25,
  kTRIP_LIMIT = 26,
  kRECURRENCE = 27,
  kITERATOR = 28,
  kLOOP_OUTPUT = 29,
  kSELECT = 30,
  kFILL = 31,
  kQUANTIZE = 32,
  kDEQUANTIZE = 33,
  kCONDITION = 34,
  kCONDITIONAL_INPUT = 35,
  kCONDITIONAL_OUTPUT = 36,
  kSCATTER = 37,
  kEINSUM = 38,
  kASSERTION = 39,
  kONE_HOT = 40,
  kNON_ZERO = 41,
  kGRID_SAMPLE = 42,
  kNMS = 43,
  kREVERSE_SEQUENCE = 44,
  kNORMALIZATION = 45,
  kPLUGIN_V3 = 46,
  kSQUEEZE = 47,
  kUNSQUEEZE = 48,
  kCUMULATIVE = 49,
  kDYNAMIC_QUANTIZE = 50,
  kATTENTION_INPUT = 51,
  kATTENTION_OUTPUT = 52,
  kROTARY_EMBEDDING = 53,
  kKVCACHE_UPDATE = 54,
  kMOE = 55,
  kDIST_COLLECTIVE = 56,
};

template <>
struct impl::EnumMaxImpl<LayerType> {
  static constexpr int32_t kVALUE = 57;
};

/// A layer of a network, made by INetworkDefinition's add... methods and owned by the network; do not delete it. What
/// does not fit together (ranks, types, extents) is logged when seen and fails the build. As with the network, one
/// thread at a time.
class ILayer : public INoCopy {
 public:
  /// Which of the layer classes this is.
  virtual LayerType getType() const noexcept = 0;

  /// Name, copied, under 4096 bytes; in all messages, in the profiler and in the inspector. Best kept distinct.
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;

  /// Number of inputs in use, and one of them; null when out of range or optional and not given.
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t index) const noexcept = 0;

  /// Number of outputs, and one of them; null when out of range.
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual ITensor* getOutput(int32_t index) const noexcept = 0;

  /// Replaces input `index`; an index past the last adds an optional input, where the layer has one. What each index
  /// means, the class of the layer says. Shapes and types that followed from the old tensor are inferred again.
  virtual void setInput(int32_t index, ITensor& tensor) noexcept = 0;

  WOOTZ_UNTIL_10
  /// Type to compute in, where the network is not strongly typed: a wish that
  /// BuilderFlag::kPREFER_PRECISION_CONSTRAINTS or kOBEY_PRECISION_CONSTRAINTS gives weight to. Unset, the tuner
  /// chooses. This version keeps the value, and a build names the layer in a warning. Refused where the network is
  /// strongly typed.
  TRT_DEPRECATED virtual void setPrecision(DataType dataType) noexcept = 0;
  virtual DataType getPrecision() const noexcept = 0;
  TRT_DEPRECATED virtual bool precisionIsSet() const noexcept = 0;
  TRT_DEPRECATED virtual void resetPrecision() noexcept = 0;

  /// Type of output `index`, where the network is not strongly typed; weighed as for setPrecision. Unset, it is
  /// inferred.
  TRT_DEPRECATED virtual void setOutputType(int32_t index, DataType dataType) noexcept = 0;

 public:
  virtual DataType getOutputType(int32_t index) const noexcept = 0;

  WOOTZ_UNTIL_10
  TRT_DEPRECATED virtual bool outputTypeIsSet(int32_t index) const noexcept = 0;
  TRT_DEPRECATED virtual void resetOutputType(int32_t index) noexcept = 0;

 public:
  /// Any text, copied, that the inspector shows with the layer; empty by default.
  virtual void setMetadata(const char* metadata) noexcept = 0;
  virtual const char* getMetadata() const noexcept = 0;

  /// How many devices a distributed layer spans; 1 by default. False when the layer cannot.
  virtual bool setNbRanks(int32_t nbRanks) noexcept = 0;
  virtual int32_t getNbRanks() const noexcept = 0;

 protected:
  ~ILayer() noexcept override = default;
};

}  // namespace nvinfer1
