// A recorder of errors that keeps them all and counts who has it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/harness.h"

namespace wootz_test {

class Recorder final : public nvinfer1::IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(errors.size()); }
  nvinfer1::ErrorCode getErrorCode(int32_t i) const noexcept override { return errors[static_cast<size_t>(i)].first; }
  ErrorDesc getErrorDesc(int32_t i) const noexcept override { return errors[static_cast<size_t>(i)].second.c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { errors.clear(); }
  bool reportError(nvinfer1::ErrorCode code, ErrorDesc desc) noexcept override {
    errors.emplace_back(code, desc);
    return true;
  }
  RefCount incRefCount() noexcept override { return ++count; }
  RefCount decRefCount() noexcept override { return --count; }
  std::vector<std::pair<nvinfer1::ErrorCode, std::string>> errors;
  int count = 0;
};

}  // namespace wootz_test
