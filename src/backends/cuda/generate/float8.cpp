// Families gemm and conv of floats of 8 bits by constants: by the tiles of integers (gemm/tile.cuh), of any rows and
// channels in multiples of 8, and on Hopper GPUs by gemm/fed.cuh, of many rows and channels in multiples of 16.
#include "backends/cuda/generate/float8.h"

#include <algorithm>
#include <span>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/fed.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/tile_cost.h"
#include "backends/cuda/support/int8_weights.h"
#include "base/fp8.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kPitchStep = 64;  // of packed columns, in bytes

// Those of bytes, with what a Hopper GPU multiplies in FP16.
constexpr TileCosts kCosts{0.95, 0.9, 0.4, 0.2, 0.01, 6e5, 2.7e5, 5e3, 4.6e6};

Status check_types(const Problem& p) {
  const DType x = p.inputs[0].dtype, w = p.inputs[1].dtype;
  if (!is_fp8(x) || !is_fp8(w)) return unsupported("{} by {}", dtype_name(x), dtype_name(w));
  if (x == DType::kF8E5M2 && w == DType::kF8E5M2) return unsupported("two operands in {}", dtype_name(x));
  if (!p.inputs[1].constant) return unsupported("weights that are not constant");
  if (p.num_main == 3 && p.inputs[2].dtype != DType::kF32)
    return unsupported("a bias of {}", dtype_name(p.inputs[2].dtype));
  return Status();
}

// Packed weights of a plan's: as long as the kernel believes.
Status check_packed(const TileProduct& b, const BindArgs& args) {
  constexpr size_t kW = 1;
  if (args.constant_bytes.size() <= kW || args.constants[kW] == nullptr) return Status();
  if (args.constant_bytes[kW] >= static_cast<size_t>(b.columns * (b.pitch() + 4))) return Status();
  return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[kW], args.inputs[kW].to_string());
}

Result<FedProduct> describe_fed_float8(const Problem& p, const BindArgs& args) {
  FedProduct fed;
  WOOTZ_ASSIGN_OR_RETURN(fed.reads, tile_reads(p, args.inputs, args.outputs));
  FedImage image;
  WOOTZ_ASSIGN_OR_RETURN(image.b, describe_float8(p, args));
  fed.images = {std::move(image)};
  WOOTZ_RETURN_IF_ERROR(settle_fed(args, p.inputs[0].dtype, kFloat8FedTiles, &fed));
  return fed;
}

// Sums on tensor cores alone are as exact as results in 8 bits need.
bool is_exact_enough(const Problem& p, const FedTile& tile) { return tile.promoted || is_fp8(p.outputs[0].dtype); }

}  // namespace

Result<std::vector<float>> float8_scales(const Problem& p, int64_t columns) {
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales s, int8_scales(p, columns));
  if (s.x_zero != 0) return unsupported("zero points of floats");
  std::vector<float> scales;
  for (int64_t n = 0; n < columns; ++n) scales.push_back(static_cast<float>(s.of(n)));
  return scales;
}

void append_floats(const std::vector<float>& floats, std::vector<std::byte>* bytes) {
  const auto* at = reinterpret_cast<const std::byte*>(floats.data());
  bytes->insert(bytes->end(), at, at + floats.size() * sizeof(float));
}

Result<TileProduct> describe_float8(const Problem& p, const BindArgs& args) {
  if (p.inputs.size() < 2 || (!p.is(Family::kConv) && !p.is(Family::kGemm)))
    return unsupported("another problem than a product of floats of 8 bits");
  WOOTZ_RETURN_IF_ERROR(check_types(p));
  WOOTZ_ASSIGN_OR_RETURN(TileProduct b, describe_tile(p, args));
  if (!b.by_sixteen() && !b.by_eight()) return unsupported("{} channels, which are not read by 8 bytes", b.channels);
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, DType::kF32));
  WOOTZ_RETURN_IF_ERROR(float8_scales(p, b.columns).status());
  b.floats = b.scaled = true;
  b.line = kPitchStep;
  return b;
}

Result<std::optional<PackedForm>> pack_float8(const Problem& p, int input, const HostTensor& source) {
  if (input != 1) return std::optional<PackedForm>{};
  const int64_t columns = columns_of(p, source.dims());
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<float> scales, float8_scales(p, columns));
  const int64_t depth = columns == 0 ? 0 : source.volume() / columns;
  const int64_t pitch = (depth + kPitchStep - 1) / kPitchStep * kPitchStep;
  return std::optional(
      packed_by(static_cast<size_t>(columns * (pitch + 4)), [p, source, scales]() -> Result<std::vector<std::byte>> {
        std::vector<std::byte> bytes = weight_columns(p, source, kPitchStep).bytes;
        append_floats(scales, &bytes);
        return bytes;
      }));
}

Status generate_float8(const Problem& p, const BindArgs& args, size_t tile, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const TileProduct b, describe_float8(p, args));
  WOOTZ_RETURN_IF_ERROR(check_packed(b, args));
  if (b.rows * b.columns == 0) return Status();
  return write_tile(p, args, b, kInt8Tiles[tile], {storage_type(p.inputs[1].dtype), "float", transient(p, args)},
                    launches);
}

double estimate_float8(const Problem& p, size_t tile) {
  constexpr size_t kMost = 3;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<TileProduct> b = describe_float8(p, {in, out, {}});
  if (!b.ok()) return 0;
  const TileEstimate e = estimate_tile(p, *b, kInt8Tiles, tile, kCosts, kMost);
  return e.suits ? e.us : 0;
}

Result<std::optional<PackedForm>> pack_float8_fed(const Problem& p, int input, const HostTensor& source) {
  if (input != 1) return std::optional<PackedForm>{};
  WOOTZ_ASSIGN_OR_RETURN(const FedProduct fed,
                         describe_fed_float8(p, {operand_dims(p.inputs), operand_dims(p.outputs), {}}));
  const FedImage& image = fed.images[0];
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<float> scales, float8_scales(p, image.b.columns));
  return std::optional(packed_by(static_cast<size_t>(image.packed_bytes()),
                                 [p, image, source, scales]() -> Result<std::vector<std::byte>> {
                                   std::vector<std::byte> bytes = fed_columns(p, image, source);
                                   append_floats(scales, &bytes);
                                   return bytes;
                                 }));
}

Status generate_float8_fed(const Problem& p, const BindArgs& args, size_t tile, std::vector<Launch>* launches) {
  if (!is_exact_enough(p, kFloat8FedTiles[tile]))
    return unsupported("sums in few bits for a result of {}", dtype_name(p.outputs[0].dtype));
  WOOTZ_ASSIGN_OR_RETURN(const FedProduct fed, describe_fed_float8(p, args));
  return write_fed(p, fed, kFloat8FedTiles[tile], launches);
}

double estimate_float8_fed(const Problem& p, size_t tile) {
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<FedProduct> fed = describe_fed_float8(p, {in, out, {}});
  if (!fed.ok()) return 0;
  // Among the tiles that may, which for results in 8 bits are those that promote nothing.
  const std::span<const FedTile> all(kFloat8FedTiles);
  const auto promoted = std::find_if(all.begin(), all.end(), [](const FedTile& t) { return t.promoted; });
  const auto plain = static_cast<size_t>(promoted - all.begin());
  const bool in_8_bits = is_fp8(p.outputs[0].dtype);
  if (in_8_bits == (tile >= plain)) return 0;
  return in_8_bits ? estimate_fed_tile(p, *fed, all.first(plain), tile)
                   : estimate_fed_tile(p, *fed, all.subspan(plain), tile - plain);
}

}  // namespace wootz::cuda
