// Fields of TensorRT's own plugins, from and to the public interface's.
#pragma once

#include "api/runtime/plugins/describe.h"
#include "stock/plugin.h"

namespace wootz::api {

// Element type of a field that holds numbers; kInvalid: it holds something else.
DType number_type(nvinfer1::PluginFieldType type);

// Complete fields of a plugin. Errors: one is missing, or not what it should be. Fields that the plugin does not have
// are named in `unknown`.
Result<stock::Fields> stock_fields(const stock::Plugin& plugin, const nvinfer1::PluginFieldCollection* given,
                                   std::string* unknown);
OwnedFields api_fields(const stock::Fields& fields);
// As IPluginCreator::getFieldNames lists them: without data.
std::vector<nvinfer1::PluginField> listed_fields(const stock::Plugin& plugin);

}  // namespace wootz::api
