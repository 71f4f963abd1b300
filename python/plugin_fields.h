// Fields of plugins, with data of their own.
#pragma once

#include <string>
#include <vector>

#include "plugin_call.h"

namespace wootz_python {

struct Field {
  std::string name;
  nvinfer1::PluginFieldType type = nvinfer1::PluginFieldType::kUNKNOWN;
  int32_t length = 0;
  std::vector<uint64_t> data;  // for its alignment
};

// A PluginFieldCollection of Python.
nb::object to_collection(const nvinfer1::PluginFieldCollection* given);

// Any sequence of fields as the library takes them, whose bytes are copied.
class Fields {
 public:
  Fields() = default;
  // Errors: it is no sequence of fields.
  explicit Fields(nb::handle given);
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  const nvinfer1::PluginFieldCollection* collection();
  // Takes over what is in another sequence.
  void assign(nb::handle given);

 private:
  std::vector<Field> fields_;
  std::vector<nvinfer1::PluginField> all_;
  nvinfer1::PluginFieldCollection collection_{};
};

void bind_plugin_fields(nb::module_& m);

}  // namespace wootz_python
