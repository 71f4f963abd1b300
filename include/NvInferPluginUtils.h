// Parameters of detection plugins, as plain data.
#ifndef NV_INFER_PLUGIN_UTILS_H
#define NV_INFER_PLUGIN_UTILS_H

#include "wootz/plugin_params.h"

#endif  // NV_INFER_PLUGIN_UTILS_H
