// Layers that are not offered: each says so.
#include "api/network/add.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

IDynamicQuantizeLayer* NetworkImpl::addDynamicQuantizeV2(ITensor&, const ApiDims&, DataType, DataType) noexcept {
  return not_offered<IDynamicQuantizeLayer>(*this, "INetworkDefinition::addDynamicQuantizeV2",
                                            "dynamic quantization layers are not offered; quantize with known scales");
}
IDynamicQuantizeLayer* NetworkImpl::addDynamicQuantize(ITensor&, int32_t, int32_t, DataType, DataType) noexcept {
  return not_offered<IDynamicQuantizeLayer>(*this, "INetworkDefinition::addDynamicQuantize",
                                            "dynamic quantization layers are not offered; quantize with known scales");
}
IMoELayer* NetworkImpl::addMoE(ITensor&, ITensor&, ITensor&) noexcept {
  return not_offered<IMoELayer>(*this, "INetworkDefinition::addMoE", "mixture-of-experts layers are not offered");
}
IDistCollectiveLayer* NetworkImpl::addDistCollective(ITensor&, CollectiveOperation, ReduceOperation, int64_t, int64_t*,
                                                     int64_t) noexcept {
  return not_offered<IDistCollectiveLayer>(*this, "INetworkDefinition::addDistCollective",
                                           "layers that span devices are not offered");
}

}  // namespace wootz::api
