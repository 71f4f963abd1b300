#include "backends/cuda/emulator/fibers.h"

#include <ucontext.h>

#include <memory>
#include <vector>

namespace wootz::cuda {
namespace {

constexpr size_t kStack = 64 * 1024;

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  bool done = true;
};

std::vector<std::unique_ptr<Fiber>> g_fibers;
ucontext_t g_home;
unsigned g_current = 0;
const std::function<void()>* g_body = nullptr;

void fiber_main() {
  (*g_body)();
  g_fibers[g_current]->done = true;
}

}  // namespace

void meet_fibers() {
  Fiber& f = *g_fibers[g_current];
  swapcontext(&f.context, &g_home);
}

void run_fibers(unsigned count, void (*enter)(unsigned), const std::function<void()>& body) {
  g_body = &body;
  while (g_fibers.size() < count) {
    g_fibers.push_back(std::make_unique<Fiber>());
    g_fibers.back()->stack = std::make_unique<char[]>(kStack);
  }
  for (unsigned t = 0; t < count; ++t) {
    Fiber& f = *g_fibers[t];
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.get();
    f.context.uc_stack.ss_size = kStack;
    f.context.uc_link = &g_home;
    makecontext(&f.context, fiber_main, 0);
    f.done = false;
  }
  for (bool any = true; any;) {
    any = false;
    for (unsigned t = 0; t < count; ++t) {
      Fiber& f = *g_fibers[t];
      if (f.done) continue;
      g_current = t;
      enter(t);
      swapcontext(&g_home, &f.context);
      any = any || !f.done;
    }
  }
}

}  // namespace wootz::cuda
