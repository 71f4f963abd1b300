// Plugin creators and resources that are written in Python, and those of C++ as Python sees them.
#pragma once

#include "plugin_native.h"

namespace wootz_python {

// Python's object of a creator: the one that was registered, or a new one for one of C++; None for null.
nb::object from_creator(nvinfer1::IPluginCreatorInterface* creator);

bool register_creator(nvinfer1::IPluginRegistry& registry, nb::handle creator, const std::string& space);
bool deregister_creator(nvinfer1::IPluginRegistry& registry, nb::handle creator);

nb::object acquire_resource(nvinfer1::IPluginRegistry& registry, const std::string& key, nb::handle resource);

void bind_native_creators(nb::module_& m);

}  // namespace wootz_python
