#include "backends/cpu/dense/quads_pack.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace wootz::cpu {
namespace {

// |x| <= 128, so that sums of 16 bits hold what weights of this sum of sizes give: 128 * 256 below zero, and above zero
// less, as a weight's size is that of its product with a value of the worse sign.
constexpr int kLargestSum = 256;
// For each group: the quads that are looked at, and how often one is tried. More give hardly larger groups.
constexpr size_t kWindow = 64;
constexpr int kMostTries = 256;

int size_of(int8_t w) { return w >= 0 ? w + 1 : -w; }

using Sizes = std::vector<int16_t>;  // [quad][column][2]: of the two sums of 16 bits that a quad's products make

Sizes sizes_of(const int8_t* weights, int64_t quads, int64_t panel) {
  Sizes sizes(static_cast<size_t>(quads * panel * 2));
  for (size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = static_cast<int16_t>(size_of(weights[2 * i]) + size_of(weights[2 * i + 1]));
  return sizes;
}

using Group = std::vector<int64_t>;

// Divides quads into groups, as large ones as it finds.
class Grouping {
 public:
  Grouping(const int8_t* weights, int64_t quads, int64_t panel)
      : lanes_(static_cast<size_t>(panel * 2)), sizes_(sizes_of(weights, quads, panel)) {
    for (Sizes& sum : sums_) sum.resize(lanes_);
    // Those that fit least go first, while there are many to go with them.
    std::vector<int16_t> largest(static_cast<size_t>(quads));
    for (int64_t q = 0; q < quads; ++q) largest[static_cast<size_t>(q)] = *std::max_element(of(q), of(q) + lanes_);
    left_.resize(static_cast<size_t>(quads));
    std::iota(left_.begin(), left_.end(), 0);
    std::stable_sort(left_.begin(), left_.end(), [&](int64_t a, int64_t b) {
      return largest[static_cast<size_t>(a)] > largest[static_cast<size_t>(b)];
    });
  }

  std::vector<Group> all() {
    std::vector<Group> groups;
    while (!left_.empty()) groups.push_back(next());
    return groups;
  }

 private:
  const int16_t* of(int64_t quad) const { return sizes_.data() + static_cast<size_t>(quad) * lanes_; }

  // The first that is left, and the best company for it.
  Group next() {
    std::copy_n(of(left_[0]), lanes_, sums_[0].begin());
    tries_ = kMostTries;
    best_ = now_ = {0};
    extend(1);
    Group members;
    for (const size_t place : best_) members.push_back(left_[place]);
    for (size_t i = best_.size(); i-- > 0;) left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(best_[i]));
    return members;
  }

  // Tries quads from place `first` on beside those in now_.
  void extend(size_t first) {
    const size_t size = now_.size(), end = std::min(left_.size(), kWindow);
    for (size_t i = first; i < end && best_.size() < kMostTogether && tries_ > 0; ++i, --tries_) {
      if (!add(sums_[size - 1], of(left_[i]), &sums_[size])) continue;
      now_.push_back(i);
      if (size + 1 > best_.size()) best_ = now_;
      if (size + 1 < kMostTogether) extend(i + 1);
      now_.pop_back();
    }
  }

  bool add(const Sizes& sum, const int16_t* more, Sizes* to) const {
    int16_t largest = 0;
    for (size_t i = 0; i < lanes_; ++i) {
      const auto size = static_cast<int16_t>(sum[i] + more[i]);
      (*to)[i] = size;
      largest = std::max(largest, size);
    }
    return largest <= kLargestSum;
  }

  const size_t lanes_;
  const Sizes sizes_;
  Sizes sums_[kMostTogether];  // of the first members of now_
  std::vector<int64_t> left_;
  std::vector<size_t> now_, best_;  // places in left_
  int tries_ = 0;
};

}  // namespace

QuadParts::QuadParts(int64_t n, int64_t most) : elements(n), count(ceil_div(n, most)), length(0) {
  if (count == 0) return;
  length = ceil_div(ceil_div(n, count), 4) * 4;
  count = ceil_div(n, length);
}

QuadPanels::QuadPanels(const DenseShape& s, const QuadsForm& f)
    : form(f), parts(s.taps * s.depth, f.part), panel(f.panel), panels(ceil_div(s.columns, f.panel)) {}

int64_t QuadPanels::panel_bytes() const {
  if (parts.count == 0) return 0;
  return part_offset(parts.count - 1) + form.block_bytes(ceil_div(parts.size(parts.count - 1), 4), panel);
}

void pack_quads(const int8_t* weights, int64_t quads, int64_t panel, std::byte* to) {
  std::fill_n(to, QuadBlock::head_bytes(quads), std::byte{0});
  const std::vector<Group> groups = Grouping(weights, quads, panel).all();
  QuadBlock head{};
  std::byte *order = to + sizeof head, *values = to + QuadBlock::head_bytes(quads);
  for (size_t size = kMostTogether; size > 0; --size)
    for (const Group& g : groups) {
      if (g.size() != size) continue;
      ++head.groups[kMostTogether - size];
      for (const int64_t q : g) {
        const auto offset = static_cast<uint16_t>(8 * q);
        std::memcpy(order, &offset, sizeof offset);
        std::memcpy(values, weights + q * panel * 4, static_cast<size_t>(panel * 4));
        order += sizeof offset;
        values += panel * 4;
      }
    }
  std::memcpy(to, &head, sizeof head);
}

}  // namespace wootz::cpu
