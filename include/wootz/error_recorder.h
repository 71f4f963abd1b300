// IErrorRecorder and the error codes it is given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/versioned_interface.h"

namespace nvinfer1 {

enum class ErrorCode : int32_t {
  kSUCCESS = 0,
  /// None of the others.
  kUNSPECIFIED_ERROR = 1,
  /// A broken promise inside the library: please report it.
  kINTERNAL_ERROR = 2,
  /// An argument was null, out of range, or does not fit the object it was given to.
  kINVALID_ARGUMENT = 3,
  /// The options contradict each other, the network or the device.
  kINVALID_CONFIG = 4,
  /// Host or device memory ran out, or an allocator callback refused.
  kFAILED_ALLOCATION = 5,
  /// A library or device needed to begin could not be set up.
  kFAILED_INITIALIZATION = 6,
  /// Inference failed at run time, on device or in a plugin.
  kFAILED_EXECUTION = 7,
  /// A value computed by the network broke a rule (an assertion, an out-of-range index).
  kFAILED_COMPUTATION = 8,
  /// The call came before something it needs, or after something that ended it.
  kINVALID_STATE = 9,
  /// Valid, but not offered on this device or in this build.
  kUNSUPPORTED_STATE = 10,
};

template <>
struct impl::EnumMaxImpl<ErrorCode> {
  static constexpr int32_t kVALUE = 11;
};

namespace v_1_0 {

/// Collects errors, implemented by the application. The library reports here, and to the logger, whatever goes wrong in
/// the object the recorder was set on and in those created from it. All methods may be called from any thread at once.
class IErrorRecorder : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IErrorRecorder", 1, 0}; }

  using ErrorDesc = const char*;
  using RefCount = int32_t;

  /// Longest description the library passes, without the terminating NUL; longer ones are cut.
  static constexpr size_t kMAX_DESC_LENGTH{127U};

  /// Number of errors held, and one of them by its index, oldest first. An index out of range gives
  /// ErrorCode::kINVALID_ARGUMENT and an empty string. A description lives until clear().
  virtual int32_t getNbErrors() const noexcept = 0;
  virtual ErrorCode getErrorCode(int32_t errorIdx) const noexcept = 0;
  virtual ErrorDesc getErrorDesc(int32_t errorIdx) const noexcept = 0;

  /// True when errors were dropped for lack of room.
  virtual bool hasOverflowed() const noexcept = 0;

  /// Forgets all errors and the overflow mark.
  virtual void clear() noexcept = 0;

  /// Takes one error; `desc` must be copied. True asks the library to treat it as fatal for the current call.
  virtual bool reportError(ErrorCode val, ErrorDesc desc) noexcept = 0;

  /// Counts the library objects that hold this recorder; each returns the new count. The application keeps ownership
  /// and must not free the recorder while the count is above zero.
  virtual RefCount incRefCount() noexcept = 0;
  virtual RefCount decRefCount() noexcept = 0;

  IErrorRecorder() = default;
  ~IErrorRecorder() noexcept override = default;

 protected:
  IErrorRecorder(const IErrorRecorder&) = default;
  IErrorRecorder(IErrorRecorder&&) = default;
  IErrorRecorder& operator=(const IErrorRecorder&) & = default;
  IErrorRecorder& operator=(IErrorRecorder&&) & = default;
};

}  // namespace v_1_0

using IErrorRecorder = v_1_0::IErrorRecorder;

}  // namespace nvinfer1
