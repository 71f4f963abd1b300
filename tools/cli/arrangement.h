// How an input or output of an engine lies in memory, for programs whose own data is row-major.
#pragma once

#include <string>
#include <vector>

#include "NvInfer.h"

namespace wootz_cli {

class Arrangement {
 public:
  // Of the shape that the tensor has in the context.
  Arrangement(const nvinfer1::ICudaEngine& engine, const nvinfer1::IExecutionContext& context, const std::string& name);
  bool row_major() const { return row_major_; }
  // The tensor's memory with these row-major elements, what fills groups of channels up being zeros.
  std::vector<char> pack(const std::vector<char>& rows) const;
  // The elements in row-major order. Failure: `memory` is smaller than the tensor.
  std::vector<char> unpack(const std::vector<char>& memory) const;

 private:
  // Calls move(element, place) for every element, both in bytes.
  template <typename Move>
  void for_each(Move move) const;
  int64_t elements() const;
  int64_t places() const;  // elements in memory

  std::string name_;
  std::vector<int64_t> shape_, strides_;  // strides in vectors
  int64_t together_ = 1;                  // elements of a vector, which lie along the axis
  size_t axis_ = 0;
  size_t size_ = 1;  // of an element
  bool row_major_ = true;
};

}  // namespace wootz_cli
