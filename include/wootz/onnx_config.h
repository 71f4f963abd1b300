// nvonnxparser::IOnnxConfig: what a program notes about a model that it reads.
#pragma once

#include <cstdint>

#include "wootz/dtype.h"
#include "wootz/macros.h"

namespace nvonnxparser {

/// Values that a program keeps together and reads again; nothing in the library acts on them. Texts are copied, and are
/// null until set.
class IOnnxConfig {
 public:
  virtual ~IOnnxConfig() noexcept = default;

  /// How much to print, as a number of the program's choice; 0 at first.
  using Verbosity = int32_t;

  /// Type of the model's values; kFLOAT at first.
  virtual void setModelDtype(const nvinfer1::DataType) noexcept = 0;
  virtual nvinfer1::DataType getModelDtype() const noexcept = 0;

  /// The model's file.
  virtual const char* getModelFileName() const noexcept = 0;
  virtual void setModelFileName(const char* onnxFilename) noexcept = 0;

  /// The verbosity, and one step more or less of it; it does not fall below 0.
  virtual Verbosity getVerbosityLevel() const noexcept = 0;
  virtual void addVerbosity() noexcept = 0;
  virtual void reduceVerbosity() noexcept = 0;
  virtual void setVerbosityLevel(Verbosity) noexcept = 0;

  /// Files for the model as text, without and with its weights.
  virtual const char* getTextFileName() const noexcept = 0;
  virtual void setTextFileName(const char* textFileName) noexcept = 0;
  virtual const char* getFullTextFileName() const noexcept = 0;
  virtual void setFullTextFileName(const char* fullTextFileName) noexcept = 0;

  /// Whether to print a line for each layer; false at first.
  virtual bool getPrintLayerInfo() const noexcept = 0;
  virtual void setPrintLayerInfo(bool) noexcept = 0;
};

/// An empty one, owned by the caller; null when there is no memory.
TENSORRTAPI IOnnxConfig* createONNXConfig();

}  // namespace nvonnxparser
