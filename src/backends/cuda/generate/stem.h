// Convolutions of few channels by constant weights, as networks of images begin with, on tensor cores: what those of
// 16 bits (stem.cpp) and of 8 bits (stem_bytes.cpp) share.
#pragma once

#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {

// What goes by the parameters and the weights alone, as these are packed once for all extents.
struct Stem {
  static constexpr int64_t kWarps = 4, kWide = 16;  // of a block; results of a row that a warp computes
  int64_t columns = 0, channels = 0, taps_h = 1, taps_w = 1;
  int64_t stride_h = 1, stride_w = 1, top = 0, left = 0;
  int64_t place = 2;  // bytes of a place in a sum: one channel of 16 bits, or the four of a pixel in 8 bits
  int64_t shift = 0;  // places of a row of the window before its first: so that it begins where two pixels do
  int64_t rows() const { return place == 4 ? taps_h : channels * taps_h; }  // of the window, in a sum
  int64_t slots() const { return taps_w + shift <= 4 ? 4 : 8; }             // places of each
  int64_t steps() const { return (rows() * slots() * place + 31) / 32; }
  int64_t at_once() const { return columns > 32 ? 64 : 32; }  // columns of a block
  int64_t column_tiles() const { return (columns + at_once() - 1) / at_once(); }
  int64_t bytes() const { return steps() * at_once() * 32; }         // of a block's weights
  int64_t weight_bytes() const { return bytes() * column_tiles(); }  // of all
};

// Family conv, or family chain of an expression on an image and the convolution that reads it. Its operands are the
// problem's, but that the first is what `made` makes of the problem's first.
struct StemProblem {
  Problem convolution;
  DType read = DType::kInvalid;  // of the problem's first
  PointwiseExpr made;            // none: it is read as it is
};
Result<StemProblem> stem_problem(const Problem& problem);
// <type> `name`(X x): what the convolution reads of an element of the image; of 16-bit floats their bits.
Status write_read(const StemProblem& stem, std::string_view type, std::string_view name, KernelSource* source);

// Errors: other windows, channels or columns than are taken.
Result<Stem> stem_of(const Problem& convolution, const Dims& weights);
// Extents and layouts of the operands.
Status check_stem(const Problem& convolution, const BindArgs& args, const Stem& stem);

// As conv/stem_tiles.cuh has them.
inline constexpr uint32_t kStemForm = 1;  // 0: a thread's words of a step lay side by side
std::vector<std::byte> stem_by_columns(const Stem& stem, const HostTensor& weights);

// How conv/stem_tiles.cuh computes it: by tiles of `parts` rows for each warp. A tile begins `step_high` rows and
// `step_wide` columns after its neighbour, the first before the image; `blocks`: of the launch, for each kind of
// columns.
struct StemWriting {
  int64_t parts = 1, unit = 1, blocks = 1;
  int64_t step_high = 1, step_wide = 1, before_h = 0, before_w = 0;
  int64_t images = 1, tiles_h = 1, tiles_w = 1;
  int64_t tiles() const { return images * tiles_h * tiles_w; }
};
// Tiles side by side; of one unit and one block.
StemWriting stem_writing(const Dims& y, int64_t parts);

// What conv/stem_tiles.cuh asks for, and the operands y, x and w. `args`: of the convolution.
void write_stem(const Problem& convolution, const BindArgs& args, const Stem& stem, const StemWriting& how,
                KernelSource* source);
LaunchSize stem_launch(const Stem& stem, const StemWriting& how, int64_t patch_bytes);

}  // namespace wootz::cuda
