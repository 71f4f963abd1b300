// How tiles of AMX read the rows of a product or convolution: as they lie; copied, one after the other along the sum;
// or from the lines of an image, where rows are pixels at equal distances, with the padding in a copy of these lines.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/cpu/dense/amx_tile.h"
#include "backends/cpu/dense/blocks.h"

namespace wootz::cpu {

// The order of a sum for elements of `size` bytes. `filter_width`: taps that are neighbours in a line of the filter;
// `neighbours`: in the image as well.
SumRuns amx_sum(const DenseShape& shape, int64_t size = 1, int64_t filter_width = 1, bool neighbours = false);
int64_t amx_steps(const SumRuns& sum, int64_t size);  // lines of kAmxLine bytes

// What computes the products.
struct LineTiles {
  int64_t most_rows = 16, few_rows = 12;             // of a tile; fewer than the latter take as long as those
  int64_t panel = kAmxPanel, columns = kAmxColumns;  // at once; the last panel has a multiple of the latter
  double line_cycles = 1.4;                          // of a row's line by a tile of weights
  bool unsigned_rows = false;                        // of u8 alone: i8 is copied, 128 higher
};
inline constexpr LineTiles kAmxTiles, kVnniTiles{14, 4, 64, 64, 8.5, true};

// What there is to divide among threads.
struct AmxWork {
  LineTiles tiles = kAmxTiles;
  int64_t rows = 0, columns = 0, steps = 0;
  int64_t images = 1, grain = 1;  // units are multiples of `grain` rows and lie in one of `images` images
  int64_t positions = 1;          // rows of tiles for each `grain` of results,
  int64_t last = 0;               // of which these follow the last result
  int64_t tile_rows = 0;          // 0: as is best
  double held = 0, copied = 0;    // bytes of a row that a unit reads again and again, and that it copies first
};
// A unit of rows times a unit of columns is what a thread computes.
struct AmxUnits {
  int64_t rows = 0, columns = 0, tile_rows = 16;
  int64_t row_units = 0, column_units = 0;
  double cycles = 0;  // all of it, by estimate
};
AmxUnits divide_for_amx(const AmxWork& work, int threads);

template <class T>
class AmxRows {
 public:
  // `flipped`: the highest bit of each byte is turned over.
  AmxRows(const DenseShape& shape, const SumRuns& sum, std::unique_ptr<DenseRows<T>> rows,
          const LineTiles& tiles = kAmxTiles, bool flipped = false);

  AmxWork work() const;
  // Units of `units.rows` rows from here on.
  void set_units(const AmxUnits& units);
  size_t scratch_bytes() const;
  // Where the unit's tiles read, by way of `scratch`.
  void set(const T* input, const DenseUnit& unit, char* scratch, AmxUnit* to) const;

 private:
  // kPositions: tiles go over the positions of all lines, also those between two lines' results; kTiles: each line is
  // divided into tiles; kImage: the same, in the image itself.
  enum class Mode : uint8_t { kInPlace, kCopied, kPositions, kTiles, kImage };
  static int64_t size(int64_t elements) { return elements * static_cast<int64_t>(sizeof(T)); }
  bool by_lines() const { return mode_ >= Mode::kPositions; }
  Mode mode_of_lines() const;
  void set_taps();
  int64_t pitch() const;  // from line to line, in pixels
  int64_t line_tiles() const { return ceil_div(lines_->out_width, tiles_.most_rows); }
  int64_t line_tile_rows() const { return ceil_div(lines_->out_width, line_tiles()); }
  int64_t unit_lines() const { return ceil_div(unit_rows_, lines_->out_width); }
  int64_t copied_pixels() const;
  void copy_lines(const T* input, int64_t image, int64_t first, int64_t count, T* to) const;
  const char* lines_of(const T* input, const DenseUnit& unit, char* scratch) const;
  void flip(char* scratch, int64_t bytes) const;

  LineTiles tiles_;
  bool flipped_ = false;
  DenseShape shape_;
  SumRuns sum_;
  std::unique_ptr<DenseRows<T>> rows_;
  std::optional<ImageLines> lines_;
  Mode mode_ = Mode::kCopied;
  int64_t stride_ = 0;  // bytes from row to row
  int64_t unit_rows_ = 0, tile_rows_ = 16;
  std::vector<int64_t> taps_, starts_;
  std::vector<int32_t> places_;
};
extern template class AmxRows<uint8_t>;
extern template class AmxRows<uint16_t>;

}  // namespace wootz::cpu
