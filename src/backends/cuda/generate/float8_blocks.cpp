// Family block_gemm: products of floats of 8 bits whose blocks along the sum have scales, on Hopper GPUs by
// gemm/fed.cuh, whose stages are 128 places of a sum.
#include <algorithm>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/fed.h"
#include "backends/cuda/generate/kernel_source.h"
#include "base/fp8.h"

namespace wootz::cuda {
namespace {

constexpr int kX = 0, kScalesOfX = 1, kW = 2, kScalesOfW = 3, kMain = 4;
constexpr int64_t kLine = 128, kMultiprocessors = 132;

int64_t pieces(int64_t count, int64_t size) { return (count + size - 1) / size; }

Status check_operands(const Problem& p) {
  if (p.num_main != kMain || p.inputs.size() < kMain || p.outputs.size() != 1)
    return invalid_argument("product of {} operands", p.num_main);
  const DType x = p.inputs[kX].dtype, w = p.inputs[kW].dtype;
  if (!is_fp8(x) || !is_fp8(w) || (x == DType::kF8E5M2 && w == x))
    return unsupported("{} by {}", dtype_name(x), dtype_name(w));
  if (p.inputs[kScalesOfX].dtype != DType::kF32 || p.inputs[kScalesOfW].dtype != DType::kF32)
    return unsupported("scales that are not f32");
  if (!p.inputs[kW].constant || !p.inputs[kScalesOfW].constant || p.inputs[kX].constant)
    return unsupported("weights that are not constant");
  for (const TensorDesc& t : p.inputs)
    if (!t.constant && t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("layout {}", layout_name(p.outputs[0].layout));
  return check_epilogue(p, DType::kF32);
}

// What is left when the scales are: x by the rows of w.
Problem plain_product(const Problem& p) {
  Problem plain = p;
  plain.set_family(Family::kGemm);
  plain.as<GemmParams>().trans_b = true;
  plain.num_main = 2;
  plain.inputs = {p.inputs[kX], p.inputs[kW]};
  plain.inputs.insert(plain.inputs.end(), p.inputs.begin() + kMain, p.inputs.end());
  plain.epilogue = p.epilogue;
  return plain;
}

Result<FedProduct> describe(const Problem& p, const BindArgs& args) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p));
  const auto& blocks = p.as<BlockGemmParams>();
  const Dims &x = args.inputs[kX], &w = args.inputs[kW], &y = args.outputs[0];
  if (x.rank() < 2 || w.rank() != 2 || y.rank() < 1 || y.back() != w[0])
    return unsupported("{} by {}", x.to_string(), w.to_string());
  const int64_t depth = w[1], columns = w[0], block = x.back(), side = blocks.w_columns;
  const int64_t rows = columns == 0 ? 0 : y.volume() / columns;
  if (depth < kLine || depth % kLine != 0 || block % kLine != 0 || depth % block != 0 || blocks.w_block % kLine != 0 ||
      (side != 1 && side % kLine != 0))
    return unsupported("blocks of {} and {} by {} elements of sums of {}", block, blocks.w_block, side, depth);
  if (x.volume() != rows * depth || args.inputs[kScalesOfX].volume() != rows * (depth / block) ||
      args.inputs[kScalesOfW].volume() != pieces(depth, blocks.w_block) * pieces(columns, side))
    return invalid_argument("scales {} and {} of {} by {}", args.inputs[kScalesOfX].to_string(),
                            args.inputs[kScalesOfW].to_string(), x.to_string(), w.to_string());
  constexpr int64_t kMost = int64_t{1} << 31;
  if (x.volume() >= kMost || y.volume() >= kMost) return unsupported("{} results", y.volume());
  FedProduct fed;
  fed.reads.problem = plain_product(p);
  fed.reads.w = kScalesOfW;  // behind which the expression's operands are
  fed.reads.dims = {x, w};
  fed.reads.dims.insert(fed.reads.dims.end(), args.inputs.begin() + kMain, args.inputs.end());
  fed.reads.made = {y};
  FedImage image{.x = kX, .w = kW};
  image.b.rows = rows;
  image.b.columns = columns;
  image.b.channels = depth;
  image.b.floats = true;
  image.b.scale = blocks.factor;
  fed.images = {std::move(image)};
  fed.blocks = BlockScales{kScalesOfX, kScalesOfW, depth / block, block, blocks.w_block, pieces(columns, side), side};
  WOOTZ_RETURN_IF_ERROR(settle_fed(args, p.inputs[kX].dtype, kFloat8FedTiles, &fed));
  return fed;
}

}  // namespace

Result<std::optional<PackedForm>> pack_block_gemm(const Problem& p, int input, const HostTensor& source) {
  if (input != kW) return std::optional<PackedForm>{};
  WOOTZ_ASSIGN_OR_RETURN(const FedProduct fed, describe(p, {operand_dims(p.inputs), operand_dims(p.outputs), {}}));
  const FedImage& image = fed.images[0];
  return std::optional(packed_by(static_cast<size_t>(image.packed_bytes()),
                                 [plain = fed.reads.problem, image, source]() -> Result<std::vector<std::byte>> {
                                   return fed_columns(plain, image, source);
                                 }));
}

Status generate_block_gemm(const Problem& p, const BindArgs& args, size_t tile, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const FedProduct fed, describe(p, args));
  return write_fed(p, fed, kFloat8FedTiles[tile], launches);
}

// Rounds of the multiprocessors; all tiles are offered.
double estimate_block_gemm(const Problem& p, size_t index) {
  constexpr double kStartUs = 3, kClusterUs = 1, kBytesPerUs = 3.6e6;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<FedProduct> fed = describe(p, {in, out, {}});
  if (!fed.ok()) return 0;
  const FedTile& tile = kFloat8FedTiles[index];
  const TileProduct& b = fed->b();
  const int64_t blocks = pieces(b.rows, tile.rows) * pieces(b.columns, tile.columns) * tile.cluster;
  const double macs = static_cast<double>(tile.rows * tile.columns * pieces(fed->stages(), tile.cluster) * kLine);
  double bytes = 0;
  for (const TensorDesc& t : p.inputs) bytes += static_cast<double>(dtype_bytes(t.dtype, t.dims.volume()));
  return kStartUs + (tile.cluster > 1 ? kClusterUs : 0) +
         std::max(static_cast<double>(pieces(blocks, kMultiprocessors)) * macs / tile.macs_per_us, bytes / kBytesPerUs);
}

}  // namespace wootz::cuda
