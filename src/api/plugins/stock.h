// Plugins of TensorRT's own as objects: creators that a registry holds, and what these make. In a network such an
// object is not run: the layer that holds it is written as nodes (stock/plugin.h).
#pragma once

#include "api/public.h"
#include "ir/custom_op.h"
#include "stock/plugin.h"

namespace wootz::api {

struct StockObject {
  const stock::Plugin* plugin = nullptr;
  stock::Fields fields;
};

// What the plugin of a layer is, when it is one of these; else null. Valid while the layer's plugin is.
const StockObject* stock_object(const CustomOp* op);
bool is_stock(const nvinfer1::IPluginCreatorInterface* creator);

}  // namespace wootz::api
