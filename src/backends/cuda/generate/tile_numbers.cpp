// What a kernel of gemm/tile.cuh asks for as numbers: of the tile, of the product, of what divides evenly.
#include "backends/cuda/generate/tile.h"

namespace wootz::cuda {
namespace {

// 2 to the 32th over d, rounded up: w_over() multiplies by it.
int64_t inverse_of(int64_t d) { return d == 1 ? 0 : ((int64_t{1} << 32) + d - 1) / d; }

}  // namespace

void add_tile(const Tile& tile, KernelSource* source) {
  const std::pair<const char*, int64_t> fixed[] = {
      {"kThreads", tile.threads()}, {"kRows", tile.rows},       {"kColumns", tile.columns},
      {"kWarpsM", tile.warps_m},    {"kWarpsN", tile.warps_n},  {"kShares", tile.shares},
      {"kStages", tile.stages},     {"kCluster", tile.cluster}, {"kLine", tile.line}};
  for (const auto& [name, value] : fixed) source->fixed(name, value);
}

void add_product(const TileProduct& b, const Tile& tile, KernelSource* source) {
  source->fixed("kWindow", b.window);
  source->fixed("kBySixteen", b.by_sixteen());
  source->fixed("kByEight", b.by_eight());
  source->fixed("kPacked", b.packed);
  source->fixed("kScaled", b.scaled);
  source->fixed("kCorrected", b.scaled && b.zero != 0);
  // Of |x| up to 255 and |w| up to 128.
  source->fixed("kShort", b.size == 1 && !b.floats && !(b.scaled && b.zero != 0) && b.depth() <= 128);
  source->fixed("kOutside", b.padded ? b.zero & 255 : 0);
  source->fixed_real("kScale", b.scaled ? 1 : b.scale);
  const int64_t step = tile.line / b.size * tile.shares * tile.cluster;
  const std::pair<const char*, int64_t> sums[] = {{"rows", b.rows},
                                                  {"columns", b.columns},
                                                  {"depth", b.depth()},
                                                  {"pitch", b.pitch()},
                                                  {"channels", b.channels},
                                                  {"stages", (b.pitch() + step - 1) / step},
                                                  {"pixels", b.out_h * b.out_w}};
  for (const auto& [name, value] : sums) source->number(name, value);
  source->number("per_channel", inverse_of(b.channels), "s64");
  source->number("per_tap", inverse_of(b.taps_w), "s64");
  const std::pair<const char*, int64_t> window[] = {{"image", b.in_h * b.in_w * b.channels},
                                                    {"in_h", b.in_h},
                                                    {"in_w", b.in_w},
                                                    {"out_h", b.out_h},
                                                    {"out_w", b.out_w},
                                                    {"stride_h", b.stride_h},
                                                    {"stride_w", b.stride_w},
                                                    {"dilation_h", b.dilation_h},
                                                    {"dilation_w", b.dilation_w},
                                                    {"pad_top", b.top},
                                                    {"pad_left", b.left},
                                                    {"taps_w", b.taps_w}};
  for (const auto& [name, value] : window) source->number(name, b.window ? value : 1);
}

void add_float_sums(const TileProduct& b, KernelSource* source, int64_t cluster) {
  const std::pair<const char*, int64_t> fixed[] = {
      {"kCluster", cluster}, {"kDirect", 1}, {"kScaled", b.scaled}, {"kCorrected", 0}, {"kShort", 0}};
  for (const auto& [name, value] : fixed) source->fixed(name, value);
  source->fixed_real("kScale", b.scaled ? 1 : b.scale);
}

void add_wholes(const TileProduct& b, const Tile& tile, bool arguments, KernelSource* source) {
  const int64_t step = tile.line / b.size * tile.shares * tile.cluster;
  source->fixed("kAllRows", !arguments && b.rows % tile.rows == 0);
  source->fixed("kAllColumns", !arguments && b.columns % tile.columns == 0);
  source->fixed("kAllDepth", !arguments && b.depth() == b.pitch() && b.pitch() % step == 0);
}

}  // namespace wootz::cuda
