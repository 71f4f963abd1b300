// Weights as Python has them.
#pragma once

#include "casters.h"

namespace wootz_python {

struct PyWeights {
  nvinfer1::Weights weights;
  nb::object owner;  // of the memory; null: the caller keeps it
};

// What a layer has: a numpy array of it in its place where numpy has the type, otherwise Weights. `owner` stays alive.
nb::object from_weights(const nvinfer1::Weights& weights, nb::handle owner);

}  // namespace wootz_python
