// In what a model's convolutions and products are to be computed, and what became of each.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"

namespace wootz {

enum class NumberFormat : uint8_t { kInt8, kInt8Dynamic, kFp8, kInt4, kNvfp4, kMxfp8, kFp16, kBf16, kFp32 };
// "int8", ...; errors name those that there are.
Result<NumberFormat> number_format_from_name(std::string_view name);
const char* number_format_name(NumberFormat format);
// Whether values are floats as a whole (kFp32: as they are, with pruned weights), not layers with scales.
inline bool is_float_format(NumberFormat format) {
  return format == NumberFormat::kFp16 || format == NumberFormat::kBf16 || format == NumberFormat::kFp32;
}
// Whether it has scales of activations, which representative inputs give.
inline bool has_activation_scales(NumberFormat format) {
  return format == NumberFormat::kInt8 || format == NumberFormat::kFp8;
}

// Whether a scale for each row of an activation is found while the model runs.
inline bool is_dynamic(NumberFormat format) { return format == NumberFormat::kInt8Dynamic; }

// Whether weights alone are in it, in blocks along what is summed.
inline bool is_in_blocks(NumberFormat format) {
  return format == NumberFormat::kInt4 || format == NumberFormat::kNvfp4 || format == NumberFormat::kMxfp8;
}

// How a model's convolutions and products are to be computed.
struct FormatRules {
  NumberFormat format = NumberFormat::kInt8;
  std::map<std::string, NumberFormat, std::less<>> formats;  // of layers in another one; none is a float format
  std::map<std::string, float, std::less<>> scales;  // of values, as int8_scale() of their range: kInt8 and kFp8
  std::map<std::string, float, std::less<>> least;   // values of these, 0 where none is negative: for zero points
  // What is added to a layer's result, by channel, so that its mean is as in float.
  std::map<std::string, std::vector<float>, std::less<>> corrections;
  std::map<std::string, DType, std::less<>> types;  // of values: kFp16 and kBf16
  std::map<std::string, int, std::less<>> ranks;    // of values, where the model is of an older opset
  std::set<std::string, std::less<>> keep;          // layers that stay in float
  int block = 128;                                  // elements of a scale: kInt4
  // kInt4: weights from the least to the largest, not around 0. kInt8: so activations that are hardly negative, in u8.
  bool zero_points = false;
  bool sparse = false;  // of each four weights along the sum, the two smallest are 0 (prune.h)
};

// A convolution or product of the model.
struct EditedLayer {
  std::string name;  // the node's, or its result's where it has none
  std::string op, input, output;
  std::string why_not;                        // why it stays as it is; empty: it does not
  NumberFormat format = NumberFormat::kInt8;  // that it was to have
  double scale = 0, range = 0;                // of the activation; 0: it has none
  int zero_point = 0;
  double weight_scale[2] = {};   // the least and the largest
  std::optional<double> pruned;  // root mean square of the weights that became 0, as a part of all
  std::string not_pruned;        // why not, where its weights were to be and it has the format
  double weight_error = 0;  // root mean square of what rounding does to the weights that are left, as a part of theirs
};

}  // namespace wootz
