// IEngineInspector: a loaded program in words.
#pragma once

#include <string>

#include "api/runtime/reporter.h"
#include "runtime/report/engine_info.h"

namespace wootz::api {

class ContextImpl;

class InspectorImpl final : public nvinfer1::IEngineInspector {
 public:
  InspectorImpl(std::shared_ptr<const EngineInfo> info, const Reporter& reporter)
      : info_(std::move(info)), reporter_(reporter) {}

  bool setExecutionContext(const nvinfer1::IExecutionContext* context) noexcept override;
  const nvinfer1::IExecutionContext* getExecutionContext() const noexcept override;
  const char* getLayerInformation(int32_t layerIndex, nvinfer1::LayerInformationFormat format) const noexcept override;
  const char* getEngineInformation(nvinfer1::LayerInformationFormat format) const noexcept override;
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override { reporter_.set_recorder(recorder); }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }

 private:
  nvinfer1::ProfilingVerbosity verbosity() const;
  const Program& program() const;  // of the context's profile, where there is a context
  std::vector<MemoryReport> memory() const;

  std::shared_ptr<const EngineInfo> info_;
  Reporter reporter_;
  const ContextImpl* context_ = nullptr;
  mutable std::string text_;
};

}  // namespace wootz::api
