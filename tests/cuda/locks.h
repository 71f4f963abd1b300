#pragma once

namespace wootz_test {
void count_locks();
long locks_counted();  // since then; counting ends
}  // namespace wootz_test
