#include "backends/cuda/cudnn/operations.h"

namespace wootz::cuda {

using cudnn::Attribute;
using cudnn::DataType;
using cudnn::Kind;
using cudnn::ValueType;

namespace {

constexpr int64_t kAlignment = 16;  // of addresses, which engines count on

DataType data_type(DType type) {
  return type == DType::kF16    ? DataType::kF16
         : type == DType::kBF16 ? DataType::kBF16
         : type == DType::kI8   ? DataType::kI8
                                : DataType::kF32;
}

}  // namespace

CudnnValue CudnnOperations::add(Shape shape, DataType type, Attribute special, bool is_special) {
  CudnnDescriptor t(library_, Kind::kTensor);
  t.set(Attribute::kTensorType, type)
      .set(Attribute::kTensorDims, shape.dims)
      .set(Attribute::kTensorStrides, shape.strides);
  t.set(Attribute::kTensorId, static_cast<int64_t>(tensors_.size()) + 1).set(Attribute::kTensorAlignment, kAlignment);
  if (is_special) t.set(special, true);
  if (const Status status = t.finish("a tensor"); status_.ok()) status_ = status;
  tensors_.push_back(std::move(t));
  shapes_.push_back(std::move(shape));
  return static_cast<CudnnValue>(tensors_.size()) - 1;
}

CudnnValue CudnnOperations::tensor(const CudnnTensor& t) {
  return add({t.dims, t.strides}, data_type(t.dtype), Attribute::kTensorVirtual, false);
}

CudnnValue CudnnOperations::number(std::vector<int64_t> dims) {
  std::vector<int64_t> strides = dims;
  return add({std::move(dims), std::move(strides)}, DataType::kF32, Attribute::kTensorByValue, true);
}

CudnnValue CudnnOperations::between(std::vector<int64_t> dims, std::vector<int64_t> strides, DataType type) {
  return add({std::move(dims), std::move(strides)}, type, Attribute::kTensorVirtual, true);
}

CudnnDescriptor& CudnnOperations::part(CudnnDescriptor made, const char* what) {
  if (const Status status = made.finish(what); status_.ok()) status_ = status;
  return parts_.emplace_back(std::move(made));
}

void CudnnOperations::operation(CudnnDescriptor made, const char* what) {
  if (const Status status = made.finish(what); status_.ok()) status_ = status;
  operations_.push_back(std::move(made));
}

void CudnnOperations::convolution(const CudnnGraph& g, CudnnValue x, CudnnValue w, CudnnValue y) {
  const int mode = cudnn::kCrossCorrelation;
  CudnnDescriptor how(library_, Kind::kConvolution);
  how.set(Attribute::kConvolutionType, g.int8() ? DataType::kI32 : DataType::kF32)
      .set(Attribute::kConvolutionMode, ValueType::kConvolutionMode, 1, &mode)
      .set(Attribute::kSpatialAxes, static_cast<int64_t>(g.pre_pads.size()))
      .set(Attribute::kPrePaddings, g.pre_pads)
      .set(Attribute::kPostPaddings, g.post_pads)
      .set(Attribute::kDilations, g.dilations)
      .set(Attribute::kFilterStrides, g.strides);
  CudnnDescriptor made(library_, Kind::kConvolutionForward);
  made.set(Attribute::kForwardX, at(x))
      .set(Attribute::kForwardW, at(w))
      .set(Attribute::kForwardY, at(y))
      .set(Attribute::kForwardConvolution, part(std::move(how), "a convolution's window"))
      .set(Attribute::kForwardAlpha, 1.0F)
      .set(Attribute::kForwardBeta, 0.0F);
  operation(std::move(made), "a convolution");
}

void CudnnOperations::product(CudnnValue a, CudnnValue b, CudnnValue c) {
  CudnnDescriptor how(library_, Kind::kMatmul);
  how.set(Attribute::kMatmulType, DataType::kF32);
  CudnnDescriptor made(library_, Kind::kMatmulOperation);
  made.set(Attribute::kMatmulA, at(a))
      .set(Attribute::kMatmulB, at(b))
      .set(Attribute::kMatmulC, at(c))
      .set(Attribute::kOperationMatmul, part(std::move(how), "a product's type"));
  operation(std::move(made), "a product");
}

void CudnnOperations::pointwise(const CudnnPointwise& p, CudnnValue y, CudnnValue x, CudnnValue b, CudnnValue t) {
  CudnnDescriptor how(library_, Kind::kPointwise);
  how.set(Attribute::kPointwiseMode, p.mode).set(Attribute::kPointwiseType, p.type);
  if (p.mode == cudnn::Pointwise::kRelu) {
    const int propagate = cudnn::kPropagate;
    how.set(Attribute::kPointwiseNan, ValueType::kNanPropagation, 1, &propagate)
        .set(Attribute::kReluLowerClip, p.lower_clip)
        .set(Attribute::kReluUpperClip, p.upper_clip)
        .set(Attribute::kReluSlope, p.slope);
  } else if (p.mode == cudnn::Pointwise::kElu) {
    how.set(Attribute::kEluAlpha, p.factor);
  } else if (p.mode == cudnn::Pointwise::kSwish) {
    how.set(Attribute::kSwishBeta, p.factor);
  } else if (p.mode == cudnn::Pointwise::kIndex) {
    how.set(Attribute::kPointwiseAxis, p.axis);
  }
  CudnnDescriptor made(library_, Kind::kPointwiseOperation);
  made.set(Attribute::kOperationPointwise, part(std::move(how), "a pointwise operation"))
      .set(Attribute::kPointwiseX, at(x))
      .set(Attribute::kPointwiseY, at(y));
  if (b != kNoValue) made.set(Attribute::kPointwiseB, at(b));
  if (t != kNoValue) made.set(Attribute::kPointwiseT, at(t));
  made.set(Attribute::kPointwiseAlpha1, 1.0F).set(Attribute::kPointwiseAlpha2, 1.0F);
  operation(std::move(made), "a pointwise operation");
}

void CudnnOperations::reduction(cudnn::Other reduce, CudnnValue x, CudnnValue y) {
  const int value = reduce;
  CudnnDescriptor how(library_, Kind::kReduction);
  how.set(Attribute::kReductionType, DataType::kF32)
      .set(Attribute::kReductionOperator, ValueType::kReductionOperator, 1, &value);
  CudnnDescriptor made(library_, Kind::kReductionOperation);
  made.set(Attribute::kOperationReduction, part(std::move(how), "a reduction"))
      .set(Attribute::kReductionX, at(x))
      .set(Attribute::kReductionY, at(y));
  operation(std::move(made), "a reduction");
}

void CudnnOperations::attention(CudnnValue q, CudnnValue k, CudnnValue v, CudnnValue scale, CudnnValue y) {
  CudnnDescriptor made(library_, Kind::kAttention);
  made.set(Attribute::kAttentionQ, at(q))
      .set(Attribute::kAttentionK, at(k))
      .set(Attribute::kAttentionV, at(v))
      .set(Attribute::kAttentionY, at(y))
      .set(Attribute::kAttentionScale, at(scale));
  operation(std::move(made), "attention");
}

Status CudnnOperations::finish(const std::string* device) {
  WOOTZ_RETURN_IF_ERROR(status_);
  graph_ = CudnnDescriptor(library_, Kind::kOperationGraph);
  if (device != nullptr) {
    device_ = CudnnDescriptor(library_, Kind::kDeviceProperties);
    device_.set(Attribute::kDeviceJson, ValueType::kChar, static_cast<int64_t>(device->size()), device->data());
    WOOTZ_RETURN_IF_ERROR(device_.finish("the device's properties"));
  } else {
    graph_.set(Attribute::kGraphHandle, library_.handle);
  }
  const std::vector<void*> all = raw_of(operations_);
  graph_.set(Attribute::kGraphOperations, ValueType::kDescriptor, static_cast<int64_t>(all.size()), all.data());
  return graph_.finish("the graph");
}

}  // namespace wootz::cuda
