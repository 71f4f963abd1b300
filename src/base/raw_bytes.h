// A block of bytes that is not cleared before it is filled: pages that are never written to take no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace wootz {

// Begins at whole pages where it is large, at multiples of 64 otherwise; new elements keep what the memory held.
template <class T>
struct RawAllocator {
  using value_type = T;
  RawAllocator() = default;
  template <class U>
  RawAllocator(const RawAllocator<U>&) {}  // NOLINT: allocators convert
  T* allocate(size_t count) {
    constexpr size_t kPage = 4096, kLine = 64;
    const size_t align = count * sizeof(T) >= kPage ? kPage : kLine;
    if (count > (SIZE_MAX - kPage) / sizeof(T)) throw std::bad_alloc();
    void* memory = std::aligned_alloc(align, (count * sizeof(T) + align) / align * align);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { std::free(memory); }
  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }
  bool operator==(const RawAllocator&) const { return true; }
};

using RawBytes = std::vector<std::byte, RawAllocator<std::byte>>;

}  // namespace wootz
