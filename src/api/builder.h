// IBuilder.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "api/profile.h"
#include "api/public.h"
#include "api/runtime/plugin_registry.h"
#include "api/runtime/reporter.h"
#include "backends/registry.h"
#include "build/build.h"

namespace wootz::api {

class BuilderImpl final : public nvinfer1::IBuilder {
 public:
  explicit BuilderImpl(AppLogger logger);

  nvinfer1::INetworkDefinition* createNetworkV2(nvinfer1::NetworkDefinitionCreationFlags flags) noexcept override;
  nvinfer1::IBuilderConfig* createBuilderConfig() noexcept override;
  nvinfer1::IOptimizationProfile* createOptimizationProfile() noexcept override;
  nvinfer1::IHostMemory* buildSerializedNetwork(nvinfer1::INetworkDefinition& network,
                                                nvinfer1::IBuilderConfig& config) noexcept override;
  nvinfer1::IHostMemory* buildSerializedNetwork(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config,
                                                nvinfer1::IHostMemory*& kernelText) noexcept override;
  bool buildSerializedNetworkToStream(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config,
                                      nvinfer1::IStreamWriter& writer) noexcept override;
  nvinfer1::ICudaEngine* buildEngineWithConfig(nvinfer1::INetworkDefinition& network,
                                               nvinfer1::IBuilderConfig& config) noexcept override;
  bool isNetworkSupported(const nvinfer1::INetworkDefinition& network,
                          const nvinfer1::IBuilderConfig& config) const noexcept override;
  bool setMaxThreads(int32_t maxThreads) noexcept override;
  int32_t getMaxThreads() const noexcept override { return max_threads_; }
  void setGpuAllocator(nvinfer1::IGpuAllocator* allocator) noexcept override { allocator_ = allocator; }
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override { reporter_.set_recorder(recorder); }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }
  nvinfer1::ILogger* getLogger() const noexcept override { return reporter_.logger(); }
  nvinfer1::IPluginRegistry& getPluginRegistry() noexcept override { return *registry_; }
  void reset() noexcept override;
  bool platformHasFastFp16() const noexcept override;
  bool platformHasFastInt8() const noexcept override;
  bool platformHasTf32() const noexcept override;
  int32_t getMaxDLABatchSize() const noexcept override { return 0; }
  int32_t getNbDLACores() const noexcept override { return 0; }

  // The plan written straight to a file.
  Status build_file(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config, const char* path);

  const Reporter& reporter() const { return reporter_; }
  // Of the last build, made when it is asked for; empty before the first.
  const std::string& report();
  Json report_json() const;

 private:
  void forget_record();  // of the last build
  Result<std::shared_ptr<Program>> build(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config);
  Result<RawBytes> build_plan(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config);

  Reporter reporter_;
  std::shared_ptr<PluginRegistry> registry_;
  nvinfer1::IGpuAllocator* allocator_ = nullptr;
  int32_t max_threads_;
  CurrentDevices current_;              // when the builder was made: its builds are for these
  int device_number_ = kCurrentDevice;  // of the last build
  std::list<ProfileImpl> profiles_;
  // What the report is made of: the record, and the program without the bytes of its constants.
  std::unique_ptr<BuildReport> record_;
  Program program_;
  size_t plan_bytes_ = 0;
  std::string report_;
};

}  // namespace wootz::api
