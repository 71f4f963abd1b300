// Progress, handed on to what an application has set.
#pragma once

#include "api/public.h"
#include "base/progress.h"

namespace wootz::api {

class MonitoredProgress final : public Progress {
 public:
  explicit MonitoredProgress(nvinfer1::IProgressMonitor* monitor) : monitor_(monitor) {}
  void start(const char* phase, const char* parent, int steps) override {
    if (monitor_ != nullptr) monitor_->phaseStart(phase, parent, steps);
  }
  bool step(const char* phase, int number) override {
    return monitor_ == nullptr || monitor_->stepComplete(phase, number);
  }
  void finish(const char* phase) override {
    if (monitor_ != nullptr) monitor_->phaseFinish(phase);
  }

 private:
  nvinfer1::IProgressMonitor* monitor_;
};

}  // namespace wootz::api
