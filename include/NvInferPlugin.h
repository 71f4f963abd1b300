// Entry point of the plugin library.
#ifndef NV_INFER_PLUGIN_H
#define NV_INFER_PLUGIN_H

#include "NvInfer.h"
#include "NvInferPluginUtils.h"

/// Registers the library's own plugins with the process-wide registry, under `libNamespace`. `logger` is an
/// nvinfer1::ILogger and may be null. True on success; calling it again does no harm.
extern "C" TENSORRTAPI bool initLibNvInferPlugins(void* logger, const char* libNamespace);

#endif  // NV_INFER_PLUGIN_H
