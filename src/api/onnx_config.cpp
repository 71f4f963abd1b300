// nvonnxparser::IOnnxConfig: values that a program keeps.
#include "NvOnnxConfig.h"

#include <new>
#include <optional>
#include <string>

namespace wootz::api {
namespace {

class Text {
 public:
  void set(const char* text) noexcept {
    try {
      text_ = text == nullptr ? std::nullopt : std::optional<std::string>(text);
    } catch (...) {  // no memory: as if it had never been set
      text_.reset();
    }
  }
  const char* get() const noexcept { return text_ ? text_->c_str() : nullptr; }

 private:
  std::optional<std::string> text_;
};

class OnnxConfig final : public nvonnxparser::IOnnxConfig {
 public:
  void setModelDtype(const nvinfer1::DataType type) noexcept override { type_ = type; }
  nvinfer1::DataType getModelDtype() const noexcept override { return type_; }
  const char* getModelFileName() const noexcept override { return model_.get(); }
  void setModelFileName(const char* name) noexcept override { model_.set(name); }
  Verbosity getVerbosityLevel() const noexcept override { return verbosity_; }
  void addVerbosity() noexcept override { verbosity_ += verbosity_ < INT32_MAX ? 1 : 0; }
  void reduceVerbosity() noexcept override { verbosity_ -= verbosity_ > 0 ? 1 : 0; }
  void setVerbosityLevel(Verbosity verbosity) noexcept override { verbosity_ = verbosity; }
  const char* getTextFileName() const noexcept override { return text_.get(); }
  void setTextFileName(const char* name) noexcept override { text_.set(name); }
  const char* getFullTextFileName() const noexcept override { return full_text_.get(); }
  void setFullTextFileName(const char* name) noexcept override { full_text_.set(name); }
  bool getPrintLayerInfo() const noexcept override { return print_; }
  void setPrintLayerInfo(bool print) noexcept override { print_ = print; }

 private:
  nvinfer1::DataType type_ = nvinfer1::DataType::kFLOAT;
  Verbosity verbosity_ = 0;
  bool print_ = false;
  Text model_, text_, full_text_;
};

}  // namespace
}  // namespace wootz::api

TENSORRTAPI nvonnxparser::IOnnxConfig* nvonnxparser::createONNXConfig() {
  return new (std::nothrow) wootz::api::OnnxConfig;
}
