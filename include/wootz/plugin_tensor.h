// PluginTensorDesc, DynamicPluginTensorDesc, DimsExprs: how a plugin sees its tensors.
#pragma once

#include <cstdint>

#include "wootz/dim_expr.h"
#include "wootz/dims.h"
#include "wootz/dtype.h"
#include "wootz/tensor_format.h"

namespace nvinfer1 {

/// Older name of TensorFormat.
using PluginFormat = TensorFormat;

/// A plugin's input or output.
struct PluginTensorDesc {
  /// Logical extents: vectorised formats do not change them.
  Dims dims;
  DataType type;
  TensorFormat format;
  /// Scale of an int8 tensor with a dynamic range; no meaning otherwise.
  float scale;
};

/// The same while building, with the range its extents may take. Open extents of desc.dims are -1.
struct DynamicPluginTensorDesc {
  PluginTensorDesc desc;
  Dims min;
  Dims max;
  /// What the engine is tuned for.
  Dims opt;
};

/// A shape whose extents are expressions over the extents of the inputs.
class DimsExprs {
 public:
  int32_t nbDims;
  const IDimensionExpr* d[Dims::MAX_DIMS];
};

}  // namespace nvinfer1
