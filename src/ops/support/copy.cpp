#include "ops/support/copy.h"

#include <cstring>

namespace wootz::ops {
namespace {

unsigned get_bits(const HostTensor& t, int64_t index, int bits) {
  const int per_byte = 8 / bits;
  const uint8_t byte = static_cast<const uint8_t*>(t.data())[index / per_byte];
  return (byte >> ((index % per_byte) * bits)) & ((1u << bits) - 1);
}

void set_bits(HostTensor& t, int64_t index, int bits, unsigned value) {
  const int per_byte = 8 / bits;
  uint8_t& byte = static_cast<uint8_t*>(t.mutable_data())[index / per_byte];
  const int shift = static_cast<int>(index % per_byte) * bits;
  const unsigned mask = ((1u << bits) - 1) << shift;
  byte = static_cast<uint8_t>((byte & ~mask) | ((value << shift) & mask));
}

// Calls row(from, to, count, from_stride, to_stride) for each line along the last axis.
template <typename Row>
void walk_rows(const StridedCopy& walk, Row row) {
  for (int64_t extent : walk.extents)
    if (extent <= 0) return;
  if (walk.extents.empty()) return row(walk.from_offset, walk.to_offset, int64_t{1}, int64_t{0}, int64_t{0});
  const size_t last = walk.extents.size() - 1;
  std::vector<int64_t> index(last, 0);
  int64_t from = walk.from_offset, to = walk.to_offset;
  while (true) {
    row(from, to, walk.extents[last], walk.from_strides[last], walk.to_strides[last]);
    size_t axis = last;
    while (axis > 0) {
      --axis;
      from += walk.from_strides[axis];
      to += walk.to_strides[axis];
      if (++index[axis] < walk.extents[axis]) break;
      from -= walk.from_strides[axis] * walk.extents[axis];
      to -= walk.to_strides[axis] * walk.extents[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (last == 0) return;
  }
}

template <typename T>
void strided_copy_of(const HostTensor& from, HostTensor& to, const StridedCopy& walk) {
  const T* source = static_cast<const T*>(from.data());
  T* target = static_cast<T*>(to.mutable_data());
  walk_rows(walk, [&](int64_t f, int64_t t, int64_t count, int64_t from_stride, int64_t to_stride) {
    if (from_stride == 1 && to_stride == 1) {
      std::memcpy(target + t, source + f, static_cast<size_t>(count) * sizeof(T));
      return;
    }
    for (int64_t i = 0; i < count; ++i) target[t + i * to_stride] = source[f + i * from_stride];
  });
}

}  // namespace

void copy_elements(const HostTensor& from, int64_t from_index, HostTensor& to, int64_t to_index, int64_t count) {
  if (count <= 0) return;
  const int bits = dtype_bits(from.dtype());
  if (bits >= 8) {
    const auto size = static_cast<size_t>(bits / 8);
    std::memcpy(static_cast<char*>(to.mutable_data()) + static_cast<size_t>(to_index) * size,
                static_cast<const char*>(from.data()) + static_cast<size_t>(from_index) * size,
                static_cast<size_t>(count) * size);
    return;
  }
  for (int64_t i = 0; i < count; ++i) set_bits(to, to_index + i, bits, get_bits(from, from_index + i, bits));
}

void fill_elements(const HostTensor& from, int64_t from_index, HostTensor& to, int64_t to_index, int64_t count) {
  StridedCopy walk;
  walk.from_offset = from_index;
  walk.to_offset = to_index;
  walk.axis(count, 0, 1);
  strided_copy(from, to, walk);
}

void strided_copy(const HostTensor& from, HostTensor& to, const StridedCopy& walk) {
  const int bits = dtype_bits(from.dtype());
  switch (bits) {
    case 8: return strided_copy_of<uint8_t>(from, to, walk);
    case 16: return strided_copy_of<uint16_t>(from, to, walk);
    case 32: return strided_copy_of<uint32_t>(from, to, walk);
    case 64: return strided_copy_of<uint64_t>(from, to, walk);
    case 0: return;
    default: break;
  }
  walk_rows(walk, [&](int64_t f, int64_t t, int64_t count, int64_t from_stride, int64_t to_stride) {
    for (int64_t i = 0; i < count; ++i)
      set_bits(to, t + i * to_stride, bits, get_bits(from, f + i * from_stride, bits));
  });
}

void share_elements(const HostTensor& from, HostTensor& to) { to = from.reshaped(to.dims()); }

int64_t span_volume(const Dims& dims, int first, int last) {
  int64_t v = 1;
  for (int a = first; a < last; ++a) v *= dims[static_cast<size_t>(a)];
  return v;
}

}  // namespace wootz::ops
