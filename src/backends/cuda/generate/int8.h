// Products and convolutions of 8-bit operands on tensor cores: what their kernels share.
#pragma once

#include "backends/cuda/generate/int8_tiles.h"
#include "backends/cuda/generate/source.h"

namespace wootz::cuda {

// y[row, n] = epilogue(scale[n] * (sum over k of x[row, k] * w[n, k] - correction[n]) + bias), where k walks the taps
// of a window and, within a tap, the channels. A product is a convolution by a single pixel.
constexpr int64_t kPitchStep = 64;  // of packed columns, in bytes

struct Int8Gemm {
  int64_t rows = 0, columns = 0, batch = 1;
  int64_t taps_h = 1, taps_w = 1, channels = 0;
  bool window = false;  // rows are pixels of an image, not what lies one behind the other
  int64_t in_h = 1, in_w = 1, out_h = 1, out_w = 1;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, top = 0, left = 0;
  bool padded = false;
  int64_t zero = 0;            // of x
  bool packed = true;          // w is a constant, with its tables behind it
  double scale = 1;            // of all columns, when it is not packed
  std::vector<Axis> matrices;  // of the batch: strides of x and w
  int64_t depth() const { return taps_h * taps_w * channels; }
  // Bytes of a column of w in memory.
  int64_t pitch() const { return packed ? (depth() + kPitchStep - 1) / kPitchStep * kPitchStep : depth(); }
  bool by_sixteen() const { return channels % 16 == 0; }  // of the bytes of a tap
};

// At concrete extents. Errors: what these kernels do not compute, and why.
Result<Int8Gemm> describe_int8(const Problem& problem, const BindArgs& args);

Status write_int8(const Problem& problem, const BindArgs& args, const Int8Gemm& product, const Int8Tile& tile,
                  std::vector<Launch>* launches);

// The epilogue with its floating constants as further operands, so that layers that differ in nothing else are one
// kernel; `constants` gets their values.
PointwiseExpr with_constants_as_operands(const PointwiseExpr& epilogue, std::vector<float>* constants);

}  // namespace wootz::cuda
