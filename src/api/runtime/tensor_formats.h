// TensorFormat: what the layouts of a network's inputs and outputs are in the API's words.
#pragma once

#include <span>

#include "api/runtime/public.h"
#include "backend/problem.h"
#include "runtime/report/engine_info.h"

namespace wootz::api {

struct TensorFormatInfo {
  nvinfer1::TensorFormat format;
  const char* name;
  const char* order;  // for descriptions, before the type
  Layout layout;      // kOpaque: none here
  int rank;           // of tensors that it is for; 0: any
  int together;       // channels that make a vector, the last filled up with zeros; 1: they do not
  Layout even;        // the same memory where channels are always whole vectors, which layers may take
};

// What the format is in memory, for so many channels always; -1: the number varies.
Layout layout_of(const TensorFormatInfo& format, int64_t channels);
Layout layout_of(const TensorFormatInfo& format, const Program& program, const PlanTensor& tensor);

// By the enumerators' numbers.
std::span<const TensorFormatInfo> tensor_formats();
const TensorFormatInfo& format_info(nvinfer1::TensorFormat format);

// Of an input or output of an engine. What its plan says of the format counts where it is the tensor's own layout.
const TensorFormatInfo& format_of(const EngineInfo& info, const IoInfo& io);
// Error: an input or output lies in a way that no format tells, so that who allocates its memory would be misled.
Status check_formats(const EngineInfo& info);
// "Row-major linear FP32 format"
const char* describe_format(const TensorFormatInfo& format, DType type);

// Strides in vectors, as the API counts them.
nvinfer1::Dims format_strides(const TensorFormatInfo& format, const nvinfer1::Dims& dims);

}  // namespace wootz::api
