// IDistCollectiveLayer.
#pragma once

#include "wootz/layer.h"

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
};

template <>
struct impl::EnumMaxImpl<CollectiveOperation> {
  static constexpr int32_t kVALUE = 5;
};

/// A CollectiveOperation over the devices of the context's communicator.
class IDistCollectiveLayer : public ILayer {};

}  // namespace nvinfer1
