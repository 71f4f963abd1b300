// IPluginRegistry: where plugin creators are found.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated methods take deprecated types
#endif

#include <cstdint>

#include "wootz/char_types.h"
#include "wootz/error_recorder.h"
#include "wootz/macros.h"
#include "wootz/plugin_base.h"
#include "wootz/plugin_v2.h"

namespace nvinfer1 {

class IPluginRegistry {
 public:
  /// A plugin library that was opened; null when it could not be.
  using PluginLibraryHandle = void*;

  TRT_DEPRECATED virtual bool registerCreator(IPluginCreator& creator, const AsciiChar* pluginNamespace) noexcept = 0;
  TRT_DEPRECATED virtual IPluginCreator* const* getPluginCreatorList(int32_t* numCreators) const noexcept = 0;
  TRT_DEPRECATED virtual IPluginCreator* getPluginCreator(const AsciiChar* pluginName, const AsciiChar* pluginVersion,
                                                          const AsciiChar* pluginNamespace = "") noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  TRT_DEPRECATED virtual bool deregisterCreator(const IPluginCreator& creator) noexcept = 0;
  virtual bool isParentSearchEnabled() const noexcept = 0;
  virtual void setParentSearchEnabled(const bool enabled) noexcept = 0;
  virtual PluginLibraryHandle loadLibrary(const AsciiChar* pluginPath) noexcept = 0;
  virtual void deregisterLibrary(PluginLibraryHandle handle) noexcept = 0;
  virtual bool registerCreator(IPluginCreatorInterface& creator, const AsciiChar* pluginNamespace) noexcept = 0;
  virtual IPluginCreatorInterface* const* getAllCreators(int32_t* numCreators) const noexcept = 0;
  virtual IPluginCreatorInterface* getCreator(const AsciiChar* pluginName, const AsciiChar* pluginVersion,
                                              const AsciiChar* pluginNamespace = "") noexcept = 0;
  virtual bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept = 0;
  virtual IPluginResource* acquirePluginResource(const AsciiChar* key, IPluginResource* resource) noexcept = 0;
  virtual int32_t releasePluginResource(const AsciiChar* key) noexcept = 0;
  virtual IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* numCreators) noexcept = 0;

  virtual ~IPluginRegistry() noexcept = default;
};

}  // namespace nvinfer1
