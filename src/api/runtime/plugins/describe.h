// Tensors and fields of plugins as the public interfaces have them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/runtime/public.h"
#include "backend/plugin.h"

namespace wootz::api {

// What a C string says; empty for none.
std::string text_of(const nvinfer1::AsciiChar* s);

// The formats that plugins are offered, by the layouts that they are here, for a rank and an element type: those that
// TensorRT has for both, in the order in which they are asked for.
struct FormatOfLayout {
  nvinfer1::TensorFormat format;
  Layout layout;
};
std::vector<FormatOfLayout> formats_for(int rank, DType type);
nvinfer1::TensorFormat format_of(Layout layout, int rank);
const char* format_name(nvinfer1::TensorFormat format);

nvinfer1::PluginTensorDesc to_desc(const PluginTensor& tensor);
nvinfer1::DynamicPluginTensorDesc to_dynamic_desc(const PluginTensor& tensor);

// One array for each of both lists, as callbacks take them. An absent operand is one without dimensions, as FP32.
struct PluginDescs {
  explicit PluginDescs(const PluginTensors& tensors);
  int32_t num_inputs() const { return static_cast<int32_t>(inputs.size()); }
  int32_t num_outputs() const { return static_cast<int32_t>(outputs.size()); }
  std::vector<nvinfer1::PluginTensorDesc> inputs, outputs;
};
struct DynamicPluginDescs {
  explicit DynamicPluginDescs(const PluginTensors& tensors);
  int32_t num_inputs() const { return static_cast<int32_t>(inputs.size()); }
  int32_t num_outputs() const { return static_cast<int32_t>(outputs.size()); }
  std::vector<nvinfer1::DynamicPluginTensorDesc> inputs, outputs;
};

// "IPluginV3OneBuild::configurePlugin answered 3". Ok for 0.
Status answer(const char* callback, int32_t code);

// Bytes that a field of this type and length takes; 0: there is no such type.
size_t field_bytes(nvinfer1::PluginFieldType type, int32_t length);
// Fields as bytes of their own, and back.
Result<std::string> write_fields(const nvinfer1::PluginFieldCollection& fields);

class OwnedFields {
 public:
  // Adds a field, whose data are copied.
  void add(std::string name, nvinfer1::PluginFieldType type, int32_t length, const void* data, size_t bytes);
  // What write_fields() wrote, which may come from anywhere.
  static Result<OwnedFields> read(std::string_view bytes);
  // Valid until this changes.
  const nvinfer1::PluginFieldCollection& collection();

 private:
  struct Entry {
    std::string name;
    nvinfer1::PluginFieldType type;
    int32_t length;
    std::vector<uint64_t> data;  // for its alignment
  };
  std::vector<Entry> entries_;
  std::vector<nvinfer1::PluginField> fields_;
  nvinfer1::PluginFieldCollection collection_{0, nullptr};
};

}  // namespace wootz::api
