// IDistCollectiveLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

enum class CollectiveOperation : int32_t {
  kALL_REDUCE = 0,
  kALL_GATHER = 1,
  kBROADCAST = 2,
  kREDUCE = 3,
  kREDUCE_SCATTER = 4,
};

template <>
struct impl::EnumMaxImpl<CollectiveOperation> {
  static constexpr int32_t kVALUE = 5;
};

class IDistCollectiveLayer : public ILayer {};

}  // namespace nvinfer1
