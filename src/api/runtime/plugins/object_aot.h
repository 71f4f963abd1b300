// Plugins that were compiled while building: a kernel and its launch, or a function for the host, which the plan keeps
// and no creator makes.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/runtime/plugins/launch_expressions.h"
#include "backend/plugin.h"
#include "wootz/plugin_quick_launch.h"

namespace wootz::api {

struct AotKernel {
  struct Extra {
    int32_t expression;
    nvinfer1::PluginArgDataType type;
  };
  std::string name, code;
  bool host = false;  // the code is a shared library, in which the function is; it has no grid
  LaunchExpressions expressions;
  std::array<int32_t, 3> grid{-1, -1, -1}, block{-1, -1, -1};  // -1: one
  int32_t shared = -1;                                         // -1: none
  std::vector<Extra> extras;                                   // arguments between inputs and outputs
};

// As a step's data, and back. is_aot(): whether data are of such a plugin.
std::string write_aot(const AotKernel& kernel);
bool is_aot(std::string_view data);
Result<AotKernel> read_aot(std::string_view data);

// Errors: the host cannot open what is for it.
Result<std::shared_ptr<PluginObject>> make_object_aot(AotKernel kernel);

}  // namespace wootz::api
