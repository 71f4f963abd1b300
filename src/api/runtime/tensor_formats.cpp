#include "api/runtime/tensor_formats.h"

#include <array>
#include <iterator>
#include <string>
#include <vector>

namespace wootz::api {

using nvinfer1::TensorFormat;

namespace {

constexpr TensorFormatInfo kFormats[] = {
    {TensorFormat::kLINEAR, "kLINEAR", "Row-major linear", Layout::kLinear, 0, 1, false},
    {TensorFormat::kCHW2, "kCHW2", "Channels in groups of 2", Layout::kOpaque, 4, 2, true},
    {TensorFormat::kHWC8, "kHWC8", "Channels innermost in groups of 8", Layout::kChannelsLast, 4, 8, false},
    {TensorFormat::kCHW4, "kCHW4", "Channels in groups of 4", Layout::kOpaque, 4, 4, true},
    {TensorFormat::kCHW16, "kCHW16", "Channels in groups of 16", Layout::kBlocked16, 4, 16, true},
    {TensorFormat::kCHW32, "kCHW32", "Channels in groups of 32", Layout::kOpaque, 4, 32, true},
    {TensorFormat::kDHWC8, "kDHWC8", "Channels innermost in groups of 8", Layout::kChannelsLast, 5, 8, false},
    {TensorFormat::kCDHW32, "kCDHW32", "Channels in groups of 32", Layout::kOpaque, 5, 32, true},
    {TensorFormat::kHWC, "kHWC", "Channels innermost", Layout::kChannelsLast, 4, 1, false},
    {TensorFormat::kDLA_LINEAR, "kDLA_LINEAR", "DLA planar", Layout::kOpaque, 4, 1, false},
    {TensorFormat::kDLA_HWC4, "kDLA_HWC4", "DLA image", Layout::kOpaque, 4, 4, true},
    {TensorFormat::kHWC16, "kHWC16", "Channels innermost in groups of 16", Layout::kChannelsLast, 4, 16, false},
    {TensorFormat::kDHWC, "kDHWC", "Channels innermost", Layout::kChannelsLast, 5, 1, false},
};
static_assert(std::size(kFormats) == static_cast<size_t>(nvinfer1::EnumMax<TensorFormat>()));

}  // namespace

std::span<const TensorFormatInfo> tensor_formats() { return kFormats; }

const TensorFormatInfo& format_info(TensorFormat format) {
  const auto number = static_cast<size_t>(format);
  return kFormats[number < std::size(kFormats) ? number : 0];
}

const TensorFormatInfo& format_of(const EngineInfo& info, const IoInfo& io) {
  const PlanTensor& tensor = info.program().tensors[io.tensor];
  const int rank = static_cast<int>(tensor.dims.size());
  const auto fits = [&](const TensorFormatInfo& f) {
    return f.layout == tensor.layout && (f.rank == 0 || f.rank == rank);
  };
  const int32_t number = info.format_number(io);
  if (number >= 0 && static_cast<size_t>(number) < std::size(kFormats) && fits(kFormats[number]))
    return kFormats[number];
  for (const TensorFormatInfo& f : kFormats)
    if (fits(f) && (f.together == 1 || f.padded)) return f;
  return kFormats[0];
}

const char* describe_format(const TensorFormatInfo& format, DType type) {
  struct Text {
    DType type;
    const char* name;
  };
  constexpr Text kTypes[] = {{DType::kF32, "FP32"},  {DType::kF16, "FP16"},  {DType::kBF16, "BF16"},
                             {DType::kI8, "INT8"},   {DType::kI32, "INT32"}, {DType::kI64, "INT64"},
                             {DType::kBool, "BOOL"}, {DType::kU8, "UINT8"}};
  // Texts live as long as the process: callers are handed addresses.
  static const auto texts = [&] {
    std::vector<std::array<std::string, std::size(kTypes) + 1>> made;
    for (const TensorFormatInfo& f : kFormats) {
      auto& row = made.emplace_back();
      for (size_t t = 0; t < std::size(kTypes); ++t) row[t] = fmt::format("{} {} format", f.order, kTypes[t].name);
      row.back() = fmt::format("{} format", f.order);
    }
    return made;
  }();
  size_t t = 0;
  while (t < std::size(kTypes) && kTypes[t].type != type) ++t;
  return texts[static_cast<size_t>(format.format)][t].c_str();
}

nvinfer1::Dims format_strides(const TensorFormatInfo& format, const nvinfer1::Dims& dims) {
  nvinfer1::Dims strides = dims;
  const bool last = format.layout == Layout::kChannelsLast && dims.nbDims >= 3;
  int64_t step = 1;
  const auto place = [&](int32_t axis) {
    strides.d[axis] = step;
    int64_t extent = dims.d[axis];
    if (axis == 1 && format.together > 1) extent = (extent + format.together - 1) / format.together;
    step = step < 0 || dims.d[axis] < 0 ? -1 : step * extent;
  };
  if (last) place(1);
  for (int32_t axis = dims.nbDims - 1; axis >= 0; --axis)
    if (!last || axis != 1) place(axis);
  return strides;
}

}  // namespace wootz::api
