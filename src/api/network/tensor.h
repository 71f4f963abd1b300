// ITensor: an input of the network, an output of a layer, or a constant of an imported model.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "api/network/owner.h"
#include "api/public.h"
#include "api/runtime/convert.h"
#include "base/tensor.h"
#include "ir/dim.h"

namespace wootz::api {

using ApiDims = nvinfer1::Dims;

class TensorImpl final : public nvinfer1::ITensor {
 public:
  TensorImpl(Owner& network, std::string name) : network_(network), name_(std::move(name)) {}

  // One of the network's own, whatever its class says; null for a foreign one.
  static TensorImpl* of(const Owner& network, const nvinfer1::ITensor* tensor);

  const Owner& network() const { return network_; }
  const std::string& name() const { return name_; }
  void take_name(std::string name, bool keep = false) {
    name_ = std::move(name);
    named_ = named_ || keep;
  }
  bool named() const { return named_; }  // by the application, not after the layer

  LayerCore* producer = nullptr;  // null: an input, or a constant without a layer
  int index = 0;                  // among the producer's outputs
  bool is_input = false;
  bool is_output = false;
  bool output_for_shapes = false;
  bool debug = false;
  DType dtype = DType::kInvalid;         // of an input; of an output: what setType asked for
  ApiDims dims{};                        // of an input
  std::array<std::string, 8> dim_names;  // of an input
  HostTensor constant;                   // valid: a constant without a layer
  std::optional<Shape> origin_shape;     // what the imported graph said, in that graph's symbols
  DType origin_dtype = DType::kInvalid;  // and its type there

  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }
  void setType(nvinfer1::DataType type) noexcept override;
  nvinfer1::DataType getType() const noexcept override;
  void setDimensions(const ApiDims& dimensions) noexcept override;
  ApiDims getDimensions() const noexcept override;
  void setDimensionName(int32_t index, const char* name) noexcept override;
  const char* getDimensionName(int32_t index) const noexcept override;
  bool isNetworkInput() const noexcept override { return is_input; }
  bool isNetworkOutput() const noexcept override { return is_output || output_for_shapes; }
  bool isShapeTensor() const noexcept override;
  bool isExecutionTensor() const noexcept override;
  void setAllowedFormats(nvinfer1::TensorFormats formats) noexcept override;
  nvinfer1::TensorFormats getAllowedFormats() const noexcept override { return formats_; }
  bool formats_are_set() const { return formats_set_; }
  nvinfer1::TensorLocation getLocation() const noexcept override;
  void setLocation(nvinfer1::TensorLocation location) noexcept override;
  bool setDynamicRange(float min, float max) noexcept override;
  bool dynamicRangeIsSet() const noexcept override { return range_set_; }
  void resetDynamicRange() noexcept override { range_set_ = false; }
  float getDynamicRangeMin() const noexcept override;
  float getDynamicRangeMax() const noexcept override;
  void setBroadcastAcrossBatch(bool broadcasts) noexcept override;
  bool getBroadcastAcrossBatch() const noexcept override { return false; }

 private:
  Owner& network_;
  std::string name_;
  bool named_ = false;
  bool formats_set_ = false;
  nvinfer1::TensorFormats formats_ = (1U << nvinfer1::EnumMax<nvinfer1::TensorFormat>()) - 1;
  bool range_set_ = false;
  float range_min_ = 0, range_max_ = 0;
};

}  // namespace wootz::api
