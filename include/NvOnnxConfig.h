// IOnnxConfig, of older programs.
#ifndef NV_ONNX_CONFIG_H
#define NV_ONNX_CONFIG_H

#include "NvInfer.h"
#include "wootz/onnx_config.h"

#endif  // NV_ONNX_CONFIG_H
