// Products and convolutions on tensor cores by gemm/tile.cuh: what their kernels share.
#pragma once

#include <optional>

#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/source.h"
#include "backends/cuda/generate/tiles.h"

namespace wootz::cuda {

// y[row, n] = epilogue(scale[n] * (sum over k of x[row, k] * w[n, k] - correction[n]) + bias), where k walks the taps
// of a window and, within a tap, the channels. A product is a convolution by a single pixel. Floats have no correction,
// and those of 16 bits one scale.
struct TileProduct {
  // A normalization of the rows of x in front of the product, whose scale is in w.
  struct Norm {
    bool centered = true;
    double epsilon = 0;
    int scale = -1, bias = -1;  // operands of the step, of the rows that are kept; -1: none
    bool kept = false;          // the normalized rows are the step's second result
  };
  int64_t rows = 0, columns = 0, batch = 1;
  int64_t taps_h = 1, taps_w = 1, channels = 0;
  bool window = false;  // rows are pixels of an image, not what lies one behind the other
  int64_t in_h = 1, in_w = 1, out_h = 1, out_w = 1;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, top = 0, left = 0;
  bool padded = false;
  int64_t size = 1;     // of an element of x and w, in bytes
  bool floats = false;  // of 8 bits
  int64_t line = 64;    // packed columns are so many bytes, or a multiple
  int64_t zero = 0;     // of x
  bool planes = false;  // results by planes: the pixels of a channel are neighbours
  bool packed = true;   // w is a constant
  bool scaled = false;  // with tables behind it
  double scale = 1;     // of all columns, when it has none
  int x = 0, w = 1;     // operands of the step; what follows on w does so there
  int gate = -1;        // what multiplies the channels of x while they are read; -1: nothing
  DType gate_type = DType::kF16;
  std::vector<int64_t> joined;  // channels of x and of those operands after it whose channels follow; none: x alone
  std::vector<int64_t> parts;   // columns of each result, one beside the other; none: there is one
  std::vector<Axis> matrices;   // of the batch: strides of x and w
  std::optional<Norm> norm;     // none: x is read as it is
  int64_t depth() const { return taps_h * taps_w * channels; }
  int64_t places() const { return 128 / size; }  // of 128 bytes
  // What is behind the columns of w with a normalization in front: two numbers of each, and a factor.
  int64_t norm_table_bytes() const { return norm ? (2 * columns + 1) * int64_t{sizeof(float)} : 0; }
  // Of a column of w in memory.
  int64_t pitch() const {
    const int64_t step = line / size;
    return packed ? (depth() + step - 1) / step * step : depth();
  }
  bool by_sixteen() const { return channels * size % 16 == 0; }  // of the bytes of a tap
  bool by_eight() const { return !by_sixteen() && channels * size % 8 == 0; }
};

// What they read and where, at concrete extents. Errors: what these kernels do not compute, and why.
Result<TileProduct> describe_tile(const Problem& problem, const BindArgs& args);

// The tile with what it needs in shared memory for the product.
Tile with_room_for(Tile tile, const TileProduct& product);
// Whether a block of the tile reads whole rows, and GPUs that have the tile have room for what it notes of them.
bool can_normalize(const Tile& tile, const TileProduct& product);
// Of a short sum no more stages than it has, and one.
Tile for_depth(Tile tile, const TileProduct& product);
// Blocks of a tile of 16-bit floats that a Hopper GPU's multiprocessor has room for, where the expression reads so many
// operands.
int resident_blocks(const Tile& tile, const TileProduct& product, size_t operands);

// `arguments`: extents are arguments of the kernel. `rounded`: results have the bits of one rounding for each
// operation, by any tile.
struct TileWriting {
  const char *w = "", *part = "";  // types of w and of sums
  bool arguments = false, rounded = false;
  const Problem* step = nullptr;  // with a normalization: of which the product is part
};
Status write_tile(const Problem& problem, const BindArgs& args, const TileProduct& product, const Tile& tile,
                  const TileWriting& how, std::vector<Launch>* launches);

// What the kernel asks for as numbers (tile_numbers.cpp): of the tile, of the product, and which tests of places it can
// do without; `arguments`: as above.
void add_tile(const Tile& tile, KernelSource* source);
void add_product(const TileProduct& product, const Tile& tile, KernelSource* source);
// The normalization in front, and of `step` the normalized rows, where they are a result, by as many as `vector`.
Status add_norm(const TileProduct& product, const Problem* step, int64_t vector, KernelSource* source);
// Of sums in floats that go from registers to the result, divided by so many blocks: what gemm/rescale.cuh asks for.
void add_float_sums(const TileProduct& product, KernelSource* source, int64_t cluster = 1);
void add_wholes(const TileProduct& product, const Tile& tile, bool arguments, KernelSource* source);

// What a kernel does with eight sums of neighbouring columns: the operands behind x and w, at(), ahead() and results()
// as gemm/tile.cuh has them. `rounded`: as above; `w`: operand of the step behind which those of the problem are;
// `bias`: that of the bias, where it is not the next one; `halves_ahead`: operands of 16 bits are read by ahead() too;
// `wide`: eight floats are stored and read as well, by 16 bytes twice; `in_words`: as in ExpressionRules.
// Errors: results that are not stored by eight.
struct EightWriting {
  bool rounded = false;
  int w = 1, bias = -1;
  bool halves_ahead = false;
  bool wide = false;
  bool in_words = false;
};
Status write_by_eight(const Problem& problem, const BindArgs& args, int64_t columns, const EightWriting& how,
                      KernelSource* source);

// The epilogue with its floating constants as further operands, so that layers that differ in nothing else are one
// kernel; `constants` gets their values. Scales that are not ordinary stay.
PointwiseExpr with_constants_as_operands(const PointwiseExpr& epilogue, std::vector<float>* constants);

}  // namespace wootz::cuda
