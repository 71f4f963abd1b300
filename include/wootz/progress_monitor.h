// IProgressMonitor: how far a build has come, and a way to stop it.
#pragma once

#include <cstdint>

#include "wootz/versioned_interface.h"

namespace nvinfer1 {
namespace v_1_0 {

/// Implemented by the application, set on a builder config. A build consists of phases, each of a known number of
/// steps; phases nest and may overlap. Several threads may call at once.
class IProgressMonitor : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IProgressMonitor", 1, 0}; }

  /// A phase begins. `phaseName` identifies it until phaseFinish; `parentPhase` is the phase it is part of, or null.
  virtual void phaseStart(const char* phaseName, const char* parentPhase, int32_t nbSteps) noexcept = 0;

  /// Step number `step`, from 0, is done; numbers come in rising order but some may be skipped. False stops the build
  /// as soon as possible: the build call then returns null.
  virtual bool stepComplete(const char* phaseName, int32_t step) noexcept = 0;

  /// The phase is over, completed or stopped; its name may be used again.
  virtual void phaseFinish(const char* phaseName) noexcept = 0;

  IProgressMonitor() = default;
  ~IProgressMonitor() noexcept override = default;
};

}  // namespace v_1_0

using IProgressMonitor = v_1_0::IProgressMonitor;

}  // namespace nvinfer1
