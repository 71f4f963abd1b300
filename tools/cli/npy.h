// NumPy's .npy files, version 1 and 2: what `wootz run` reads and writes.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "NvInfer.h"

namespace wootz_cli {

struct Array {
  nvinfer1::DataType dtype = nvinfer1::DataType::kFLOAT;
  std::vector<int64_t> shape;
  std::vector<char> bytes;
};

// Errors (missing file, not .npy, Fortran order, a type TensorRT's DataType lacks, too few bytes) are thrown as
// std::runtime_error naming the file.
Array read_npy(const std::string& path);
// From where the stream is up to an offset of it. `name`: of what it is, for errors.
Array read_npy(std::istream& in, int64_t end, const std::string& name);
void write_npy(const std::string& path, const Array& array);

size_t element_bits(nvinfer1::DataType dtype);
size_t bytes_of(const Array& array);  // what its shape and type say
const char* dtype_name(nvinfer1::DataType dtype);
bool has_npy_form(nvinfer1::DataType dtype);                // false for elements of less than a byte
std::string shape_text(const std::vector<int64_t>& shape);  // "1x3x224x224"

}  // namespace wootz_cli
