// Operations on tensors, as cuDNN's graphs are made of: convolution, product, pointwise, reduction, attention.
#pragma once

#include <limits>

#include "backends/cuda/cudnn/descriptor.h"
#include "backends/cuda/cudnn/graph.h"

namespace wootz::cuda {

using CudnnValue = int;  // a tensor of a CudnnOperations
constexpr CudnnValue kNoValue = -1;

struct CudnnPointwise {
  cudnn::Pointwise mode = cudnn::Pointwise::kAdd;
  double lower_clip = 0, upper_clip = std::numeric_limits<float>::max(), slope = 0;  // of kRelu
  double factor = 1;                                                                 // alpha of kElu, beta of kSwish
  int64_t axis = 0;                                                                  // of kIndex
  cudnn::DataType type = cudnn::DataType::kF32;                                      // that it computes in
};

// One after the other gets the number 1, 2, ... by which plans know tensors.
class CudnnOperations {
 public:
  explicit CudnnOperations(const CudnnLibrary& library) : library_(library) {}

  CudnnValue tensor(const CudnnTensor& t);       // of the step
  CudnnValue number(std::vector<int64_t> dims);  // a single one in f32, read from the host
  CudnnValue between(std::vector<int64_t> dims, std::vector<int64_t> strides, cudnn::DataType type);
  CudnnValue between_like(CudnnValue v, cudnn::DataType type = cudnn::DataType::kF32) {
    return between(dims(v), strides(v), type);
  }

  void convolution(const CudnnGraph& g, CudnnValue x, CudnnValue w, CudnnValue y);
  void product(CudnnValue a, CudnnValue b, CudnnValue c);
  void pointwise(const CudnnPointwise& p, CudnnValue y, CudnnValue x, CudnnValue b = kNoValue, CudnnValue t = kNoValue);
  void reduction(cudnn::Other reduce, CudnnValue x, CudnnValue y);
  void attention(CudnnValue q, CudnnValue k, CudnnValue v, CudnnValue scale, CudnnValue y);

  const std::vector<int64_t>& dims(CudnnValue v) const { return shapes_[static_cast<size_t>(v)].dims; }
  const std::vector<int64_t>& strides(CudnnValue v) const { return shapes_[static_cast<size_t>(v)].strides; }

  // Ends it: for a device described by JSON, or with null the one at hand.
  Status finish(const std::string* device);
  const CudnnDescriptor& graph() const { return graph_; }
  const CudnnDescriptor& device() const { return device_; }  // empty: the one at hand
  const CudnnLibrary& library() const { return library_; }

 private:
  struct Shape {
    std::vector<int64_t> dims, strides;
  };
  CudnnValue add(Shape shape, cudnn::DataType type, cudnn::Attribute special, bool is_special);
  // Finishes a part of operations, or an operation; an error is kept for finish().
  CudnnDescriptor& part(CudnnDescriptor made, const char* what);
  void operation(CudnnDescriptor made, const char* what);
  const CudnnDescriptor& at(CudnnValue v) const { return tensors_[static_cast<size_t>(v)]; }

  const CudnnLibrary& library_;
  Status status_;
  std::vector<CudnnDescriptor> tensors_, parts_, operations_;
  std::vector<Shape> shapes_;
  CudnnDescriptor device_, graph_;
};

}  // namespace wootz::cuda
