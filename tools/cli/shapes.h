// Shapes as the command line and TensorRT have them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "NvInfer.h"

namespace wootz_cli {

using Shapes = std::map<std::string, std::vector<int64_t>>;
// "x:1x3x224x224,y:8": trtexec's form.
Shapes parse_shapes(const std::string& text, const char* option);

int64_t elements_of(const nvinfer1::Dims& dims);
// Failure: not as many values as an input of these extents has elements.
void check_values(const std::string& name, const std::vector<int64_t>& values, const nvinfer1::Dims& dims);

// Failure, which names the input: more dimensions than TensorRT has.
nvinfer1::Dims to_dims(const std::vector<int64_t>& shape, const std::string& name);
std::vector<int64_t> to_shape(const nvinfer1::Dims& dims);
// Whether an extent is not known yet.
bool dynamic(const nvinfer1::Dims& dims);

}  // namespace wootz_cli
