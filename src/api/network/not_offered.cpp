// Layers that are not offered: each says so.
#include "api/network/add.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

IDistCollectiveLayer* NetworkImpl::addDistCollective(ITensor&, CollectiveOperation, ReduceOperation, int64_t, int64_t*,
                                                     int64_t) noexcept {
  return not_offered<IDistCollectiveLayer>(*this, "INetworkDefinition::addDistCollective",
                                           "layers that span devices are not offered");
}

}  // namespace wootz::api
