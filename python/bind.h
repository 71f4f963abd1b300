// The functions that make the module, one a topic.
#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace wootz_python {

void bind_enums(nb::module_& m);
void bind_dims(nb::module_& m);
void bind_weights(nb::module_& m);
void bind_host_memory(nb::module_& m);
void bind_profile(nb::module_& m);
void bind_config(nb::module_& m);
void bind_engine(nb::module_& m);
void bind_inspector(nb::module_& m);
void bind_functions(nb::module_& m);
void bind_callbacks(nb::module_& m);    // before the classes that take them
void attach_callbacks(nb::module_& m);  // when these are there
void bind_tensor(nb::module_& m);
void bind_network(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_calibrators(nb::module_& m);
void bind_builder(nb::module_& m);
void bind_parser(nb::module_& m);
void bind_refitter(nb::module_& m);
void bind_device(nb::module_& m);
void bind_context(nb::module_& m);
void bind_infer(nb::module_& m);
void bind_tensor_call(nb::module_& m);
void bind_same_tensors(nb::module_& m);
void bind_runtime(nb::module_& m);
void bind_plugins(nb::module_& m);
void bind_tools(nb::module_& m);

}  // namespace wootz_python
