// JSON, as nlohmann's library has it, in memory that does not run out while little of it is needed: its values allocate
// when they are destroyed, and are broken when an allocation inside of them fails, both of which would end the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace wootz {

// From the heap; where that gives nothing, from a reserve of the process. Throws std::bad_alloc when that is used up
// too.
void* json_allocate(size_t bytes);
void json_free(void* block) noexcept;

template <class T>
struct JsonAllocator {
  using value_type = T;
  JsonAllocator() = default;
  template <class U>
  JsonAllocator(const JsonAllocator<U>&) noexcept {}  // NOLINT: converts, as allocators do
  T* allocate(size_t count) { return static_cast<T*>(json_allocate(count * sizeof(T))); }
  void deallocate(T* block, size_t) noexcept { json_free(block); }
  bool operator==(const JsonAllocator&) const = default;
};

// Members in the order in which they were added, and by name.
using OrderedJson = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t, uint64_t,
                                         double, JsonAllocator>;
using SortedJson =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t, uint64_t, double, JsonAllocator>;

}  // namespace wootz

// The library's lists of values that are to be destroyed.
template <>
struct std::allocator<wootz::OrderedJson> : wootz::JsonAllocator<wootz::OrderedJson> {
  using wootz::JsonAllocator<wootz::OrderedJson>::JsonAllocator;
};
template <>
struct std::allocator<wootz::SortedJson> : wootz::JsonAllocator<wootz::SortedJson> {
  using wootz::JsonAllocator<wootz::SortedJson>::JsonAllocator;
};

#include <nlohmann/json.hpp>  // IWYU pragma: export
