// IGpuAllocator as the memory of our devices.
#pragma once

#include <memory>

#include "backends/allocator_device.h"
#include "wootz/allocator.h"

namespace wootz::api {

// Null for null. `allocator` must outlive whatever is allocated.
inline std::shared_ptr<Allocator> adopt_allocator(nvinfer1::IGpuAllocator* allocator) {
  class Adopted final : public Allocator {
   public:
    explicit Adopted(nvinfer1::IGpuAllocator& allocator) : allocator_(allocator) {}
    void* allocate(size_t bytes, size_t alignment) override {
      return allocator_.allocateAsync(bytes, alignment, 0, nullptr);
    }
    void free(void* memory) override { allocator_.deallocateAsync(memory, nullptr); }

   private:
    nvinfer1::IGpuAllocator& allocator_;
  };
  return allocator == nullptr ? nullptr : std::make_shared<Adopted>(*allocator);
}

}  // namespace wootz::api
