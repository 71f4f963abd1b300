// Plugins that TensorRT ships under names of their own. Here each is a table entry: its fields, and a function that
// writes it as nodes of our ops, so that it is optimized, refitted and recorded like any layer.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "stock/layer.h"

namespace wootz::stock {

// The interface of the objects that programs are handed.
enum class Interface : uint8_t { kV2, kV3 };

struct Plugin {
  const char* name;
  const char* version;
  Interface interface;
  std::span<const Field> fields;
  int min_inputs, max_inputs;
  int outputs;  // 0: as many as `count` says
  Status (*expand)(Layer& layer);
  const char* what;  // what it computes, in a line for documentation
  int (*count)(const Fields& fields) = nullptr;
};

// Sorted by name and version.
const std::vector<const Plugin*>& plugins();
// Null: there is none.
const Plugin* find_plugin(std::string_view name, std::string_view version);
// "1, 2"; empty when no plugin has this name.
std::string versions_of(std::string_view name);

int num_outputs(const Plugin& plugin, const Fields& fields);
// Writes the plugin's nodes by `builder`, for complete fields: gives its outputs. Null inputs are absent ones.
Result<std::vector<Value*>> expand(const Plugin& plugin, GraphBuilder& builder, std::vector<Value*> inputs,
                                   const Fields& fields);

}  // namespace wootz::stock
