#include "api/network/tensor.h"
#include "api/runtime/made_here.h"

#include <cmath>
#include <limits>

namespace wootz::api {

using nvinfer1::DataType;

namespace {
constexpr size_t kMostNameBytes = 4096;
}

TensorImpl* TensorImpl::of(const Owner& network, const nvinfer1::ITensor* tensor) {
  const auto* ours = made_here<TensorImpl>(tensor);
  return ours != nullptr && &ours->network() == &network ? const_cast<TensorImpl*>(ours) : nullptr;
}

void TensorImpl::setName(const char* name) noexcept {
  attempt(network_.reporter(), "ITensor::setName", [&]() -> Status {
    if (name == nullptr) return invalid_argument("tensor '{}': the name is null", name_);
    std::string text(name);
    if (text.size() >= kMostNameBytes)
      return invalid_argument("tensor '{}': a name of {} bytes; the limit is {}", name_, text.size(), kMostNameBytes);
    name_ = std::move(text);
    named_ = true;
    network_.renamed(*this);
    return Status();
  });
}

void TensorImpl::setType(DataType type) noexcept {
  attempt(network_.reporter(), "ITensor::setType", [&]() -> Status {
    const DType wanted = from_api(type);
    if (wanted == DType::kInvalid)
      return invalid_argument("tensor '{}': unknown type {}", name_, static_cast<int>(type));
    if (!is_input && network_.strongly_typed())
      return make_error(Code::kInvalidState, "tensor '{}': types of a strongly typed network follow from its inputs",
                        name_);
    if (dtype == wanted) return Status();
    dtype = wanted;
    if (is_input) network_.changed(nullptr);  // an output is cast when a graph is built
    return Status();
  });
}

DataType TensorImpl::getType() const noexcept {
  if (dtype != DType::kInvalid) return to_api(dtype);
  const Value* value = network_.query(this);
  return value == nullptr || value->dtype() == DType::kInvalid ? DataType::kFLOAT : to_api(value->dtype());
}

void TensorImpl::setDimensions(const ApiDims& dimensions) noexcept {
  attempt(network_.reporter(), "ITensor::setDimensions", [&]() -> Status {
    if (!is_input)
      return make_error(Code::kInvalidState, "tensor '{}' is not an input: its shape follows from the layers", name_);
    if (Result<Dims> ok = from_api(dimensions, -1); !ok.ok())
      return ok.status().with_prefix(fmt::format("input '{}'", name_));
    dims = dimensions;
    network_.changed(nullptr);
    return Status();
  });
}

ApiDims TensorImpl::getDimensions() const noexcept {
  if (is_input) return dims;
  const Value* value = network_.query(this);
  if (value == nullptr) return bad_dims();
  ApiDims shape{};
  for (const Dim& d : value->shape()) {
    if (shape.nbDims == ApiDims::MAX_DIMS) break;
    shape.d[shape.nbDims++] = d.is_const() ? d.value() : -1;
  }
  return shape;
}

void TensorImpl::setDimensionName(int32_t index, const char* name) noexcept {
  attempt(network_.reporter(), "ITensor::setDimensionName", [&]() -> Status {
    if (!is_input) return make_error(Code::kInvalidState, "tensor '{}' is not an input", name_);
    if (index < 0 || index >= ApiDims::MAX_DIMS)
      return invalid_argument("input '{}': there is no dimension {}", name_, index);
    dim_names[static_cast<size_t>(index)] = name == nullptr ? "" : name;
    network_.changed(nullptr);
    return Status();
  });
}

const char* TensorImpl::getDimensionName(int32_t index) const noexcept {
  if (!is_input || index < 0 || index >= ApiDims::MAX_DIMS) return nullptr;
  const std::string& name = dim_names[static_cast<size_t>(index)];
  return name.empty() ? nullptr : name.c_str();
}

bool TensorImpl::isShapeTensor() const noexcept {
  const DataType type = getType();
  if (type != DataType::kINT32 && type != DataType::kINT64 && type != DataType::kBOOL) return false;
  if (is_input) return network_.decides_shapes(this);
  const Value* value = network_.query(this, /*elements=*/true);
  return value != nullptr && value->shape_values().has_value();
}

bool TensorImpl::isExecutionTensor() const noexcept { return !isShapeTensor(); }

void TensorImpl::setAllowedFormats(nvinfer1::TensorFormats formats) noexcept {
  attempt(network_.reporter(), "ITensor::setAllowedFormats", [&]() -> Status {
    constexpr nvinfer1::TensorFormats kAll = (1U << nvinfer1::EnumMax<nvinfer1::TensorFormat>()) - 1;
    if (formats == 0 || (formats & ~kAll) != 0)
      return invalid_argument("tensor '{}': {:#x} is no set of formats; all of them are {:#x}", name_, formats, kAll);
    formats_ = formats;
    formats_set_ = true;
    return Status();
  });
}

nvinfer1::TensorLocation TensorImpl::getLocation() const noexcept {
  return isShapeTensor() ? nvinfer1::TensorLocation::kHOST : nvinfer1::TensorLocation::kDEVICE;
}

void TensorImpl::setLocation(nvinfer1::TensorLocation location) noexcept {
  if (location != getLocation())
    network_.reporter().warning("ITensor::setLocation: tensor '" + name_ +
                                "': the location follows from the tensor's use");
}

bool TensorImpl::setDynamicRange(float min, float max) noexcept {
  return attempt(network_.reporter(), "ITensor::setDynamicRange", [&]() -> Status {
    if (!std::isfinite(min) || !std::isfinite(max) || min > max)
      return invalid_argument("tensor '{}': [{}, {}] is no range", name_, min, max);
    range_set_ = true;
    range_min_ = min;
    range_max_ = max;
    return Status();
  });
}

float TensorImpl::getDynamicRangeMin() const noexcept {
  return range_set_ ? range_min_ : std::numeric_limits<float>::quiet_NaN();
}
float TensorImpl::getDynamicRangeMax() const noexcept {
  return range_set_ ? range_max_ : std::numeric_limits<float>::quiet_NaN();
}

void TensorImpl::setBroadcastAcrossBatch(bool broadcasts) noexcept {
  if (broadcasts)
    network_.reporter().warning("ITensor::setBroadcastAcrossBatch: tensor '" + name_ +
                                "': networks have no implicit batch, and extents of 1 broadcast by themselves");
}

}  // namespace wootz::api
