// IDistCollectiveLayer.
#pragma once

#include "wootz/layer.h"
#include "wootz/level.h"

namespace nvinfer1 {

/// What devices do together with their parts of a tensor.
enum class CollectiveOperation : int32_t {
  /// All get the reduction.
  kALL_REDUCE = 0,
  /// All get all parts, one after the other.
  kALL_GATHER = 1,
  /// All get the root's.
  kBROADCAST = 2,
  /// The root gets the reduction.
  kREDUCE = 3,
  /// Each gets its part of the reduction.
  kREDUCE_SCATTER = 4,
#if NV_TENSORRT_MAJOR >= 11
  /// Each gives every other one a part of its own.
  kALL_TO_ALL = 5,
  /// The root gets all parts.
  kGATHER = 6,
  /// The root gives each its part.
  kSCATTER = 7,
#endif
};

template <>
struct impl::EnumMaxImpl<CollectiveOperation> {
  static constexpr int32_t kVALUE = WOOTZ_BY_LEVEL(5, 8);
};

/// A CollectiveOperation over the devices of the context's communicator.
class IDistCollectiveLayer : public ILayer {
 protected:
  ~IDistCollectiveLayer() noexcept override = default;
};

}  // namespace nvinfer1
