// IBuilder: makes networks, configs and, out of both, plans.
#pragma once

#include <cstdint>

#include "wootz/allocator.h"
#include "wootz/builder_config.h"
#include "wootz/error_recorder.h"
#include "wootz/host_memory.h"
#include "wootz/logger.h"
#include "wootz/macros.h"
#include "wootz/network.h"
#include "wootz/no_copy.h"
#include "wootz/profile.h"
#include "wootz/streams.h"

namespace nvinfer1 {

class ICudaEngine;
class IPluginRegistry;

class IBuilder : public INoCopy {
 public:
  TRT_DEPRECATED virtual bool platformHasFastFp16() const noexcept = 0;
  TRT_DEPRECATED virtual bool platformHasFastInt8() const noexcept = 0;
  virtual int32_t getMaxDLABatchSize() const noexcept = 0;
  virtual int32_t getNbDLACores() const noexcept = 0;
  virtual void setGpuAllocator(IGpuAllocator* allocator) noexcept = 0;
  virtual IBuilderConfig* createBuilderConfig() noexcept = 0;
  virtual INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept = 0;
  virtual IOptimizationProfile* createOptimizationProfile() noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual void reset() noexcept = 0;
  TRT_DEPRECATED virtual bool platformHasTf32() const noexcept = 0;
  virtual IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept = 0;
  virtual bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                              IStreamWriter& writer) noexcept = 0;
  virtual IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config,
                                              IHostMemory*& kernelText) noexcept = 0;
  virtual ICudaEngine* buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept = 0;
  virtual bool isNetworkSupported(const INetworkDefinition& network, const IBuilderConfig& config) const noexcept = 0;
  virtual ILogger* getLogger() const noexcept = 0;
  virtual bool setMaxThreads(int32_t maxThreads) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;
  virtual IPluginRegistry& getPluginRegistry() noexcept = 0;
};

}  // namespace nvinfer1
