// Everything: networks, builds and runs.
#ifndef NV_INFER_H
#define NV_INFER_H

#include "NvInferLegacyDims.h"
#include "NvInferRuntime.h"
#include "wootz/algorithm_selector.h"
#include "wootz/builder.h"
#include "wootz/builder_config.h"
#include "wootz/builder_factory.h"
#include "wootz/builder_flags.h"
#include "wootz/calibrator.h"
#include "wootz/layer.h"
#include "wootz/layers.h"
#include "wootz/network.h"
#include "wootz/network_flags.h"
#include "wootz/progress_monitor.h"
#include "wootz/tensor.h"
#include "wootz/timing_cache.h"

#endif  // NV_INFER_H
