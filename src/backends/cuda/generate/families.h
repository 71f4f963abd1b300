// One function a kernel family: from a problem with its layouts filled in, at concrete extents, to launches. Pure: text
// in, text out. What it cannot do it refuses, also for problems from plan files.
#pragma once

#include <algorithm>

#include "backends/cuda/generate/fed_tiles.h"
#include "backends/cuda/generate/source.h"
#include "backends/cuda/generate/sparse_tiles.h"
#include "backends/cuda/generate/tiles.h"

namespace wootz::cuda {

// A kernel's file, below kernels/, as a template argument: variants that take the same constants are lines of
// kernels.inc, each with its file.
struct KernelPath {
  char text[48] = {};
  template <size_t kLength>
  consteval KernelPath(const char (&path)[kLength]) {  // NOLINT: a literal is one
    static_assert(kLength <= sizeof text);
    for (size_t i = 0; i < kLength; ++i) text[i] = path[i];
  }
};

using Generate = Status (*)(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);

// Of a problem at its optimum, in us; 0: not worth offering, another kernel of the family suits it better.
using Estimate = double (*)(const Problem& problem);

// The form in which a kernel wants a constant; nullopt: as it is.
using PackConstant = Result<std::optional<PackedForm>> (*)(const Problem& problem, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_depthwise(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_squeeze_excite(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_gated(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_int8(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_stem(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_pooled_stem(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_byte_stem(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_half(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_direct(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_columns(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_weight_only(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_weight_tiles(const Problem&, int input, const HostTensor& source);

// And where it follows from other constants too, by input.
using PackAmong = Result<std::optional<PackedForm>> (*)(const Problem& problem, int input,
                                                        std::span<const HostTensor> sources);
Result<std::optional<PackedForm>> pack_half_among(const Problem&, int input, std::span<const HostTensor> sources);

// A constant of whole bytes an element, taken as a matrix and transposed.
PackedForm transposed_form(const HostTensor& source, int64_t rows, int64_t columns);

// The sources of every kernel that takes a problem at its optimum, with the layouts that it has: for tests and tools.
Status generate_at_optimum(const Problem& problem, std::vector<Launch>* launches);

Status generate_pointwise(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_reduce(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
// Softmax of rows, by a file of softmax/; `rows`: which of them it is for.
enum class RowLengths { kAny, kBeyondRegisters };
Status generate_softmax(const Problem& problem, const BindArgs& args, std::string_view file, RowLengths rows,
                        std::vector<Launch>* launches);
template <KernelPath kFile = "softmax/rows.cuh", RowLengths kRows = RowLengths::kAny>
Status generate_softmax(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_softmax(problem, args, kFile.text, kRows, launches);
}
Status generate_norm(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
// The same of rows whose elements are neighbours, a pack of them at once.
Status generate_norm_packs(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
// Depthwise convolution: `results` neighbours along a row by each thread.
Status generate_depthwise(const Problem& problem, const BindArgs& args, int results, std::vector<Launch>* launches);
template <int kResults>
Status generate_depthwise(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_depthwise(problem, args, kResults, launches);
}
// The same by patches in shared memory.
Status generate_depthwise_patch(const Problem& problem, const BindArgs& args, int results,
                                std::vector<Launch>* launches);
template <int kResults>
Status generate_depthwise_patch(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_depthwise_patch(problem, args, kResults, launches);
}
// Products and convolutions of 8 bits; `tile` is one of kInt8Tiles.
Status generate_int8(const Problem& problem, const BindArgs& args, size_t tile, std::vector<Launch>* launches);
template <size_t kTile>
Status generate_int8(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_int8(problem, args, kTile, launches);
}
double estimate_int8(const Problem& problem, size_t tile);
template <size_t kTile>
double estimate_int8(const Problem& problem) {
  return estimate_int8(problem, kTile);
}
// The same of floats of 8 bits by constants.
Status generate_float8(const Problem& problem, const BindArgs& args, size_t tile, std::vector<Launch>* launches);
template <size_t kTile>
Status generate_float8(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_float8(problem, args, kTile, launches);
}
double estimate_float8(const Problem& problem, size_t tile);
template <size_t kTile>
double estimate_float8(const Problem& problem) {
  return estimate_float8(problem, kTile);
}
template <size_t kTile>
inline constexpr int kFloat8Capability = std::max(89, kInt8Tiles[kTile].capability());
Result<std::optional<PackedForm>> pack_float8(const Problem&, int input, const HostTensor& source);
// Those of many rows on Hopper GPUs; `tile` is one of kFloat8FedTiles.
Status generate_float8_fed(const Problem& problem, const BindArgs& args, size_t tile, std::vector<Launch>* launches);
template <size_t kTile>
Status generate_float8_fed(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_float8_fed(problem, args, kTile, launches);
}
double estimate_float8_fed(const Problem& problem, size_t tile);
template <size_t kTile>
double estimate_float8_fed(const Problem& problem) {
  return estimate_float8_fed(problem, kTile);
}
// Products of which blocks have scales; `tile`: a promoted one of them.
Status generate_block_gemm(const Problem& problem, const BindArgs& args, size_t tile, std::vector<Launch>* launches);
template <size_t kTile>
Status generate_block_gemm(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_block_gemm(problem, args, kTile, launches);
}
double estimate_block_gemm(const Problem& problem, size_t tile);
template <size_t kTile>
double estimate_block_gemm(const Problem& problem) {
  return estimate_block_gemm(problem, kTile);
}
Result<std::optional<PackedForm>> pack_block_gemm(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_float8_fed(const Problem&, int input, const HostTensor& source);
// Products and convolutions of 16-bit floats by constants; `tile` is one of kHalfTiles.
Status generate_half(const Problem& problem, const BindArgs& args, size_t tile, std::vector<Launch>* launches);
template <size_t kTile>
Status generate_half(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_half(problem, args, kTile, launches);
}
double estimate_half(const Problem& problem, size_t tile);
template <size_t kTile>
double estimate_half(const Problem& problem) {
  return estimate_half(problem, kTile);
}
// The same of many rows on Hopper GPUs; `tile` is one of kFedTiles.
Status generate_fed(const Problem& problem, const BindArgs& args, size_t tile, std::vector<Launch>* launches);
template <size_t kTile>
Status generate_fed(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_fed(problem, args, kTile, launches);
}
double estimate_fed(const Problem& problem, size_t tile);
template <size_t kTile>
double estimate_fed(const Problem& problem) {
  return estimate_fed(problem, kTile);
}
Result<std::optional<PackedForm>> pack_fed(const Problem&, int input, const HostTensor& source);
Result<std::optional<PackedForm>> pack_fed_among(const Problem&, int input, std::span<const HostTensor> sources);
// The same of 2:4 weights; `tile` is one of kSparseTiles.
Status generate_sparse(const Problem& problem, const BindArgs& args, size_t tile, std::vector<Launch>* launches);
template <size_t kTile>
Status generate_sparse(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_sparse(problem, args, kTile, launches);
}
double estimate_sparse(const Problem& problem, size_t tile);
template <size_t kTile>
double estimate_sparse(const Problem& problem) {
  return estimate_sparse(problem, kTile);
}
Result<std::optional<PackedForm>> pack_sparse(const Problem&, int input, const HostTensor& source);
// Convolutions of few channels in 16 bits, of such data or of what becomes them (a chain), by tiles of so many rows for
// each warp.
Status generate_stem(const Problem& problem, const BindArgs& args, int64_t parts, std::vector<Launch>* launches);
template <int64_t kParts>
Status generate_stem(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_stem(problem, args, kParts, launches);
}
double estimate_stem(const Problem& problem, int64_t parts);
template <int64_t kParts>
double estimate_stem(const Problem& problem) {
  return estimate_stem(problem, kParts);
}
// The same with the largest of windows of its results, which alone are stored.
Status generate_pooled_stem(const Problem& problem, const BindArgs& args, int64_t parts, std::vector<Launch>* launches);
template <int64_t kParts>
Status generate_pooled_stem(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_pooled_stem(problem, args, kParts, launches);
}
double estimate_pooled_stem(const Problem& problem, int64_t parts);
template <int64_t kParts>
double estimate_pooled_stem(const Problem& problem) {
  return estimate_pooled_stem(problem, kParts);
}
// A convolution and the one of single pixels that reads it, as one (a chain).
Status generate_pair(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_pair(const Problem& problem);
Result<std::optional<PackedForm>> pack_pair(const Problem&, int input, const HostTensor& source);
// Convolutions of few channels of 8 bits.
Status generate_byte_stem(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_byte_stem(const Problem& problem);
// Products of floats and weights of 4 or 8 bits.
Status generate_weight_only(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_weight_only(const Problem& problem);
// The same of 4 bits on tensor cores.
Status generate_weight_tiles(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_weight_tiles(const Problem& problem);
// The same of one or two rows, by 8-bit integers.
Status generate_weight_planes(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_weight_planes(const Problem& problem);
Status generate_vector_product(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_pool_strip(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_pool_strip(const Problem& problem);
Status generate_pool(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_conv(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_gemm(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_move(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
// An attention of few rows that reads caches where they lie.
Status generate_cached_attention(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_cached_attention(const Problem& problem);
// Several concatenations by one launch.
Status generate_concats(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_reformat(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_gather(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
// Rows of tables, added up and normalized.
Status generate_embedding(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
// Rows by scales of their own, after a normalization or an expression.
Status generate_quantize_rows(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_scatter(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_resize(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_attention(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_attention(const Problem& problem);
Status generate_attention_tiles(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_attention_tiles(const Problem& problem);
// Of elements of so many bytes.
template <int kBytes>
Status generate_attention_staged(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
template <int kBytes>
double estimate_attention_staged(const Problem& problem);
Status generate_attention_fed(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_attention_fed(const Problem& problem);
// Over more keys than come to shared memory at once.
Status generate_attention_fed_long(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_attention_fed_long(const Problem& problem);
// Keys divided between two blocks.
Status generate_attention_fed_split(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_attention_fed_split(const Problem& problem);
// Few rows over keys and values of so many bytes.
template <int kBytes>
Status generate_attention_bytes(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
template <int kBytes>
double estimate_attention_bytes(const Problem& problem);
// Of few rows, over parts of the keys of any type, in FP32.
Status generate_attention_few(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_attention_few(const Problem& problem);
// Everything of 8 bits, rounded weights as well.
Status generate_attention_rounded(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_attention_rounded(const Problem& problem);
// Keys and values of 8 bits, dequantized first.
Status generate_attention_widened(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_attention_widened(const Problem& problem);
Status generate_attention_mma(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_attention_mma(const Problem& problem);
// By a cluster of so many blocks for each image.
Status generate_squeeze_excite(const Problem& problem, const BindArgs& args, int cluster,
                               std::vector<Launch>* launches);
template <int kCluster>
Status generate_squeeze_excite(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_squeeze_excite(problem, args, kCluster, launches);
}
// By three launches, for images whose mean takes the whole GPU; a cluster of 0 to the estimate.
Status generate_squeeze_excite_apart(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
double estimate_squeeze_excite(const Problem& problem, int cluster);
template <int kCluster>
double estimate_squeeze_excite(const Problem& problem) {
  return estimate_squeeze_excite(problem, kCluster);
}
// A depthwise convolution by patches and the gate of its image (family chain), the second by sums that the first
// writes.
Status generate_gated(const Problem& problem, const BindArgs& args, int results, int cluster,
                      std::vector<Launch>* launches);
template <int kResults, int kCluster>
Status generate_gated(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate_gated(problem, args, kResults, kCluster, launches);
}
double estimate_gated(const Problem& problem, int results, int cluster);
template <int kResults, int kCluster>
double estimate_gated(const Problem& problem) {
  return estimate_gated(problem, kResults, kCluster);
}
// Family op: by the op's name.
Status generate_special(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_topk(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);
Status generate_recurrent(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);

}  // namespace wootz::cuda
