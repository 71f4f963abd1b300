// Dims of a fixed length.
#pragma once

#include "NvInferRuntimeBase.h"
#include "wootz/legacy_dims.h"
