#include "backends/cpu/dense/amx_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace wootz::cpu {
namespace {

constexpr int64_t kHeld = 512 * 1024;  // bytes of a unit's rows: they stay in the second-level cache for all its panels

int64_t whole_tiles(int64_t rows, int64_t tile) { return ceil_div(rows, tile) * tile; }

// From copied row to row: not a large power of two, whose multiples share few places of the first-level cache.
int64_t copied_stride(int64_t lines) { return (lines + (lines % 16 == 0 ? 1 : 0)) * kAmxLine; }

int64_t positions_of(const AmxWork& w, int64_t rows) { return ceil_div(rows, w.grain) * w.positions - w.last; }

// Tiles are multiplied, weights come from the last cache. Where units divide the columns, a part of the rows, of the
// results and of what is added to them lies in other cores' caches.
double unit_cycles(const AmxWork& w, const AmxUnits& u) {
  const auto columns = static_cast<double>(ceil_div(u.columns, w.tiles.columns) * w.tiles.columns),
             rows = static_cast<double>(u.rows), steps = static_cast<double>(w.steps);
  const double lines = static_cast<double>(whole_tiles(positions_of(w, u.rows), u.tile_rows)) * columns / kAmxColumns;
  const double products = w.tiles.line_cycles * lines * steps + rows * columns / 4,
               weights = columns * steps * kAmxLine / 10,
               remote = rows * (w.held + 1.5 * columns) / 6 * (1 - 1 / static_cast<double>(u.column_units));
  return products + weights + remote + rows * (w.copied > 0 ? w.copied / 8 : w.held / 24) + 600;
}

void consider(const AmxWork& w, int64_t pieces, int64_t column_units, int threads, AmxUnits* best) {
  AmxUnits u;
  const int64_t image = w.rows / w.images, grains = ceil_div(image, w.grain);
  u.rows = std::min(image, ceil_div(grains, pieces) * w.grain);
  if (w.images > 1 && image % u.rows != 0) return;
  u.row_units = w.images * ceil_div(image, u.rows);
  u.columns = std::min(w.columns, ceil_div(ceil_div(w.columns, w.tiles.panel), column_units) * w.tiles.panel);
  u.column_units = ceil_div(w.columns, u.columns);
  const int64_t positions = positions_of(w, u.rows);
  u.tile_rows = w.tile_rows > 0 ? w.tile_rows : ceil_div(positions, ceil_div(positions, w.tiles.most_rows));
  u.cycles = static_cast<double>(ceil_div(u.row_units * u.column_units, threads)) * unit_cycles(w, u);
  if (best->rows == 0 || u.cycles < best->cycles) *best = u;
}

}  // namespace

AmxUnits divide_for_amx(const AmxWork& w, int threads) {
  AmxUnits best;
  if (w.rows * w.columns == 0) return best;
  const int64_t image = w.rows / w.images,
                most = ceil_div(ceil_div(image, w.grain), w.grain > 1 ? 1 : w.tiles.most_rows);
  const int64_t first = std::min(most, std::max<int64_t>(1, ceil_div(image * w.held, kHeld))),
                many = std::max(1, threads);
  for (int64_t columns = 1; columns <= std::min(ceil_div(w.columns, w.tiles.panel), 2 * many); ++columns)
    for (int64_t pieces = first; pieces <= std::min(most, first + 2 * many); ++pieces)
      consider(w, pieces, columns, static_cast<int>(many), &best);
  // Images whose lines do not divide evenly: whole ones.
  if (best.rows == 0) consider(w, 1, 1, static_cast<int>(many), &best);
  return best;
}

SumRuns amx_sum(const DenseShape& s, int64_t size, int64_t filter_width, bool neighbours) {
  const SumRuns whole{1, s.taps * s.depth};
  if (s.taps == 1 || s.depth == 0) return whole;
  const SumRuns lines{s.taps / filter_width, filter_width * s.depth};
  // A run's last line in memory meets weights of 0 there, which of floats only numbers may do.
  const bool exact = lines.run * size % kAmxLine == 0;
  const bool short_runs = size == 1 && (s.depth < 8 || amx_steps(lines, size) * 3 <= amx_steps(whole, size) * 4);
  if (neighbours && (exact || short_runs)) return lines;
  return s.depth * size % kAmxLine == 0 ? SumRuns{s.taps, s.depth} : whole;
}

int64_t amx_steps(const SumRuns& s, int64_t size) { return s.runs * ceil_div(s.run * size, kAmxLine); }

template <class T>
AmxRows<T>::AmxRows(const DenseShape& shape, const SumRuns& sum, std::unique_ptr<DenseRows<T>> rows,
                    const LineTiles& tiles, bool flipped)
    : tiles_(tiles), flipped_(flipped), shape_(shape), sum_(sum), rows_(std::move(rows)), lines_(rows_->lines()) {
  const bool whole = size(shape.depth) % kAmxLine == 0;
  mode_ = rows_->plain() && whole && !flipped_ ? Mode::kInPlace : lines_ ? mode_of_lines() : Mode::kCopied;
  stride_ = mode_ == Mode::kInPlace ? size(shape.depth)
            : by_lines()            ? size(shape.depth) * lines_->stride_width
                                    : copied_stride(amx_steps(sum, sizeof(T)));
  set_taps();
}

template <class T>
typename AmxRows<T>::Mode AmxRows<T>::mode_of_lines() const {
  const ImageLines& g = *lines_;
  const bool tap_runs = sum_.runs == shape_.taps,
             line_runs = sum_.runs == g.filter_lines && (g.dilation_width == 1 || g.filter_width == 1);
  const bool exact_runs = size(sum_.run) % kAmxLine == 0;
  // What lies after a run must not meet weights of 0 if it may be NaN.
  if ((!tap_runs && !line_runs) || (!exact_runs && sizeof(T) > 1)) return Mode::kCopied;
  // An image that is too large for a unit is not worth its lines; neither is one that a single tap reads in part.
  const int64_t line = pitch() * size(shape_.depth);
  if (g.out_width == 0 || line * (g.lines_for(1) + g.stride_lines) > kHeld) return Mode::kCopied;
  const bool full = line_tile_rows() >= tiles_.few_rows, exact = g.out_width % line_tiles() == 0,
             padded = g.pad_top > 0 || g.pad_left > 0 || g.reach(g.out_width) > g.in_width ||
                      g.lines_for(g.out_lines) > g.in_lines;
  if (full && exact && !padded && exact_runs && !flipped_) return Mode::kImage;
  if (shape_.taps == 1) return Mode::kCopied;
  if (g.stride_lines > 1 || g.stride_width > 1) return full ? Mode::kTiles : Mode::kCopied;
  return full && line_tile_rows() * line_tiles() <= pitch() ? Mode::kTiles : Mode::kPositions;
}

template <class T>
void AmxRows<T>::set_taps() {
  taps_ = {0};
  if (!by_lines()) return;
  taps_.clear();
  const int64_t width = sum_.runs / lines_->filter_lines;  // runs of a line of the filter
  for (int64_t a = 0; a < lines_->filter_lines; ++a)
    for (int64_t b = 0; b < width; ++b)
      taps_.push_back((a * lines_->dilation_lines * pitch() + b * lines_->dilation_width) * size(shape_.depth));
}

// The padding at the right is the next line's at the left, as far as that goes.
template <class T>
int64_t AmxRows<T>::pitch() const {
  const ImageLines& g = *lines_;
  if (mode_ == Mode::kImage) return g.in_width;
  return std::max({g.reach(g.out_width) - g.pad_left, g.pad_left + g.in_width, g.out_width});
}

template <class T>
AmxWork AmxRows<T>::work() const {
  AmxWork w{.tiles = tiles_, .rows = shape_.rows, .columns = shape_.columns, .steps = amx_steps(sum_, sizeof(T))};
  w.held = static_cast<double>(w.steps * kAmxLine);
  if (mode_ == Mode::kCopied) w.copied = w.held;
  if (!by_lines()) return w;
  const bool tiles = mode_ != Mode::kPositions;
  w.images = lines_->images;
  w.grain = lines_->out_width;
  w.positions = tiles ? line_tiles() * line_tile_rows() : pitch();
  w.last = tiles ? 0 : pitch() - lines_->out_width;
  w.tile_rows = tiles ? line_tile_rows() : 0;
  w.held = static_cast<double>(size(shape_.depth) * pitch() * lines_->stride_lines) / static_cast<double>(w.grain);
  w.copied = mode_ == Mode::kImage ? 0 : w.held;
  return w;
}

template <class T>
void AmxRows<T>::set_units(const AmxUnits& units) {
  unit_rows_ = units.rows;
  tile_rows_ = units.tile_rows;
  if (!by_lines()) return;
  const ImageLines& g = *lines_;
  const bool tiles = mode_ != Mode::kPositions;
  const int64_t positions = tiles ? line_tiles() * tile_rows_ : pitch();
  for (int64_t y = 0; y < unit_lines(); ++y) {
    for (int64_t x = 0; x < positions; ++x)
      places_.push_back(x < g.out_width ? static_cast<int32_t>(y * g.out_width + x) : -1);
    for (int64_t t = 0; tiles && t < line_tiles(); ++t)
      starts_.push_back((y * g.stride_lines * pitch() + t * tile_rows_ * g.stride_width) * size(shape_.depth));
  }
  // Every position is a result then.
  if (tiles && positions == g.out_width) places_.clear();
}

// Lines for the results' and the filter's, and what the last tile reads after them.
template <class T>
int64_t AmxRows<T>::copied_pixels() const {
  const int64_t after = 32 * lines_->stride_width + lines_->filter_width * lines_->dilation_width;
  return lines_->lines_for(unit_lines()) * pitch() + after + kAmxLine / std::max<int64_t>(1, size(shape_.depth)) + 1;
}

template <class T>
size_t AmxRows<T>::scratch_bytes() const {
  if (mode_ == Mode::kImage) return 0;
  if (by_lines()) return static_cast<size_t>(size(copied_pixels() * shape_.depth));
  const int64_t rows = mode_ == Mode::kInPlace ? tile_rows_ : whole_tiles(unit_rows_, tile_rows_);
  return static_cast<size_t>(rows * stride_);
}

template <class T>
void AmxRows<T>::copy_lines(const T* input, int64_t image, int64_t first, int64_t count, T* to) const {
  const ImageLines& g = *lines_;
  const int64_t line = pitch() * shape_.depth, left = g.pad_left * shape_.depth, pixels = g.in_width * shape_.depth;
  const T* from = input + image * g.in_lines * pixels;
  T* const end = to + copied_pixels() * shape_.depth;
  const int64_t top = first * g.stride_lines - g.pad_top;
  for (int64_t y = top; y < top + g.lines_for(count); ++y, to += line) {
    const bool inside = y >= 0 && y < g.in_lines;
    std::fill(to, to + (inside ? left : line), rows_->padding());
    if (!inside) continue;
    const int64_t taken = std::min(pixels, line - left);
    std::memcpy(to + left, from + y * pixels, static_cast<size_t>(size(taken)));
    std::fill(to + left + taken, to + line, rows_->padding());
  }
  std::fill(to, end, rows_->padding());
}

template <class T>
const char* AmxRows<T>::lines_of(const T* input, const DenseUnit& u, char* scratch) const {
  const int64_t line = u.row / lines_->out_width, image = line / lines_->out_lines, first = line % lines_->out_lines;
  if (mode_ == Mode::kImage) {
    const int64_t above = image * lines_->in_lines + first * lines_->stride_lines;
    return reinterpret_cast<const char*>(input + above * lines_->in_width * shape_.depth);
  }
  copy_lines(input, image, first, u.rows / lines_->out_width, reinterpret_cast<T*>(scratch));
  flip(scratch, size(copied_pixels() * shape_.depth));
  return scratch;
}

template <class T>
void AmxRows<T>::flip(char* scratch, int64_t bytes) const {
  if (!flipped_) return;
  constexpr uint64_t kHighest = 0x8080808080808080;
  int64_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, scratch + i, sizeof eight);
    eight ^= kHighest;
    std::memcpy(scratch + i, &eight, sizeof eight);
  }
  for (; i < bytes; ++i) scratch[i] = static_cast<char>(scratch[i] ^ 0x80);
}

template <class T>
void AmxRows<T>::set(const T* input, const DenseUnit& u, char* scratch, AmxUnit* to) const {
  to->stride = stride_;
  to->taps = taps_.data();
  to->num_taps = static_cast<int64_t>(taps_.size());
  to->lines = amx_steps(sum_, sizeof(T)) / to->num_taps;
  if (to->num_taps == sum_.runs) to->last_quads = ceil_div((size(sum_.run) - 1) % kAmxLine + 1, 4);
  to->tile_rows = tile_rows_;
  to->num_rows = u.rows;
  if (by_lines()) {
    const int64_t count = u.rows / lines_->out_width;
    to->rows = lines_of(input, u, scratch);
    to->num_rows =
        mode_ == Mode::kPositions ? count * pitch() - (pitch() - lines_->out_width) : count * line_tiles() * tile_rows_;
    to->starts = starts_.empty() ? nullptr : starts_.data();
    to->places = places_.empty() ? nullptr : places_.data();
    to->tail = to->rows + to->num_rows / tile_rows_ * tile_rows_ * stride_;
    return;
  }
  const int64_t full = u.rows / tile_rows_ * tile_rows_;
  if (mode_ == Mode::kCopied) {
    rows_->copy(input, u.row, u.rows, sum_, reinterpret_cast<T*>(scratch), stride_ / size(1));
    flip(scratch, u.rows * stride_);
    to->rows = scratch;
    to->tail = scratch + full * stride_;
    return;
  }
  to->rows = reinterpret_cast<const char*>(input + u.row * shape_.depth);
  to->tail = scratch;
  std::memcpy(scratch, to->rows + full * stride_, static_cast<size_t>((u.rows - full) * stride_));
}

template class AmxRows<uint8_t>;
template class AmxRows<uint16_t>;

}  // namespace wootz::cpu
