// Allocations of the whole process between two points. Counts nothing under a sanitizer, which has a malloc of its own.
#pragma once

namespace wootz_test {
void count_allocations();    // from here
long allocations_counted();  // to here
}  // namespace wootz_test
