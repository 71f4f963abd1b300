// How a kernel that a Quick plugin brings along is launched: grid, block, shared memory and further arguments, each an
// expression over the extents.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

/// What an argument of a kernel is.
enum class PluginArgType : int32_t {
  kINT = 0,
};

/// Type of an argument.
enum class PluginArgDataType : int32_t {
  kINT8 = 0,
  kINT16 = 1,
  kINT32 = 2,
};

/// An argument whose value is an expression; implemented by the bindings.
class ISymExpr {
 public:
  virtual PluginArgType getType() const noexcept = 0;
  virtual PluginArgDataType getDataType() const noexcept = 0;

  /// The expression, an IDimensionExpr.
  virtual void* getExpr() noexcept = 0;

  virtual ~ISymExpr() noexcept = default;
};

/// The library's side of ISymExprs.
class ISymExprsImpl {
 public:
  virtual ISymExpr* getSymExpr(int32_t index) const noexcept = 0;
  virtual bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept = 0;
  virtual int32_t getNbSymExprs() const noexcept = 0;
  virtual bool setNbSymExprs(int32_t count) noexcept = 0;
  virtual ~ISymExprsImpl() noexcept = default;
};

/// The arguments of a kernel besides its inputs and outputs, in order.
class ISymExprs {
 public:
  /// One of them; null, and false, when out of range. The expressions stay their makers'.
  ISymExpr* getSymExpr(int32_t index) const noexcept { return mImpl->getSymExpr(index); }
  bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept { return mImpl->setSymExpr(index, symExpr); }

  /// How many there are.
  int32_t getNbSymExprs() const noexcept { return mImpl->getNbSymExprs(); }
  bool setNbSymExprs(int32_t count) noexcept { return mImpl->setNbSymExprs(count); }

  virtual ~ISymExprs() noexcept = default;

 protected:
  ISymExprsImpl* mImpl{nullptr};
};

/// The library's side of IKernelLaunchParams.
class IKernelLaunchParamsImpl {
 public:
  virtual ISymExpr* getGridX() noexcept = 0;
  virtual bool setGridX(ISymExpr* gridX) noexcept = 0;
  virtual ISymExpr* getGridY() noexcept = 0;
  virtual bool setGridY(ISymExpr* gridY) noexcept = 0;
  virtual ISymExpr* getGridZ() noexcept = 0;
  virtual bool setGridZ(ISymExpr* gridZ) noexcept = 0;
  virtual ISymExpr* getBlockX() noexcept = 0;
  virtual bool setBlockX(ISymExpr* blockX) noexcept = 0;
  virtual ISymExpr* getBlockY() noexcept = 0;
  virtual bool setBlockY(ISymExpr* blockY) noexcept = 0;
  virtual ISymExpr* getBlockZ() noexcept = 0;
  virtual bool setBlockZ(ISymExpr* blockZ) noexcept = 0;
  virtual ISymExpr* getSharedMem() noexcept = 0;
  virtual bool setSharedMem(ISymExpr* sharedMem) noexcept = 0;
  virtual ~IKernelLaunchParamsImpl() noexcept = default;
};

/// Extents of a launch. What is not set is null, which means 1, and 0 for the shared memory; false when a setter is
/// given null.
class IKernelLaunchParams {
 public:
  /// Blocks.
  ISymExpr* getGridX() noexcept { return mImpl->getGridX(); }
  bool setGridX(ISymExpr* gridX) noexcept { return mImpl->setGridX(gridX); }
  ISymExpr* getGridY() noexcept { return mImpl->getGridY(); }
  bool setGridY(ISymExpr* gridY) noexcept { return mImpl->setGridY(gridY); }
  ISymExpr* getGridZ() noexcept { return mImpl->getGridZ(); }
  bool setGridZ(ISymExpr* gridZ) noexcept { return mImpl->setGridZ(gridZ); }

  /// Threads of a block.
  ISymExpr* getBlockX() noexcept { return mImpl->getBlockX(); }
  bool setBlockX(ISymExpr* blockX) noexcept { return mImpl->setBlockX(blockX); }
  ISymExpr* getBlockY() noexcept { return mImpl->getBlockY(); }
  bool setBlockY(ISymExpr* blockY) noexcept { return mImpl->setBlockY(blockY); }
  ISymExpr* getBlockZ() noexcept { return mImpl->getBlockZ(); }
  bool setBlockZ(ISymExpr* blockZ) noexcept { return mImpl->setBlockZ(blockZ); }

  /// Bytes of shared memory that are not part of the kernel's own.
  ISymExpr* getSharedMem() noexcept { return mImpl->getSharedMem(); }
  bool setSharedMem(ISymExpr* sharedMem) noexcept { return mImpl->setSharedMem(sharedMem); }

  virtual ~IKernelLaunchParams() noexcept = default;

 protected:
  IKernelLaunchParamsImpl* mImpl{nullptr};
};

}  // namespace nvinfer1
