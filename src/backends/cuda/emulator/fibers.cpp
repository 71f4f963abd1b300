#include "backends/cuda/emulator/fibers.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

namespace wootz::cuda {
namespace {

constexpr size_t kStack = 256 * 1024;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || _FORTIFY_SOURCE > 0
#define WOOTZ_FIBERS_BY_CONTEXT 1  // they follow swapcontext, not a jump to another stack
#endif

// Where a fiber, or the thread that runs them, goes on. swapcontext alone makes two calls of the system a switch, for
// the signals' mask, which took a third of the emulator's time; so a context is entered once and jumped to from then
// on.
struct Place {
  ucontext_t context{};
  jmp_buf jump{};
  bool jumps = false;  // has been left by a jump
};

struct Fiber {
  Place place;
  std::unique_ptr<char[]> stack;
  bool done = true;
};

std::vector<std::unique_ptr<Fiber>> g_fibers;
Place g_home;
unsigned g_current = 0;
std::vector<unsigned> g_left;  // that have not ended; kept, since replays are to take no memory
const std::function<void()>* g_body = nullptr;

void go(Place& from, Place& to) {
#ifdef WOOTZ_FIBERS_BY_CONTEXT
  swapcontext(&from.context, &to.context);
#else
  if (_setjmp(from.jump) != 0) return;
  from.jumps = true;
  if (to.jumps) _longjmp(to.jump, 1);
  setcontext(&to.context);
#endif
}

// A fiber serves one thread of a block after the other.
void fiber_main() {
  for (;;) {
    Fiber& f = *g_fibers[g_current];
    (*g_body)();
    f.done = true;
    go(f.place, g_home);
  }
}

void add_fiber() {
  auto fiber = std::make_unique<Fiber>();
  fiber->stack = std::make_unique_for_overwrite<char[]>(kStack);
  getcontext(&fiber->place.context);
  fiber->place.context.uc_stack.ss_sp = fiber->stack.get();
  fiber->place.context.uc_stack.ss_size = kStack;
  makecontext(&fiber->place.context, fiber_main, 0);
  g_fibers.push_back(std::move(fiber));
}

}  // namespace

void meet_fibers() { go(g_fibers[g_current]->place, g_home); }
unsigned current_fiber() { return g_current; }
std::pair<const char*, size_t> fiber_stack() { return {g_fibers[g_current]->stack.get(), kStack}; }

bool run_fibers(const FiberRun& run, const std::function<void()>& body) {
  g_body = &body;
  while (g_fibers.size() < run.count) add_fiber();
  std::vector<unsigned>& left = g_left;
  left.resize(run.count);
  std::iota(left.begin(), left.end(), 0u);
  for (const unsigned t : left) g_fibers[t]->done = false;
  while (!left.empty()) {
    const unsigned long before = run.progress == nullptr ? 0 : run.progress();
    const size_t waiting = left.size();
    if (run.order != nullptr) std::shuffle(left.begin(), left.end(), *run.order);
    for (const unsigned t : left) {
      g_current = t;
      run.enter(t);
      go(g_home, g_fibers[t]->place);
    }
    std::erase_if(left, [](unsigned t) { return g_fibers[t]->done; });
    if (run.progress == nullptr || left.size() < waiting || run.progress() != before) continue;
    if (run.stuck != nullptr && run.stuck()) continue;
    g_fibers.clear();  // their stacks are in the middle of something
    return false;
  }
  return true;
}

}  // namespace wootz::cuda
