// IPluginRegistry: creators by name, version and namespace; plugin libraries; shared resources.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/runtime/public.h"
#include "api/runtime/reporter.h"

namespace wootz::api {

class PluginRegistry final : public nvinfer1::IPluginRegistry {
 public:
  // The process's own belongs to no program, and tells a recorder alone.
  explicit PluginRegistry(PluginRegistry* parent, AppLogger logger = {}) : parent_(parent), reporter_(logger) {}
  ~PluginRegistry() noexcept override;

  // The one of the process. Never ends: plugin libraries deregister in their own static destructors.
  static PluginRegistry& process() noexcept;

  bool registerCreator(nvinfer1::IPluginCreatorInterface& creator,
                       const nvinfer1::AsciiChar* pluginNamespace) noexcept override;
  bool deregisterCreator(const nvinfer1::IPluginCreatorInterface& creator) noexcept override;
  nvinfer1::IPluginCreatorInterface* getCreator(const nvinfer1::AsciiChar* pluginName,
                                                const nvinfer1::AsciiChar* pluginVersion,
                                                const nvinfer1::AsciiChar* pluginNamespace) noexcept override;
  nvinfer1::IPluginCreatorInterface* const* getAllCreators(int32_t* numCreators) const noexcept override;
  nvinfer1::IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* numCreators) noexcept override;
  bool isParentSearchEnabled() const noexcept override { return parent_search_; }
  void setParentSearchEnabled(const bool enabled) noexcept override { parent_search_ = enabled; }
  PluginLibraryHandle loadLibrary(const nvinfer1::AsciiChar* pluginPath) noexcept override;
  void deregisterLibrary(PluginLibraryHandle handle) noexcept override;
  nvinfer1::IPluginResource* acquirePluginResource(const nvinfer1::AsciiChar* key,
                                                   nvinfer1::IPluginResource* resource) noexcept override;
  int32_t releasePluginResource(const nvinfer1::AsciiChar* key) noexcept override;
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override { reporter_.set_recorder(recorder); }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }
  bool registerCreator(nvinfer1::IPluginCreator& creator, const nvinfer1::AsciiChar* pluginNamespace) noexcept override;
  bool deregisterCreator(const nvinfer1::IPluginCreator& creator) noexcept override;
  nvinfer1::IPluginCreator* getPluginCreator(const nvinfer1::AsciiChar* pluginName,
                                             const nvinfer1::AsciiChar* pluginVersion,
                                             const nvinfer1::AsciiChar* pluginNamespace) noexcept override;
  nvinfer1::IPluginCreator* const* getPluginCreatorList(int32_t* numCreators) const noexcept override;

  // loadLibrary(). `file`, unless -1: what the path stands for, closed with the library; the caller's where this fails.
  // It came with a plan then: creators that the application registered are preferred to those of the same names in it.
  Result<PluginLibraryHandle> open_library(const char* path, int file);
  // Registers those whose names are free.
  void add_missing(const std::vector<nvinfer1::IPluginCreatorInterface*>& creators, const std::string& space);
  // Registers all that this one finds with another registry, where their names are free.
  void lend_creators(nvinfer1::IPluginRegistry& other) const;
  // Of the builder or runtime that it belongs to; null: it is the process's own.
  AppLogger logger() const { return {reporter_.logger(), reporter_.level()}; }
  // "'Name' version '1' (namespace ''), ...", with those of the parents; empty: there are none.
  std::string listed() const;

 private:
  struct Key {
    std::string name, version, space;
    auto operator<=>(const Key&) const = default;
  };
  struct Resource {
    nvinfer1::IPluginResource* object = nullptr;
    int32_t users = 0;
  };
  struct Library {
    void* handle = nullptr;
    std::vector<nvinfer1::IPluginCreatorInterface*> creators;  // that it exports
    int file = -1;                                             // that it was opened from, to be closed with it
  };
  void close_library(Library* library, bool with_file);
  std::vector<nvinfer1::IPluginCreatorInterface*> own() const;
  Status add(nvinfer1::IPluginCreatorInterface& creator, const nvinfer1::AsciiChar* pluginNamespace);
  bool remove(const nvinfer1::IPluginCreatorInterface* creator);
  nvinfer1::IPluginCreatorInterface* find(const Key& key) const;
  bool is_taken(nvinfer1::IPluginCreatorInterface& creator) const;
  nvinfer1::IPluginCreatorInterface* find_same(const nvinfer1::IPluginCreatorInterface* creator) const;
  void rebuild_lists();

  PluginRegistry* parent_;
  bool parent_search_ = true;
  Reporter reporter_;
  mutable std::mutex mutex_;
  std::map<Key, nvinfer1::IPluginCreatorInterface*> creators_;
  std::vector<nvinfer1::IPluginCreatorInterface*> list_, recursive_;
  std::vector<nvinfer1::IPluginCreator*> v2_list_;
  std::map<std::string, Resource> resources_;
  std::map<void*, Library> libraries_;
};

// Where the creators of TensorRT's own plugins come from, for a namespace; a library without them provides none.
using StockCreators = std::vector<nvinfer1::IPluginCreatorInterface*> (*)(const std::string& space);
bool provide_stock_creators(StockCreators creators);

}  // namespace wootz::api
