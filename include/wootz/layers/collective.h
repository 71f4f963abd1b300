// IDistCollectiveLayer.
#pragma once

#include "wootz/layer.h"
#include "wootz/level.h"

namespace nvinfer1 {

/// What devices do together with their parts of a tensor. Parts are along the first axis: of N devices that take part,
/// gathering makes its extent N times as large, and scattering an Nth, which it must be a multiple of.
enum class CollectiveOperation : int32_t {
  /// All get the reduction.
  kALL_REDUCE = 0,
  /// All get all parts, one after the other.
  kALL_GATHER = 1,
  /// All get the root's.
  kBROADCAST = 2,
  /// The root gets the reduction, the others zeros.
  kREDUCE = 3,
  /// Each gets its part of the reduction.
  kREDUCE_SCATTER = 4,
#if NV_TENSORRT_MAJOR >= 11
  /// Each gives every one a part of its own, and gets one from each.
  kALL_TO_ALL = 5,
  /// The root gets all parts, the others zeros.
  kGATHER = 6,
  /// The root gives each its part.
  kSCATTER = 7,
#endif
};

template <>
struct impl::EnumMaxImpl<CollectiveOperation> {
  static constexpr int32_t kVALUE = WOOTZ_BY_LEVEL(5, 8);
};

/// A CollectiveOperation over the devices of the context's communicator (IExecutionContext::setCommunicator), on GPUs,
/// through NCCL. setNbRanks says how many ranks the communicator has; once above 1 it stays. By one rank alone it
/// computes nothing, on any backend. Every rank must run such layers in the same order as the others.
class IDistCollectiveLayer : public ILayer {
 protected:
  ~IDistCollectiveLayer() noexcept override = default;
};

}  // namespace nvinfer1
