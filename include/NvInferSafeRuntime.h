// The safety runtime is not offered; this header lets programs that include it compile.
#pragma once

#include "NvInferRuntimeBase.h"
#include "NvInferRuntimeCommon.h"
