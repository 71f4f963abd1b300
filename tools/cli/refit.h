// New weights for a loaded engine, from a model.
#pragma once

#include <string>

#include "NvInfer.h"
#include "logger.h"

namespace wootz_cli {

// Throws Failure: the engine was not built refittable, the model is another one, or the build made use of the old
// values.
void refit_from_model(nvinfer1::ICudaEngine& engine, const std::string& model, Logger& logger);

}  // namespace wootz_cli
