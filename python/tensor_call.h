// What torch's tensors are looked at with.
#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace wootz_python {

void bind_same_tensors(nb::module_& m);

}  // namespace wootz_python
