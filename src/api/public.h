// The public headers of the build half, deprecated names included.
#pragma once

#ifndef WOOTZ_NO_DEPRECATION
#define WOOTZ_NO_DEPRECATION
#endif
#include "NvInfer.h"
#include "NvOnnxParser.h"
