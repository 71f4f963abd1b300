#include "backends/cpu/dense/quads_pack.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace wootz::cpu {
namespace {

// |x| <= 128, so that sums of 16 bits hold what weights of this sum of sizes give: 128 * 256 below zero, and above zero
// less, as a weight's size is that of its product with a value of the worse sign.
constexpr int kLargestSum = 256;
// Quads that are looked at for one group: more give hardly larger ones.
constexpr int64_t kWindow = 64;

int size_of(int8_t w) { return w >= 0 ? w + 1 : -w; }

using Sizes = std::vector<uint16_t>;  // [quad][column][2]: of the two sums of 16 bits that a quad's products make

Sizes sizes_of(const int8_t* weights, int64_t quads, int64_t panel) {
  Sizes sizes(static_cast<size_t>(quads * panel * 2));
  for (size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = static_cast<uint16_t>(size_of(weights[2 * i]) + size_of(weights[2 * i + 1]));
  return sizes;
}

bool fits(const uint16_t* sum, const uint16_t* more, int64_t n) {
  int largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, sum[i] + more[i]);
  return largest <= kLargestSum;
}

using Group = std::vector<int64_t>;

// Each quad takes those after it that still fit, the nearest first.
std::vector<Group> group(const int8_t* weights, int64_t quads, int64_t panel) {
  const int64_t lanes = panel * 2;
  const Sizes sizes = sizes_of(weights, quads, panel);
  std::vector<bool> used(static_cast<size_t>(quads), false);
  std::vector<uint16_t> sum(static_cast<size_t>(lanes));
  std::vector<Group> groups;
  for (int64_t q = 0; q < quads; ++q) {
    if (used[static_cast<size_t>(q)]) continue;
    std::copy_n(sizes.begin() + q * lanes, lanes, sum.begin());
    Group members{q};
    int64_t seen = 0;
    for (int64_t r = q + 1; r < quads && seen < kWindow && members.size() < kMostTogether; ++r) {
      if (used[static_cast<size_t>(r)]) continue;
      ++seen;
      const uint16_t* more = sizes.data() + r * lanes;
      if (!fits(sum.data(), more, lanes)) continue;
      for (int64_t i = 0; i < lanes; ++i)
        sum[static_cast<size_t>(i)] = static_cast<uint16_t>(sum[static_cast<size_t>(i)] + more[i]);
      members.push_back(r);
      used[static_cast<size_t>(r)] = true;
    }
    groups.push_back(std::move(members));
  }
  return groups;
}

}  // namespace

QuadParts::QuadParts(int64_t n) : elements(n), count(ceil_div(n, kQuadsPart)), length(0) {
  if (count == 0) return;
  length = ceil_div(ceil_div(n, count), 4) * 4;
  count = ceil_div(n, length);
}

QuadPanels::QuadPanels(const DenseShape& s, int64_t wide)
    : parts(s.taps * s.depth), panel(wide), panels(ceil_div(s.columns, wide)) {}

int64_t QuadPanels::panel_bytes() const {
  if (parts.count == 0) return 0;
  return part_offset(parts.count - 1) + QuadBlock::bytes(ceil_div(parts.size(parts.count - 1), 4), panel);
}

void pack_quads(const int8_t* weights, int64_t quads, int64_t panel, std::byte* to) {
  std::fill_n(to, QuadBlock::head_bytes(quads), std::byte{0});
  const std::vector<Group> groups = group(weights, quads, panel);
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
