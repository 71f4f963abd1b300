#include "backends/cuda/generate/source.h"

#include <algorithm>
#include <cmath>

namespace wootz::cuda {

const char* storage_type(DType type) {
  switch (type) {
    case DType::kF16: return "f16";
    case DType::kBF16: return "bf16";
    case DType::kBool: return "b8";
    case DType::kF8E4M3: return "f8e4m3";
    case DType::kF8E4M3Fnuz: return "f8e4m3fnuz";
    case DType::kF8E5M2: return "f8e5m2";
    case DType::kF8E5M2Fnuz: return "f8e5m2fnuz";
    case DType::kF8E8M0: return "f8e8m0";
    default: return dtype_bits(type) < 8 ? nullptr : register_type(type);
  }
}

const char* register_type(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E4M3Fnuz:
    case DType::kF8E5M2:
    case DType::kF8E5M2Fnuz:
    case DType::kF8E8M0:
    case DType::kF4E2M1: return "float";
    case DType::kF64: return "double";
    case DType::kI4:
    case DType::kI2:
    case DType::kI8: return "s8";
    case DType::kU4:
    case DType::kU2:
    case DType::kU8: return "u8";
    case DType::kI16: return "short";
    case DType::kU16: return "u16";
    case DType::kI32: return "int";
    case DType::kU32: return "u32";
    case DType::kI64: return "s64";
    case DType::kU64: return "u64";
    case DType::kBool: return "bool";
    default: return nullptr;
  }
}

Status check_type(DType type) {
  return storage_type(type) != nullptr ? Status() : unsupported("type {}", dtype_name(type));
}

const char* bits_type(int bits) {
  return bits == 8 ? "u8" : bits == 16 ? "u16" : bits == 32 ? "u32" : bits == 64 ? "u64" : nullptr;
}

std::vector<int> memory_order(Layout layout, int rank) {
  std::vector<int> order;
  for (int a = 0; a < rank; ++a)
    if (layout != Layout::kChannelsLast || a != 1) order.push_back(a);
  if (layout == Layout::kChannelsLast) order.push_back(1);
  return order;
}

void place_part(const PartPlaces& places, size_t first, std::vector<Launch>* launches) {
  for (size_t i = first; i < launches->size(); ++i) {
    Launch& launch = (*launches)[i];
    launch.workspace += places.scratch;
    for (Pointer& p : launch.pointers) {
      if (p.index < 0)
        p.offset += places.scratch;
      else
        p = (p.output ? places.outputs : places.inputs)[static_cast<size_t>(p.index)];
    }
  }
}

std::vector<Axis> merge_axes(std::vector<Axis> axes) {
  std::vector<Axis> merged;
  for (Axis& axis : axes) {
    if (axis.extent == 1) continue;
    if (!merged.empty()) {
      Axis& outer = merged.back();
      bool joins = true;
      for (size_t k = 0; k < axis.strides.size(); ++k)
        joins = joins && outer.strides[k] == axis.strides[k] * axis.extent;
      if (joins) {
        outer.extent *= axis.extent;
        outer.strides = axis.strides;
        continue;
      }
    }
    merged.push_back(std::move(axis));
  }
  return merged;
}

int64_t volume(const std::vector<Axis>& axes) {
  int64_t v = 1;
  for (const Axis& a : axes) v *= a.extent;
  return v;
}

Result<std::vector<int64_t>> strides_over(Layout layout, const Dims& dims, const Dims& out) {
  if (dims.rank() > out.rank())
    return invalid_argument("{} does not broadcast to {}", dims.to_string(), out.to_string());
  if (layout == Layout::kChannelsLast && dims.rank() < 3) layout = Layout::kLinear;
  const Dims strides = layout_strides(layout, dims);
  std::vector<int64_t> over(out.size(), 0);
  const size_t shift = out.size() - dims.size();
  for (size_t a = 0; a < dims.size(); ++a) {
    if (dims[a] == out[a + shift])
      over[a + shift] = dims[a] == 1 ? 0 : strides[a];
    else if (dims[a] != 1)
      return invalid_argument("{} does not broadcast to {}", dims.to_string(), out.to_string());
  }
  return over;
}

Result<std::vector<int64_t>> batch_strides(const Dims& dims, const Dims& out) {
  Dims matrices = dims;
  for (size_t from_end = 1; from_end <= 2; ++from_end) matrices[dims.size() - from_end] = out[out.size() - from_end];
  WOOTZ_RETURN_IF_ERROR(strides_over(Layout::kLinear, matrices, out).status());
  const Dims strides = dims.strides();
  std::vector<int64_t> over(out.size(), 0);
  for (size_t a = 0; a + 2 < dims.size(); ++a)
    if (dims[a] != 1) over[a + out.size() - dims.size()] = strides[a];
  return over;
}

int64_t volume_of(const Dims& dims, size_t first, size_t end) {
  int64_t volume = 1;
  for (size_t a = first; a < end; ++a) volume *= dims[a];
  return volume;
}

bool walks_vectors(const std::vector<Axis>& axes, int n) {
  if (n == 1) return true;
  if (axes.empty() || axes.back().extent % n != 0) return false;
  const std::vector<int64_t>& inner = axes.back().strides;
  for (size_t k = 0; k < inner.size(); ++k) {
    if (inner[k] == 0) continue;
    if (inner[k] != 1) return false;
    for (size_t i = 0; i + 1 < axes.size(); ++i)
      if (axes[i].strides[k] % n != 0) return false;
  }
  return true;
}

int vector_length(const std::vector<Axis>& axes, int largest_bytes) {
  for (int n = std::max(1, 16 / largest_bytes); n > 1; n /= 2)
    if (volume(axes) / n >= 4096 && walks_vectors(axes, n)) return n;
  return 1;
}

void count_in_vectors(int n, std::vector<Axis>* axes) {
  if (n == 1) return;
  axes->back().extent /= n;
  for (int64_t& s : axes->back().strides) s *= n;  // 1 becomes n: from vector to vector
}

bool walks_wide(const std::vector<Axis>& axes, size_t operands) {
  int64_t largest = volume(axes);
  for (size_t k = 0; k < operands; ++k) {
    int64_t span = 0;
    for (const Axis& a : axes) span += std::abs(a.strides[k]) * a.extent;
    largest = std::max(largest, span);
  }
  return largest >= (int64_t{1} << 31);
}

unsigned blocks_for(int64_t count, int64_t per_block) {
  return static_cast<unsigned>(std::max<int64_t>(1, (count + per_block - 1) / per_block));
}

Status check_count(int64_t count) {
  return count < (int64_t{1} << 31) * 200 ? Status() : unsupported("{} elements in one launch", count);
}

}  // namespace wootz::cuda
