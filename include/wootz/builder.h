// IBuilder: makes networks, configs and, out of both, plans.
#pragma once

#include <cstdint>

#include "wootz/allocator.h"
#include "wootz/builder_config.h"
#include "wootz/error_recorder.h"
#include "wootz/host_memory.h"
#include "wootz/level.h"
#include "wootz/logger.h"
#include "wootz/macros.h"
#include "wootz/network.h"
#include "wootz/no_copy.h"
#include "wootz/profile.h"
#include "wootz/streams.h"

namespace nvinfer1 {

class ICudaEngine;
class IPluginRegistry;

/// Turns networks into plans; made by createInferBuilder. It must outlive the networks, configs and profiles made from
/// it, but not plans and engines. A build takes long, keeps the network and config busy, and returns null with the
/// reason in the log when it fails. Use one builder from one thread at a time; different builders are independent.
class IBuilder : public INoCopy {
 public:
  /// An empty network; owned by the caller. Flags are bits 1U << NetworkDefinitionCreationFlag, 0 for none.
  virtual INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept = 0;

  /// Options for a build; owned by the caller.
  virtual IBuilderConfig* createBuilderConfig() noexcept = 0;

  /// A profile to fill in and add to a config; owned by the builder.
  virtual IOptimizationProfile* createOptimizationProfile() noexcept = 0;

  /// Optimizes, tunes and serializes: a plan for IRuntime::deserializeCudaEngine, owned by the caller. Null on failure.
  virtual IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept = 0;

  /// The same; `kernelText` receives the text of kernels for the safety runtime: null here.
  virtual IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config,
                                              IHostMemory*& kernelText) noexcept = 0;

  /// The same, written as it comes, without a second copy in memory. False on failure.
  virtual bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                              IStreamWriter& writer) noexcept = 0;

  /// The same, loaded at once: an engine owned by the caller. Null on failure.
  virtual ICudaEngine* buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept = 0;

  /// Whether a build would find the network and options acceptable; nothing is tuned. The log says why not.
  virtual bool isNetworkSupported(const INetworkDefinition& network, const IBuilderConfig& config) const noexcept = 0;

  /// How many threads a build may use; at least 1. False for other numbers.
  virtual bool setMaxThreads(int32_t maxThreads) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;

  /// Allocator for memory taken while building; null, the default, for the built-in one. It must outlive the builder.
  virtual void setGpuAllocator(IGpuAllocator* allocator) noexcept = 0;

  /// Where errors of this builder and of objects made from now on are recorded; null, the default, for none. Counts
  /// references to it.
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;

  /// The logger the builder was created with.
  virtual ILogger* getLogger() const noexcept = 0;

  /// This builder's own registry, whose parent is the process-wide one. Lives as long as the builder.
  virtual IPluginRegistry& getPluginRegistry() noexcept = 0;

  /// Back to how it was made; the error recorder and allocator are forgotten.
  virtual void reset() noexcept = 0;

  WOOTZ_UNTIL_10
  /// Whether the device computes faster in a type than in kFLOAT: here kHALF, and kINT8.
  TRT_DEPRECATED virtual bool platformHasFastFp16() const noexcept = 0;
  TRT_DEPRECATED virtual bool platformHasFastInt8() const noexcept = 0;

  /// Whether the device has TF32.
  TRT_DEPRECATED virtual bool platformHasTf32() const noexcept = 0;

 public:
  /// No DLA here: 0.
  virtual int32_t getMaxDLABatchSize() const noexcept = 0;
  virtual int32_t getNbDLACores() const noexcept = 0;
};

}  // namespace nvinfer1
