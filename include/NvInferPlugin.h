// Entry point of the plugin library.
#pragma once

#include "NvInfer.h"

/// Registers the library's own plugins with the process-wide registry, under `libNamespace`. `logger` is an
/// nvinfer1::ILogger and may be null. True on success; calling it again does no harm.
extern "C" TENSORRTAPI bool initLibNvInferPlugins(void* logger, const char* libNamespace);
