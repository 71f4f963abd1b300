// SubGraphCollection_t: what IParser::supportsModel answers with. At global scope, where clients expect it.
#pragma once

#include "wootz/level.h"

#if NV_TENSORRT_MAJOR < 11
#include <cstddef>
#include <utility>
#include <vector>

/// Indices of ONNX nodes in order, and whether they can be run together.
using SubGraph_t = std::pair<std::vector<size_t>, bool>;
using SubGraphCollection_t = std::vector<SubGraph_t>;
#endif
