// ILogger by name alone: a class of its own until 10, a versioned interface since 11.
#pragma once

#include "wootz/level.h"

namespace nvinfer1 {

#if NV_TENSORRT_MAJOR >= 11
namespace v_1_0 {
class ILogger;
}  // namespace v_1_0
using ILogger = v_1_0::ILogger;
#else
class ILogger;
#endif

}  // namespace nvinfer1
