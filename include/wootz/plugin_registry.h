// IPluginRegistry: where plugin creators are found.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated methods take deprecated types
#endif

#include <cstdint>

#include "wootz/char_types.h"
#include "wootz/error_recorder.h"
#include "wootz/level.h"
#include "wootz/macros.h"
#include "wootz/plugin_base.h"
#include "wootz/plugin_v2.h"

namespace nvinfer1 {

/// Plugin creators by name, version and namespace. There is one for the process (getPluginRegistry()), and one for each
/// builder and runtime, which searches its parent when it does not know a plugin itself. All methods are safe to call
/// from any thread. Creators stay their makers' and must outlive the registry, or be deregistered.
class IPluginRegistry {
 public:
  /// A plugin library that was opened; null when it could not be.
  using PluginLibraryHandle = void*;

  /// Adds a creator of any kind, under `pluginNamespace`, which wins over the creator's own unless it is empty. False
  /// when name, version and namespace are taken.
  virtual bool registerCreator(IPluginCreatorInterface& creator, const AsciiChar* pluginNamespace) noexcept = 0;

  /// Removes a creator of any kind. False when it was not registered.
  virtual bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept = 0;

  /// The creator under a name, here or, when enabled, in the parent; null when there is none.
  virtual IPluginCreatorInterface* getCreator(const AsciiChar* pluginName, const AsciiChar* pluginVersion,
                                              const AsciiChar* pluginNamespace = "") noexcept = 0;

  /// The creators of this registry alone, and how many; the array is valid until the registry changes.
  virtual IPluginCreatorInterface* const* getAllCreators(int32_t* numCreators) const noexcept = 0;

  /// As getAllCreators, with those of the parents.
  virtual IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* numCreators) noexcept = 0;

  /// Whether getCreator and acquirePluginResource go on to the parent; true by default.
  virtual bool isParentSearchEnabled() const = 0;
  virtual void setParentSearchEnabled(const bool enabled) = 0;

  /// Opens a shared library, and registers all creators that it exports through `getCreators` or `getPluginCreators`.
  /// Plugin libraries run native code: open only trusted ones. Null on failure.
  virtual PluginLibraryHandle loadLibrary(const AsciiChar* pluginPath) noexcept = 0;

  /// Deregisters a library's creators and closes it. Plugins made by them must be gone by then.
  virtual void deregisterLibrary(PluginLibraryHandle handle) noexcept = 0;

  /// The resource stored under `key`, after counting one more user of it. When there is none yet, a clone of `resource`
  /// is stored. Null on failure.
  virtual IPluginResource* acquirePluginResource(const AsciiChar* key, IPluginResource* resource) noexcept = 0;

  /// Counts one user less; the last one's leave releases and deletes the resource. 0 on success.
  virtual int32_t releasePluginResource(const AsciiChar* key) noexcept = 0;

  /// Where errors are recorded; null, the default, for none. Counts references to it.
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;

  WOOTZ_UNTIL_10
  /// Adds a V2 creator. False when its name, version and namespace are taken.
  TRT_DEPRECATED virtual bool WOOTZ_OVERLOAD_UNTIL_10(registerCreator)(IPluginCreator& creator,
                                                                       const AsciiChar* pluginNamespace) noexcept = 0;

  /// Removes a V2 creator. False when it was not registered.
  TRT_DEPRECATED virtual bool WOOTZ_OVERLOAD_UNTIL_10(deregisterCreator)(const IPluginCreator& creator) noexcept = 0;

  /// The V2 creator under a name, or null.
  TRT_DEPRECATED virtual IPluginCreator* getPluginCreator(const AsciiChar* pluginName, const AsciiChar* pluginVersion,
                                                          const AsciiChar* pluginNamespace = "") noexcept = 0;

  /// The V2 creators; the array is valid until the registry changes.
  TRT_DEPRECATED virtual IPluginCreator* const* getPluginCreatorList(int32_t* numCreators) const noexcept = 0;

 public:
  IPluginRegistry() = default;

 protected:
  virtual ~IPluginRegistry() noexcept = default;
};

}  // namespace nvinfer1
