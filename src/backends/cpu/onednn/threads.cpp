#include "backends/cpu/onednn/threads.h"

#include "base/thread_pool.h"
#include "shims/omp/omp_shim.h"

namespace wootz::cpu::dnn {
namespace {

int pool_start(int n, void (*f)(void*, int, int), void* context) { return ThreadPool::process().start(n, f, context); }
void pool_finish(int n) { ThreadPool::process().finish(n); }

}  // namespace

void connect_threads() {
  static constexpr wootz_omp_pool kPool{pool_start, pool_finish, max_parallelism};
  wootz_omp_set_pool(&kPool);
}

}  // namespace wootz::cpu::dnn
