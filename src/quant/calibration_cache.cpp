#include "quant/calibration_cache.h"

#include <bit>
#include <charconv>
#include <cmath>

namespace wootz {
namespace {

constexpr size_t kHexDigits = 8;

Result<RangeMethod> read_header(std::string_view line) {
  const size_t dash = line.rfind('-');
  if (line.substr(0, 4) != "TRT-" || dash == std::string_view::npos || dash < 4)
    return invalid_argument("line 1: '{}' is not of the form TRT-VERSION-ALGORITHM", line.substr(0, 64));
  const std::optional<RangeMethod> method = range_method_from_name(line.substr(dash + 1));
  if (!method)
    return invalid_argument(
        "line 1: '{}' is no algorithm: EntropyCalibration2, EntropyCalibration, MinMaxCalibration, LegacyCalibration, "
        "LeastErrorCalibration",
        line.substr(dash + 1, 64));
  return *method;
}

// The scale of "name: 3c008912"; names may have colons in them.
Status read_line(std::string_view line, size_t number, TensorScales* scales) {
  const size_t colon = line.rfind(": ");
  if (colon == std::string_view::npos || colon == 0)
    return invalid_argument("line {}: '{}' is not of the form TENSOR: SCALE", number, line.substr(0, 64));
  const std::string_view digits = line.substr(colon + 2);
  uint32_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  if (digits.empty() || digits.size() > kHexDigits || error != std::errc() || end != digits.data() + digits.size())
    return invalid_argument("line {}: '{}' is no number of 32 bits in hexadecimal digits", number,
                            digits.substr(0, 64));
  // A range of nothing: the tensor was 0 throughout, as in find_range().
  const auto scale = bits == 0 ? int8_scale(1) : std::bit_cast<float>(bits);
  if (!std::isnormal(scale) || scale < 0)
    return invalid_argument("line {}: the scale {} of '{}' is no positive number", number, scale,
                            line.substr(0, colon));
  const auto [at, fresh] = scales->emplace(line.substr(0, colon), scale);
  if (!fresh) return invalid_argument("line {}: a second scale for '{}'", number, at->first);
  return Status();
}

}  // namespace

std::string write_calibration_cache(const CalibrationCache& cache, int version) {
  std::string text = fmt::format("TRT-{}-{}\n", version, range_method_name(cache.method));
  for (const auto& [name, scale] : cache.scales)
    text += fmt::format("{}: {:08x}\n", name, std::bit_cast<uint32_t>(scale));
  return text;
}

Result<CalibrationCache> read_calibration_cache(std::string_view text) {
  CalibrationCache cache;
  for (size_t number = 1; !text.empty() || number == 1; ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (number == 1) {
      WOOTZ_ASSIGN_OR_RETURN(cache.method, read_header(line));
    } else if (!line.empty()) {
      WOOTZ_RETURN_IF_ERROR(read_line(line, number, &cache.scales));
    }
  }
  return cache;
}

}  // namespace wootz
