// Two engines on the same batches, value by value.
#pragma once

#include "api/tools/batches.h"
#include "api/tools/engine_run.h"
#include "report/compared_values.h"

namespace wootz::api {

Result<Comparison> compare_engines(EngineRun& a, EngineRun& b, const std::vector<Batch>& batches, double tolerance);

}  // namespace wootz::api
