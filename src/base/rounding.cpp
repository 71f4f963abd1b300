#include "base/rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/thread_pool.h"

namespace wootz {
namespace {

using Axis = WeightRows::Axis;

constexpr int64_t kBlock = 16;       // rows gathered at once: neighbours in memory where rows are columns
constexpr int64_t kGrain = 1 << 15;  // elements that are worth a thread
constexpr int kMisses = 8;           // weights in turn that do not help before a row is left as it is

struct Neighbours {
  float nearest, other;  // the same: the number is on the grid, or only one of them is
};

// A tie goes to the even one. Of a magnitude, by its bits.
Neighbours neighbours(uint32_t magnitude, const NumberGrid& grid) {
  const auto value = std::bit_cast<float>(magnitude);
  if (magnitude >= 0x7f800000u) return {value, value};
  if (magnitude < grid.least_normal) {
    const float steps = value / grid.least_step, low = std::floor(steps), rest = steps - low;  // exact: a power of two
    const bool up = rest > 0.5f || (rest == 0.5f && std::fmod(low, 2.0f) != 0);
    const float below = low * grid.least_step, above = (low + 1) * grid.least_step;
    return up ? Neighbours{above, below} : Neighbours{below, above};
  }
  const uint32_t step = 1u << grid.dropped_bits, below = magnitude & ~(step - 1), above = below + step;
  const uint32_t rest = magnitude - below;
  const bool up = rest > step / 2 || (rest == step / 2 && (below & step) != 0);
  if (below > grid.largest || (up && above > grid.largest)) return {value, value};
  const auto low = std::bit_cast<float>(below), high = std::bit_cast<float>(above);
  return up ? Neighbours{high, low} : Neighbours{low, above > grid.largest ? low : high};
}

// What becomes of kLanes weights: loops of one length without branches, which the compiler makes vectors of.
constexpr size_t kLanes = 32;
struct Block {
  uint32_t bits[kLanes];  // in: the weights; out: the nearest
  float errors[kLanes];   // of those, with their sign
  float costs[kLanes];    // distance between the neighbours less twice the error; negative: no other neighbour

  void round(const NumberGrid& grid) {
    uint32_t signs[kLanes], nearest[kLanes], others[kLanes];
    const uint32_t step = 1u << grid.dropped_bits, mask = ~(step - 1), half = step / 2 - 1;
    const auto shift = static_cast<uint32_t>(grid.dropped_bits);
    const uint32_t least = grid.least_normal, largest = grid.largest;
    uint32_t unusual = 0;
    for (size_t k = 0; k < kLanes; ++k) {
      signs[k] = bits[k] & 0x80000000u;
      bits[k] &= 0x7fffffffu;
      nearest[k] = (bits[k] + half + ((bits[k] >> shift) & 1)) & mask;
      others[k] = 2 * (bits[k] & mask) + step - nearest[k];
      // As differences of numbers below 2^31, whose sign is whether one is less. NaN are not ordinary, and stay so.
      unusual |= (bits[k] - least) | (largest - nearest[k]) | (largest - others[k]);
    }
    for (size_t k = 0; k < kLanes; ++k) {
      const float size = std::bit_cast<float>(bits[k]), rounded = std::bit_cast<float>(nearest[k]);
      errors[k] = rounded - size;
      costs[k] = std::fabs(std::bit_cast<float>(others[k]) - rounded) - 2 * std::fabs(errors[k]);
    }
    if ((unusual & 0x80000000u) != 0) round_singly(grid, nearest);
    for (size_t k = 0; k < kLanes; ++k) {
      errors[k] = std::bit_cast<float>(std::bit_cast<uint32_t>(errors[k]) ^ signs[k]);
      bits[k] = nearest[k] | signs[k];
    }
  }

  void round_singly(const NumberGrid& grid, uint32_t* nearest) {
    for (size_t k = 0; k < kLanes; ++k) {
      const Neighbours n = neighbours(bits[k], grid);
      nearest[k] = std::bit_cast<uint32_t>(n.nearest);
      errors[k] = bits[k] < 0x7f800000u ? n.nearest - std::bit_cast<float>(bits[k]) : 0;
      costs[k] = n.other == n.nearest ? -1 : std::fabs(n.other - n.nearest) - 2 * std::fabs(errors[k]);
    }
  }
};

class RowRounder {
 public:
  RowRounder(const NumberGrid& grid, int64_t length) : grid_(grid) {
    errors_.resize((static_cast<size_t>(length) + kLanes - 1) / kLanes * kLanes);
    costs_.resize(errors_.size());
  }

  // `row`: replaced by its rounded numbers.
  void round(std::span<float> row) {
    double sums[4] = {}, squares[4] = {};
    Block block;
    for (size_t at = 0; at < row.size(); at += kLanes) {
      const size_t count = std::min(kLanes, row.size() - at);
      if (count < kLanes) block = {};
      std::memcpy(block.bits, row.data() + at, count * sizeof(float));
      block.round(grid_);
      std::memcpy(row.data() + at, block.bits, count * sizeof(float));
      std::memcpy(errors_.data() + at, block.errors, sizeof block.errors);
      std::memcpy(costs_.data() + at, block.costs, sizeof block.costs);
      for (size_t k = 0; k < kLanes; ++k) {
        const auto error = static_cast<double>(block.errors[k]);
        sums[k % 4] += error;
        squares[k % 4] += error * error;
      }
    }
    const double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    const double square = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    if (sum != 0 && row.size() > 1) cancel(row, sum, square * (kSquaredErrorGrowth - 1));
  }

 private:
  // A weight that may take its other neighbour, and what it costs: the squared error grows by change * cost.
  struct Choice {
    double cost, change;
    size_t index;
    bool operator<(const Choice& b) const { return cost != b.cost ? cost < b.cost : index < b.index; }
  };

  // Fills choices_ with those that bring the sum nearer to zero and cost less than `most`. Returns what they add up to.
  double collect(double sum, double most) {
    choices_.clear();
    double reach = 0;
    const auto limit = static_cast<float>(most);
    const float sign = sum > 0 ? 1 : -1;
    constexpr size_t kStride = 16;  // few have one of these: as vectors
    for (size_t at = 0; at < errors_.size(); at += kStride) {
      const float *const errors = errors_.data() + at, *const costs = costs_.data() + at;
      const auto wanted = [&](size_t k) {
        return static_cast<int>(errors[k] * sign > 0) & static_cast<int>(costs[k] < limit);
      };
      int any = 0;
      for (size_t k = 0; k < kStride; ++k) any |= wanted(k);
      for (size_t k = 0; any != 0 && k < kStride; ++k) {
        if (wanted(k) == 0 || costs[k] < 0) continue;
        const double change = static_cast<double>(costs[k]) + 2 * std::fabs(static_cast<double>(errors[k]));
        if (change >= 2 * std::fabs(sum)) continue;
        choices_.push_back({costs[k], change, at + k});
        reach += change;
      }
    }
    return reach;
  }

  // Cheapest first, until the sum passes zero. Few are needed (about a quarter of the root of the row's length), so
  // only those near a tie are collected and sorted. None costs as much as twice the sum: that would change more than
  // helps.
  void cancel(std::span<float> row, double sum, double budget) {
    double left = std::fabs(sum), most = 4 * left / static_cast<double>(row.size());
    while (collect(sum, most) < 1.25 * left && most < 2 * left) most *= 4;
    std::sort(choices_.begin(), choices_.end());
    int misses = 0;
    for (const Choice& c : choices_) {
      if (std::fabs(left - c.change) >= left || c.change * c.cost > budget) {
        if (++misses == kMisses) break;
        continue;
      }
      misses = 0;
      float& weight = row[c.index];
      weight = std::copysign(weight - static_cast<float>(std::copysign(c.change, sum)), weight);  // also to a zero
      left -= c.change;
      budget -= c.change * c.cost;
      if (left <= 0) break;
    }
  }

  const NumberGrid& grid_;
  std::vector<float> errors_, costs_;  // as in Block, filled up with zeros
  std::vector<Choice> choices_;
};

std::vector<int64_t> offsets_of(const std::vector<Axis>& axes) {
  std::vector<int64_t> offsets{0};
  for (const Axis& axis : axes) {
    std::vector<int64_t> longer;
    longer.reserve(offsets.size() * static_cast<size_t>(axis.extent));
    for (const int64_t offset : offsets)
      for (int64_t i = 0; i < axis.extent; ++i) longer.push_back(offset + i * axis.stride);
    offsets = std::move(longer);
  }
  return offsets;
}

int64_t volume_from(const Dims& dims, size_t axis) {
  int64_t volume = 1;
  for (size_t a = axis; a < dims.size(); ++a) volume *= dims[a];
  return volume;
}

}  // namespace

WeightRows conv_rows(const Dims& w) {
  if (w.size() < 2) return single_elements(w);
  const int64_t filter = volume_from(w, 1);
  return {{{w[0], filter}}, {{filter, 1}}};
}

WeightRows transposed_conv_rows(const Dims& w, int64_t groups, std::span<const int64_t> strides,
                                std::span<const int64_t> dilations) {
  if (w.size() < 2 || groups < 1 || w[0] % groups != 0) return single_elements(w);
  const int64_t window = volume_from(w, 2), depth = w[0] / groups;
  WeightRows made;
  made.rows = {{groups, depth * w[1] * window}, {w[1], window}};
  made.terms = {{depth, w[1] * window}};
  for (size_t a = 2; a < w.size(); ++a) {
    const int64_t inner = volume_from(w, a + 1);
    const int64_t stride = a - 2 < strides.size() ? strides[a - 2] : 1;
    const int64_t dilation = a - 2 < dilations.size() ? dilations[a - 2] : 1;
    const bool phases = stride > 1 && dilation == 1 && w[a] % stride == 0;
    if (phases) made.rows.push_back({stride, inner});
    made.terms.push_back({phases ? w[a] / stride : w[a], phases ? stride * inner : inner});
  }
  return made;
}

WeightRows matrix_rows(const Dims& w, bool depth_last) {
  if (w.size() < 2) return {{}, {{w.volume(), 1}}};
  const int64_t last = w[w.size() - 1], before = w[w.size() - 2];
  const int64_t matrices = last * before == 0 ? 0 : w.volume() / (last * before);
  if (depth_last) return {{{matrices * before, last}}, {{last, 1}}};
  return {{{matrices, last * before}, {last, 1}}, {{before, last}}};
}

WeightRows single_elements(const Dims& w) { return {{{w.volume(), 1}}, {}}; }

void round_rows(std::span<float> weights, const WeightRows& layout, const NumberGrid& grid) {
  const std::vector<int64_t> rows = offsets_of(layout.rows), terms = offsets_of(layout.terms);
  if (rows.empty() || terms.empty()) return;
  const auto length = static_cast<int64_t>(terms.size());
  const bool dense = terms.back() + 1 == length;  // offsets rise: no gap then
  const auto round_some = [&](int64_t begin, int64_t end) {
    RowRounder rounder(grid, length);
    std::vector<float> block(dense ? 0 : static_cast<size_t>(kBlock * length));
    for (int64_t first = begin; first < end; first += kBlock) {
      const int64_t count = std::min(kBlock, end - first);
      const int64_t* const starts = rows.data() + first;
      for (int64_t r = 0; dense && r < count; ++r)
        rounder.round(weights.subspan(static_cast<size_t>(starts[r]), static_cast<size_t>(length)));
      if (dense) continue;
      for (int64_t t = 0; t < length; ++t)
        for (int64_t r = 0; r < count; ++r)
          block[static_cast<size_t>(r * length + t)] =
              weights[static_cast<size_t>(starts[r] + terms[static_cast<size_t>(t)])];
      for (int64_t r = 0; r < count; ++r) rounder.round({block.data() + r * length, static_cast<size_t>(length)});
      for (int64_t t = 0; t < length; ++t)
        for (int64_t r = 0; r < count; ++r)
          weights[static_cast<size_t>(starts[r] + terms[static_cast<size_t>(t)])] =
              block[static_cast<size_t>(r * length + t)];
    }
  };
  parallel_for(static_cast<int64_t>(rows.size()), std::max<int64_t>(kBlock, kGrain / length), round_some);
}

}  // namespace wootz
