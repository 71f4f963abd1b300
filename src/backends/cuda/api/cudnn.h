// The part of cuDNN's C interface that is used here, its backend interface (descriptors with attributes): see
// api/driver.h. The names are ours; cudnn_values.def says what each is called there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/api/driver.h"

struct cudnnContext;

namespace wootz::cuda::cudnn {

using Handle = ::cudnnContext*;

#define ENTRY(name, there, value) name = value,
enum class Kind : int {
#define KIND ENTRY
#include "backends/cuda/api/cudnn_values.def"
};
enum class Attribute : int {
#define ATTRIBUTE ENTRY
#include "backends/cuda/api/cudnn_values.def"
};
enum class ValueType : int {
#define VALUE_TYPE ENTRY
#include "backends/cuda/api/cudnn_values.def"
};
enum class DataType : int {
#define DATA_TYPE ENTRY
#include "backends/cuda/api/cudnn_values.def"
};
enum class Pointwise : int {
#define POINTWISE ENTRY
#include "backends/cuda/api/cudnn_values.def"
};
enum class Note : int {
#define NOTE ENTRY
#include "backends/cuda/api/cudnn_values.def"
};
enum Other : int {
#define OTHER ENTRY
#include "backends/cuda/api/cudnn_values.def"
};
#undef ENTRY
using Code = Other;  // kSuccess, or an error whose number means nothing here

struct Functions {
  size_t (*cudnnGetVersion)() = nullptr;
  const char* (*cudnnGetErrorString)(Code) = nullptr;
  void (*cudnnGetLastErrorString)(char*, size_t) = nullptr;
#define FN(name, ...) Code (*name)(__VA_ARGS__) = nullptr;
#include "backends/cuda/api/cudnn_functions.def"
#undef FN
};

}  // namespace wootz::cuda::cudnn
