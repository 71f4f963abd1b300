// IGpuAllocator and IGpuAsyncAllocator: memory of the application's choosing.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated methods are called by their successors
#endif

#include <cstdint>

#include "wootz/cuda_types.h"
#include "wootz/enum_max.h"
#include "wootz/macros.h"
#include "wootz/versioned_interface.h"

namespace nvinfer1 {

/// What the library may do with an allocation later.
enum class AllocatorFlag : int32_t {
  /// reallocate() may be called on it.
  kRESIZABLE = 0,
};

template <>
struct impl::EnumMaxImpl<AllocatorFlag> {
  static constexpr int32_t kVALUE = 1;
};

/// Bits 1U << AllocatorFlag.
using AllocatorFlags = uint32_t;

namespace v_1_0 {

/// Allocator implemented by the application, for all engine memory: device memory on a GPU engine, host memory on a CPU
/// engine. It must outlive every object it was given to. All methods may be called from several threads at once. In all
/// of them `size` is in bytes, and `alignment` is 0 (any) or a power of two up to 256.
class IGpuAllocator : public IVersionedInterface {
 public:
  /// A block of `size` bytes, or null: for a size of 0, or when there is no memory.
  TRT_DEPRECATED virtual void* allocate(const uint64_t size, const uint64_t alignment,
                                        const AllocatorFlags flags) noexcept = 0;

  /// Resizes a block that was allocated as resizable, keeping its content and alignment. Null leaves the old block
  /// valid, and is always a correct answer.
  virtual void* reallocate(void* const /*baseAddr*/, uint64_t /*alignment*/, uint64_t /*newSize*/) noexcept {
    return nullptr;
  }

  /// Ends a block; null is allowed. False when the address is not one of this allocator's.
  TRT_DEPRECATED virtual bool deallocate(void* const memory) noexcept = 0;

  /// As allocate and deallocate, but in order with the work on `stream` (null: the default stream). These are what the
  /// library calls; by default they forward to the forms without a stream.
  virtual void* allocateAsync(const uint64_t size, const uint64_t alignment, const AllocatorFlags flags,
                              cudaStream_t /*stream*/) noexcept {
    return allocate(size, alignment, flags);
  }
  virtual bool deallocateAsync(void* const memory, cudaStream_t /*stream*/) noexcept { return deallocate(memory); }

  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IGpuAllocator", 1, 0}; }

  IGpuAllocator() = default;
  ~IGpuAllocator() override = default;

 protected:
  IGpuAllocator(const IGpuAllocator&) = default;
  IGpuAllocator(IGpuAllocator&&) = default;
  IGpuAllocator& operator=(const IGpuAllocator&) & = default;
  IGpuAllocator& operator=(IGpuAllocator&&) & = default;
};

/// An allocator that only implements the two stream-ordered methods.
class IGpuAsyncAllocator : public IGpuAllocator {
 public:
  IGpuAsyncAllocator() = default;
  ~IGpuAsyncAllocator() override = default;

  void* allocateAsync(const uint64_t size, const uint64_t alignment, const AllocatorFlags flags,
                      cudaStream_t /*stream*/) noexcept override = 0;
  bool deallocateAsync(void* const memory, cudaStream_t /*stream*/) noexcept override = 0;

  TRT_DEPRECATED void* allocate(const uint64_t size, const uint64_t alignment,
                                const AllocatorFlags flags) noexcept override {
    return allocateAsync(size, alignment, flags, nullptr);
  }
  TRT_DEPRECATED bool deallocate(void* const memory) noexcept override { return deallocateAsync(memory, nullptr); }

  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IGpuAllocator", 1, 0}; }
};

}  // namespace v_1_0

using IGpuAllocator = v_1_0::IGpuAllocator;
using IGpuAsyncAllocator = v_1_0::IGpuAsyncAllocator;

}  // namespace nvinfer1
