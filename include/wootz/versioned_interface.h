// IVersionedInterface: root of the interfaces that applications implement and the library calls.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

using InterfaceKind = const char*;

/// Which interface an object implements. The library compares `kind` as a string before it downcasts.
class InterfaceInfo {
 public:
  InterfaceKind kind;
  int32_t major;
  int32_t minor;
};

/// Language an interface object was written in.
enum class APILanguage : int32_t {
  kCPP = 0,
  kPYTHON = 1,
};

template <>
struct impl::EnumMaxImpl<APILanguage> {
  static constexpr int32_t kVALUE = 2;
};

/// Base of versioned callbacks and plugins. An application derives from an interface below it, never from this.
class IVersionedInterface {
 public:
  /// Language of the implementation; bindings override it, C++ code leaves it.
  virtual APILanguage getAPILanguage() const noexcept { return APILanguage::kCPP; }

  /// Kind and version; each interface answers for its implementations, which leave it alone.
  virtual InterfaceInfo getInterfaceInfo() const noexcept = 0;

  virtual ~IVersionedInterface() noexcept = default;

 protected:
  IVersionedInterface() = default;
  IVersionedInterface(const IVersionedInterface&) = default;
  IVersionedInterface(IVersionedInterface&&) = default;
  IVersionedInterface& operator=(const IVersionedInterface&) & = default;
  IVersionedInterface& operator=(IVersionedInterface&&) & = default;
};

}  // namespace nvinfer1
