// What a step computes, as plain data: hashable, printable, the key of the timing cache. Knows no op and no graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/families.h"
#include "base/dims.h"
#include "base/dtype.h"
#include "base/pointwise.h"

namespace wootz {

// How the elements of a logical tensor lie in memory. Logical dimension order never changes.
enum class Layout : uint8_t {
  kLinear,        // row-major in logical order (NCHW)
  kChannelsLast,  // dimension 1 innermost (NHWC); rank >= 3
  kBlocked8,      // NC/8 spatial 8c, channels padded with zeros to a multiple of 8; rank >= 3
  kBlocked16,     // NC/16 spatial 16c
  kOpaque,        // packed by one kernel for itself: only constant operands
  // Where an application wants it: inputs and outputs of networks, and operands and results of its plugins. kReformat
  // and plugins read and write them, no other step. What pads an input may be anything.
  kBlocked2,
  kBlocked4,
  kBlocked16Border,
  kBlocked32,
  kChannelsLast8,  // as kChannelsLast, channels padded to a multiple of 8
  kChannelsLast16,
};
constexpr int kLayoutCount = static_cast<int>(Layout::kChannelsLast16) + 1;
constexpr bool at_border_only(Layout layout) { return layout > Layout::kOpaque; }
const char* layout_name(Layout layout);
bool layout_from_name(std::string_view name, Layout* layout);
// Channels are padded to a multiple of this; 1: they are not.
int64_t channel_multiple(Layout layout);
// All layouts but kOpaque are one form, [N][groups][spatial...][lanes]: channel c (index of dimension 1) is lane c %
// lanes of group c / lanes, and groups * lanes channels are in memory. From rank 3 on.
struct ChannelOrder {
  int64_t groups, lanes;
};
ChannelOrder channel_order(Layout layout, int64_t channels);
// Bytes in memory, channel padding included. Not for kOpaque.
size_t layout_bytes(Layout layout, DType dtype, const Dims& dims);
// Strides in elements per logical dimension for kLinear and kChannelsLast.
Dims layout_strides(Layout layout, const Dims& dims);

struct TensorDesc {
  DType dtype = DType::kInvalid;
  Layout layout = Layout::kLinear;
  Dims dims;              // extents at the profile's optimum
  Dims max_dims;          // at its maximum; equal to dims when static
  bool constant = false;  // the bytes are known at build time and may be packed
  bool dynamic() const { return !(dims == max_dims); }
};

struct Problem {
  FamilyParams params = OpParams();  // the family, and its parameters
  std::vector<TensorDesc> inputs, outputs;
  int num_main = 0;               // inputs before the epilogue's operands
  PointwiseExpr epilogue;         // empty: none (except family pointwise, where it is the body)
  DType acc_dtype = DType::kF32;  // type of the family's own result as the epilogue sees it
  // Extents of its operands are found by running, and other ones each time. It is bound to them while running: better
  // soon than to the fastest kernel.
  bool passing = false;

  Family family() const { return family_of(params); }
  bool is(Family family) const { return this->family() == family; }
  // Of that family, with nothing set.
  void set_family(Family family) { params = default_params(family); }

  // The parameters as those of the problem's family, which the caller knows it to be.
  template <typename P>
  const P& as() const {
    return std::get<P>(params);
  }
  template <typename P>
  P& as() {
    return std::get<P>(params);
  }
  // The same, null where the problem is of another family.
  template <typename P>
  const P* as_if() const {
    return std::get_if<P>(&params);
  }

  // Canonical text: equal problems, and no others, have equal keys. Weights' values do not enter. parse_problem()
  // (problem_text.h) reads it.
  std::string key() const;
};

}  // namespace wootz
