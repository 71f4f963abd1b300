// What a step computes, as plain data: hashable, printable, the key of the timing cache. Knows no op and no graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dims.h"
#include "base/dtype.h"
#include "base/pointwise.h"

namespace wootz {

enum class Family : uint8_t {
#define FAMILY(enumerator, text) enumerator,
#include "backend/families.def"
#undef FAMILY
};
inline constexpr int kFamilyCount = static_cast<int>(Family::kOp) + 1;
const char* family_name(Family family);
bool family_from_name(std::string_view name, Family* family);

// How the elements of a logical tensor lie in memory. Logical dimension order never changes.
enum class Layout : uint8_t {
  kLinear,        // row-major in logical order (NCHW)
  kChannelsLast,  // dimension 1 innermost (NHWC); rank >= 3
  kBlocked8,      // NC/8 spatial 8c, channels padded with zeros to a multiple of 8; rank >= 3
  kBlocked16,     // NC/16 spatial 16c
  kOpaque,        // packed by one kernel for itself: only constant operands
};
const char* layout_name(Layout layout);
// Bytes in memory, channel padding included. Not for kOpaque.
size_t layout_bytes(Layout layout, DType dtype, const Dims& dims);
// Strides in elements per logical dimension for kLinear and kChannelsLast.
Dims layout_strides(Layout layout, const Dims& dims);

struct TensorDesc {
  DType dtype = DType::kInvalid;
  Layout layout = Layout::kLinear;
  Dims dims;               // extents at the profile's optimum
  Dims max_dims;           // at its maximum; equal to dims when static
  bool constant = false;   // the bytes are known at build time and may be packed
  bool dynamic() const { return !(dims == max_dims); }
};

using Param = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

struct Problem {
  Family family = Family::kOp;
  std::map<std::string, Param, std::less<>> params;
  std::vector<TensorDesc> inputs, outputs;
  int num_main = 0;               // inputs before the epilogue's operands
  PointwiseExpr epilogue;         // empty: none (except family pointwise, where it is the body)
  DType acc_dtype = DType::kF32;  // type of the family's own result as the epilogue sees it

  int64_t get_int(std::string_view name, int64_t fallback = 0) const;
  double get_float(std::string_view name, double fallback = 0) const;
  std::string get_string(std::string_view name, std::string_view fallback = "") const;
  std::vector<int64_t> get_ints(std::string_view name) const;
  std::vector<double> get_floats(std::string_view name) const;

  // Canonical text: equal problems have equal keys. Weights' values do not enter.
  std::string key() const;
};

}  // namespace wootz
