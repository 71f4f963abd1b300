// INT8 calibrators: sources of representative inputs. Explicit quantization (Q/DQ layers) replaces them.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated names refer to each other
#endif

#include <cstddef>
#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/level.h"
#include "wootz/macros.h"
#include "wootz/versioned_interface.h"

#if NV_TENSORRT_MAJOR >= 11
namespace nvinfer1 {
class IInt8Calibrator;  // behind a private function of IBuilderConfig
}  // namespace nvinfer1
#else
namespace nvinfer1 {

/// How scales are found from the values seen.
enum class CalibrationAlgoType : int32_t {
  /// A quantile of the histogram, with a regression cutoff.
  kLEGACY_CALIBRATION TRT_DEPRECATED_ENUM = 0,
  /// Least information lost, on histograms before fusion.
  kENTROPY_CALIBRATION TRT_DEPRECATED_ENUM = 1,
  /// Least information lost.
  kENTROPY_CALIBRATION_2 TRT_DEPRECATED_ENUM = 2,
  /// The whole range seen.
  kMINMAX_CALIBRATION TRT_DEPRECATED_ENUM = 3,
};

template <>
struct impl::EnumMaxImpl<CalibrationAlgoType> {
  static constexpr int32_t kVALUE = 4;
};

/// Implemented by the application through one of the four classes below, and set on a builder config. The builder calls
/// it from one thread; it must live until the build ends.
class TRT_DEPRECATED IInt8Calibrator : public IVersionedInterface {
 public:
  /// Batch size of the data that getBatch delivers.
  TRT_DEPRECATED virtual int32_t getBatchSize() const noexcept = 0;

  /// Writes the address of the next batch of input names[i] into bindings[i], device memory or, on a CPU engine, host
  /// memory. The memory stays the application's and must stay unchanged until the next call. False: no more batches.
  virtual bool getBatch(void* bindings[], const char* names[], int32_t nbBindings) noexcept = 0;

  /// A calibration table written earlier, owned by the calibrator until the next call, and its size in bytes; null
  /// asks for calibration.
  virtual const void* readCalibrationCache(std::size_t& length) noexcept = 0;

  /// Takes the calibration table of this build.
  virtual void writeCalibrationCache(const void* ptr, std::size_t length) noexcept = 0;

  virtual CalibrationAlgoType getAlgorithm() noexcept = 0;

  ~IInt8Calibrator() noexcept override = default;
};

namespace v_1_0 {

class TRT_DEPRECATED IInt8EntropyCalibrator : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IInt8EntropyCalibrator", 1, 0}; }
  CalibrationAlgoType getAlgorithm() noexcept override { return CalibrationAlgoType::kENTROPY_CALIBRATION; }
  ~IInt8EntropyCalibrator() noexcept override = default;
};

class TRT_DEPRECATED IInt8EntropyCalibrator2 : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IInt8EntropyCalibrator2", 1, 0}; }
  CalibrationAlgoType getAlgorithm() noexcept override { return CalibrationAlgoType::kENTROPY_CALIBRATION_2; }
  ~IInt8EntropyCalibrator2() noexcept override = default;
};

class TRT_DEPRECATED IInt8MinMaxCalibrator : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IInt8MinMaxCalibrator", 1, 0}; }
  CalibrationAlgoType getAlgorithm() noexcept override { return CalibrationAlgoType::kMINMAX_CALIBRATION; }
  ~IInt8MinMaxCalibrator() noexcept override = default;
};

class TRT_DEPRECATED IInt8LegacyCalibrator : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IInt8Calibrator", 1, 0}; }
  CalibrationAlgoType getAlgorithm() noexcept override { return CalibrationAlgoType::kLEGACY_CALIBRATION; }

  /// The quantile, and the fraction of the range to be ignored, both in [0, 1].
  virtual double getQuantile() const noexcept = 0;
  virtual double getRegressionCutoff() const noexcept = 0;

  /// Histograms written earlier and their size in bytes, or null; and the taking of this build's.
  virtual const void* readHistogramCache(std::size_t& length) noexcept = 0;
  virtual void writeHistogramCache(const void* ptr, std::size_t length) noexcept = 0;

  ~IInt8LegacyCalibrator() noexcept override = default;
};

}  // namespace v_1_0

using IInt8EntropyCalibrator = v_1_0::IInt8EntropyCalibrator;
using IInt8EntropyCalibrator2 = v_1_0::IInt8EntropyCalibrator2;
using IInt8MinMaxCalibrator = v_1_0::IInt8MinMaxCalibrator;
using IInt8LegacyCalibrator = v_1_0::IInt8LegacyCalibrator;

}  // namespace nvinfer1
#endif
