// What convolution, deconvolution and pooling layers have in common: a window over the space dimensions.
#pragma once

#include "api/network/add.h"

namespace wootz::api {

struct WindowSettings {
  std::vector<int64_t> window, stride, pre, post, dilation;
  nvinfer1::PaddingMode mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;

  explicit WindowSettings(const std::vector<int64_t>& extents)
      : window(extents),
        stride(extents.size(), 1),
        pre(extents.size(), 0),
        post(extents.size(), 0),
        dilation(extents.size(), 1) {}
  size_t rank() const { return window.size(); }
  // From a node with strides, dilations, pads and auto_pad. False: it cannot be said with these settings.
  bool read(const Node& node);
  // As attributes, with the padding of rounding up added where the input's extents are known.
  Status to_attrs(const Value& x, const std::vector<int64_t>& kernel, bool ceil_attr, AttrMap* attrs) const;
};

inline Status check_window(const ApiDims& extents) {
  if (extents.nbDims < 1 || extents.nbDims > 3)
    return invalid_argument("a window of {} dimensions; 1 to 3 are possible", extents.nbDims);
  for (int32_t i = 0; i < extents.nbDims; ++i)
    if (extents.d[i] < 1) return invalid_argument("the window {} has an extent below 1", to_string(extents));
  return Status();
}

// Keeps one list of the settings if it has the window's rank and no entry below `lowest`.
template <class L>
void take_list(L& layer, const char* call, size_t rank, const ApiDims& value, int64_t lowest,
               std::initializer_list<std::vector<int64_t>*> to) noexcept {
  attempt(layer.network().reporter(), call, [&]() -> Status {
    if (value.nbDims < 0 || static_cast<size_t>(value.nbDims) != rank)
      return invalid_argument("{}: {} has {} entries; the window has {} dimensions", layer.place(), to_string(value),
                              value.nbDims, rank);
    for (int32_t i = 0; i < value.nbDims; ++i)
      if (value.d[i] < lowest)
        return invalid_argument("{}: {} has an entry below {}", layer.place(), to_string(value), lowest);
    for (std::vector<int64_t>* list : to) *list = to_vector(value);
    layer.changed();
    return Status();
  });
}

// The public methods over `settings_`, but for the window's own name and the dilation.
#define WOOTZ_WINDOW_METHODS(Class)                                                                       \
  void setPrePadding(const ApiDims& v) noexcept override {                                                \
    take_list(*this, #Class "::setPrePadding", settings_.rank(), v, 0, {&settings_.pre});                 \
  }                                                                                                       \
  ApiDims getPrePadding() const noexcept override { return to_api_dims(settings_.pre); }                  \
  void setPostPadding(const ApiDims& v) noexcept override {                                               \
    take_list(*this, #Class "::setPostPadding", settings_.rank(), v, 0, {&settings_.post});               \
  }                                                                                                       \
  ApiDims getPostPadding() const noexcept override { return to_api_dims(settings_.post); }                \
  void setPaddingNd(const ApiDims& v) noexcept override {                                                 \
    take_list(*this, #Class "::setPaddingNd", settings_.rank(), v, 0, {&settings_.pre, &settings_.post}); \
  }                                                                                                       \
  ApiDims getPaddingNd() const noexcept override { return to_api_dims(settings_.pre); }                   \
  void setStrideNd(const ApiDims& v) noexcept override {                                                  \
    take_list(*this, #Class "::setStrideNd", settings_.rank(), v, 1, {&settings_.stride});                \
  }                                                                                                       \
  ApiDims getStrideNd() const noexcept override { return to_api_dims(settings_.stride); }                 \
  void setPaddingMode(nvinfer1::PaddingMode v) noexcept override {                                        \
    take_enum(*this, #Class "::setPaddingMode", "padding mode", v, &settings_.mode);                      \
  }                                                                                                       \
  nvinfer1::PaddingMode getPaddingMode() const noexcept override { return settings_.mode; }

}  // namespace wootz::api
