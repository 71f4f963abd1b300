// A node of an ONNX model that may be a plugin, for who knows plugins.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/tensor.h"
#include "ir/custom_op.h"

namespace wootz {

struct OnnxAttribute {
  std::string name;
  // Lists of one element are single values too.
  std::variant<std::vector<int64_t>, std::vector<float>, std::vector<std::string>, HostTensor> value;
};

struct PluginRequest {
  std::string node;
  std::string name, version, space;  // the op's type, and attributes plugin_version and plugin_namespace
  std::vector<OnnxAttribute> attributes;

  const OnnxAttribute* find(std::string_view attribute) const {
    for (const OnnxAttribute& a : attributes)
      if (a.name == attribute) return &a;
    return nullptr;
  }
};

// Null: there is no such plugin. Errors: there is, and it does not take the attributes.
using PluginFunction = std::function<Result<std::shared_ptr<const CustomOp>>(const PluginRequest& request)>;

}  // namespace wootz
