// Allocations of the whole process between two points. Counts nothing under a sanitizer, which has a malloc of its own.
#pragma once

namespace wootz_test {
void count_allocations();    // from here
long allocations_counted();  // to here
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountsAllocations = false;
#else
constexpr bool kCountsAllocations = true;
#endif
}  // namespace wootz_test
