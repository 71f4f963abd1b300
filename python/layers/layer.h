// What the files of layer kinds share.
#pragma once

#include <string>
#include <type_traits>

#include "../casters.h"
#include "../weights.h"

namespace wootz_python {

// A setter of a property. Errors (ValueError): the library refuses the value, where it says so.
template <class Object, class Result, class Value>
auto setter(Result (Object::*set)(Value) noexcept, const char* what) {
  return [set, what](Object& object, std::remove_cv_t<std::remove_reference_t<Value>> value) {
    if constexpr (std::is_same_v<Result, bool>) {
      if (!(object.*set)(value))
        throw nb::value_error((std::string(what) + ": the value was refused: see the log").c_str());
    } else {
      (object.*set)(value);
    }
  };
}

// Weights of a layer as a property. The layer's network, which network_of() gives, keeps arrays that are set.
template <class Object, class Class>
void bind_weights_property(Class& bound, const char* name, nvinfer1::Weights (Object::*get)() const noexcept,
                           void (Object::*set)(nvinfer1::Weights) noexcept) {
  bound.def_prop_rw(
      name, [get](nb::handle self) { return from_weights((nb::cast<Object&>(self).*get)(), self); },
      [set](nb::handle self, nb::handle array) {
        const nvinfer1::Weights weights = to_weights(array);
        keep_array(network_of(self), array);
        (nb::cast<Object&>(self).*set)(weights);
      },
      nb::for_setter(nb::arg("weights").none()));
}

void bind_window_layers(nb::module_& m);
void bind_pointwise_layers(nb::module_& m);
void bind_quantization_layers(nb::module_& m);
void bind_reduction_layers(nb::module_& m);
void bind_moving_layers(nb::module_& m);
void bind_indexing_layers(nb::module_& m);
void bind_source_layers(nb::module_& m);
void bind_attention_layers(nb::module_& m);
void bind_expert_layers(nb::module_& m);
void bind_control_layers(nb::module_& m);

}  // namespace wootz_python
