// Elements of an array as numbers.
#pragma once

#include <vector>

#include "npy.h"

namespace wootz_cli {

bool is_float(nvinfer1::DataType dtype);
// Row-major. Failure: a type whose elements are not read here.
std::vector<double> elements_of(const Array& array);
// One of them as text: of a float with the digits that tell it from its neighbours. NaN and infinities by these names.
std::string element_text(double value, nvinfer1::DataType dtype);

}  // namespace wootz_cli
