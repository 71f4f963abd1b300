#include "backends/cpu/move/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/move/transpose_block.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kUnitBytes = 32 * 1024;  // of work, at least, in one unit

template <class T>
void strided(const char* in, char* out, int64_t is, int64_t os, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(out, in, sizeof(T));
    in += is * static_cast<int64_t>(sizeof(T));
    out += os * static_cast<int64_t>(sizeof(T));
  }
}
template <class T>
void fill(const char* in, char* out, int64_t n) {
  T v;
  std::memcpy(&v, in, sizeof(T));
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
}

// Small rows without the call.
void copy_row(char* out, const char* in, size_t bytes) {
  if (bytes == 4)
    std::memcpy(out, in, 4);
  else if (bytes == 8)
    std::memcpy(out, in, 8);
  else if (bytes == 16)
    std::memcpy(out, in, 16);
  else if (bytes == 32)
    std::memcpy(out, in, 32);
  else
    std::memcpy(out, in, bytes);
}

}  // namespace

void StridedCopy::prepare() {
  volume_ = 1;
  int n = 0;
  for (int i = 0; i < count_; ++i) {
    const Dim d = dims_[static_cast<size_t>(i)];
    volume_ *= d.extent;
    if (d.extent != 1) dims_[static_cast<size_t>(n++)] = d;
  }
  // Outermost first: by where it is written.
  std::stable_sort(dims_.begin(), dims_.begin() + n, [](const Dim& a, const Dim& b) { return a.out > b.out; });
  count_ = 0;
  for (int i = 0; i < n; ++i) {
    const Dim d = dims_[static_cast<size_t>(i)];
    if (count_ > 0) {
      Dim& last = dims_[static_cast<size_t>(count_ - 1)];
      if (last.out == d.out * d.extent && last.in == d.in * d.extent) {
        last = {last.extent * d.extent, d.in, d.out};
        continue;
      }
    }
    dims_[static_cast<size_t>(count_++)] = d;
  }
  if (count_ == 0) dims_[static_cast<size_t>(count_++)] = {1, 1, 1};
  const auto inner = static_cast<size_t>(count_ - 1);
  inner_ = dims_[inner].in == 1 && dims_[inner].out == 1 ? Inner::kRows : Inner::kStrided;
  int64_t per_step = bytes_;  // bytes of one step along the divided axis
  if (inner_ == Inner::kStrided && dims_[inner].out == 1 && count_ > 1) {
    // A plane that is contiguous one way when read and the other way when written.
    for (size_t i = 0; i < inner; ++i)
      if (dims_[i].in == 1 && dims_[i].extent >= 4 && dims_[inner].extent >= 2) {
        std::rotate(dims_.begin() + static_cast<ptrdiff_t>(i), dims_.begin() + static_cast<ptrdiff_t>(i) + 1,
                    dims_.begin() + static_cast<ptrdiff_t>(inner));
        inner_ = Inner::kTranspose;
        per_step = bytes_ * dims_[inner].extent;
        break;
      }
  }
  const Dim& divided = dims_[inner_ == Inner::kTranspose ? inner - 1 : inner];
  chunk_ = std::max<int64_t>(1, kUnitBytes / per_step);
  if (inner_ == Inner::kTranspose) chunk_ = (chunk_ + 31) / 32 * 32;
  chunk_ = std::max<int64_t>(1, std::min(chunk_, divided.extent));
  split_ = divided.extent == 0 ? 0 : (divided.extent + chunk_ - 1) / chunk_;
}

void StridedCopy::inner_rows(const char* in, char* out, int64_t, int64_t n) const {
  copy_row(out, in, static_cast<size_t>(n * bytes_));
}

void StridedCopy::inner_strided(const char* in, char* out, int64_t, int64_t n) const {
  const Dim& d = dims_[static_cast<size_t>(count_ - 1)];
  if (d.in == 0 && d.out == 1) {
    switch (bytes_) {
      case 1: std::memset(out, *in, static_cast<size_t>(n)); return;
      case 2: return fill<uint16_t>(in, out, n);
      case 4: return fill<uint32_t>(in, out, n);
      default: return fill<uint64_t>(in, out, n);
    }
  }
  switch (bytes_) {
    case 1: return strided<uint8_t>(in, out, d.in, d.out, n);
    case 2: return strided<uint16_t>(in, out, d.in, d.out, n);
    case 4: return strided<uint32_t>(in, out, d.in, d.out, n);
    default: return strided<uint64_t>(in, out, d.in, d.out, n);
  }
}

// n steps along the read-contiguous axis, all of the write-contiguous one.
void StridedCopy::inner_transpose(const char* in, char* out, int64_t, int64_t n) const {
  const Dim &rows = dims_[static_cast<size_t>(count_ - 2)], &columns = dims_[static_cast<size_t>(count_ - 1)];
  transpose_plane(in, columns.in, out, rows.out, n, columns.extent, bytes_);
}

void StridedCopy::run_units(const char* in, char* out, int64_t begin, int64_t end) const {
  const int last = inner_ == Inner::kTranspose ? count_ - 2 : count_ - 1;  // the divided axis
  const Dim& divided = dims_[static_cast<size_t>(last)];
  int64_t index[kMaxDims];
  int64_t rest = begin / split_, unit = begin % split_, from = 0, to = 0;
  for (int i = last - 1; i >= 0; --i) {
    const Dim& d = dims_[static_cast<size_t>(i)];
    index[i] = rest % d.extent;
    rest /= d.extent;
    from += index[i] * d.in;
    to += index[i] * d.out;
  }
  for (int64_t u = begin; u < end; ++u) {
    const int64_t first = unit * chunk_, n = std::min(chunk_, divided.extent - first);
    const char* a = in + (from + first * divided.in) * bytes_;
    char* b = out + (to + first * divided.out) * bytes_;
    switch (inner_) {
      case Inner::kRows: inner_rows(a, b, first, n); break;
      case Inner::kTranspose: inner_transpose(a, b, first, n); break;
      case Inner::kStrided: inner_strided(a, b, first, n); break;
    }
    if (++unit < split_) continue;
    unit = 0;
    for (int i = last - 1; i >= 0; --i) {
      const Dim& d = dims_[static_cast<size_t>(i)];
      from += d.in;
      to += d.out;
      if (++index[i] < d.extent) break;
      from -= d.extent * d.in;
      to -= d.extent * d.out;
      index[i] = 0;
    }
  }
}

void StridedCopy::run(const void* in, void* out) const {
  if (volume_ == 0) return;
  int64_t units = split_, elements = chunk_;
  for (int i = 0; i < count_ - (inner_ == Inner::kTranspose ? 2 : 1); ++i)
    units *= dims_[static_cast<size_t>(i)].extent;
  if (inner_ == Inner::kTranspose) elements *= dims_[static_cast<size_t>(count_ - 1)].extent;
  const char* from = static_cast<const char*>(in) + in_offset_ * bytes_;
  char* to = static_cast<char*>(out) + out_offset_ * bytes_;
  const int64_t grain = std::max<int64_t>(1, 2 * kUnitBytes / (elements * bytes_));
  parallel_for(units, grain, [&](int64_t begin, int64_t end) { run_units(from, to, begin, end); });
}

}  // namespace wootz::cpu
