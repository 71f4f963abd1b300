// NvInferRuntimeBase.h by itself: what a program that only logs or records errors includes.
#include "NvInferRuntimeBase.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using nvinfer1::DataType;
using nvinfer1::ErrorCode;
using nvinfer1::ILogger;

static_assert(int(DataType::kFLOAT) == 0);
static_assert(int(DataType::kHALF) == 1);
static_assert(int(DataType::kINT8) == 2);
static_assert(int(DataType::kINT32) == 3);
static_assert(int(DataType::kBOOL) == 4);
static_assert(int(DataType::kUINT8) == 5);
static_assert(int(DataType::kFP8) == 6);
static_assert(int(DataType::kBF16) == 7);
static_assert(int(DataType::kINT64) == 8);
static_assert(int(DataType::kINT4) == 9);
static_assert(int(DataType::kFP4) == 10);
static_assert(int(DataType::kE8M0) == 11);
static_assert(nvinfer1::EnumMax<DataType>() == 12);
static_assert(int(ErrorCode::kINVALID_ARGUMENT) == 3);
static_assert(int(ErrorCode::kUNSUPPORTED_STATE) == 10);
static_assert(int(ILogger::Severity::kINTERNAL_ERROR) == 0);
static_assert(int(ILogger::Severity::kVERBOSE) == 4);
static_assert(int(nvinfer1::TensorIOMode::kOUTPUT) == 2);
static_assert(std::is_pointer_v<cudaStream_t> && std::is_pointer_v<cudaEvent_t>);

class Logger final : public ILogger {
 public:
  void log(Severity severity, const nvinfer1::AsciiChar* msg) noexcept override { lines.emplace_back(severity, msg); }
  std::vector<std::pair<Severity, std::string>> lines;
};

class Recorder final : public nvinfer1::IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return int32_t(errors_.size()); }
  ErrorCode getErrorCode(int32_t i) const noexcept override { return errors_[size_t(i)].first; }
  ErrorDesc getErrorDesc(int32_t i) const noexcept override { return errors_[size_t(i)].second.c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { errors_.clear(); }
  bool reportError(ErrorCode val, ErrorDesc desc) noexcept override {
    errors_.emplace_back(val, desc);
    return true;
  }
  RefCount incRefCount() noexcept override { return ++refs_; }
  RefCount decRefCount() noexcept override { return --refs_; }

 private:
  std::vector<std::pair<ErrorCode, std::string>> errors_;
  RefCount refs_ = 0;
};

TEST(RuntimeBase, LoggerIsCalledThroughItsInterface) {
  Logger logger;
  static_cast<ILogger&>(logger).log(ILogger::Severity::kWARNING, "odd");
  ASSERT_EQ(logger.lines.size(), 1u);
  EXPECT_EQ(logger.lines[0].second, "odd");
}

TEST(RuntimeBase, RecorderIsVersioned) {
  Recorder recorder;
  nvinfer1::IErrorRecorder& r = recorder;
  EXPECT_STREQ(r.getInterfaceInfo().kind, "IErrorRecorder");
  EXPECT_EQ(r.getInterfaceInfo().major, 1);
  EXPECT_EQ(r.getAPILanguage(), nvinfer1::APILanguage::kCPP);
  EXPECT_EQ(r.incRefCount(), 1);
  EXPECT_TRUE(r.reportError(ErrorCode::kFAILED_EXECUTION, "broke"));
  EXPECT_EQ(r.getErrorCode(0), ErrorCode::kFAILED_EXECUTION);
  EXPECT_STREQ(r.getErrorDesc(0), "broke");
}

}  // namespace
