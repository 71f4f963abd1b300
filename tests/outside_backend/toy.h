// A small backend: two devices, whose memory is the host's, and a provider of plain products.
#pragma once

#include "backend/backend.h"

namespace wootz_test {

const wootz::Backend& toy_backend();
// What a device has been asked for so far.
struct ToyCounts {
  long allocations = 0, products = 0;
};
ToyCounts toy_counts(int device);

}  // namespace wootz_test
