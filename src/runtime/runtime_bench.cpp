// What a run costs beside its kernels: chains of steps that do nothing.
//
//   build/release/bin/runtime_bench                 "a_step" is the time over the number of steps
//
// "Unchanged" runs the same bindings again and again, which is the least that a call can cost; "Addresses" has another
// input each time; "Replay" is a device that records: what happens before the launch of a recording, and "Shapes" the
// same with two shapes by turns. api_bench times the same through enqueueV3.
#include <benchmark/benchmark.h>

#include "runtime/executor.h"
#include "runtime/fake_engine.h"

namespace wootz {
namespace {

enum class How { kUnchanged, kAddresses, kReplay, kShapes };

Status prepare(Bindings* bindings, int32_t* x, int32_t* y) {
  WOOTZ_RETURN_IF_ERROR(bindings->set_input_dims(0, {8}));
  bindings->set_input_address(0, x);
  bindings->set_output_address(0, y);
  return Status();
}

void run(benchmark::State& state, How how) {
  const auto steps = static_cast<size_t>(state.range(0));
  const bool own_memory = how == How::kReplay || how == How::kShapes;
  const auto engine = fake::engine(fake::chain(steps, "nothing"), std::make_shared<fake::FakeDevice>(own_memory));
  if (!engine.ok()) {
    state.SkipWithError(engine.status().message().c_str());
    return;
  }
  Bindings bindings(*engine);
  Executor executor(*engine);
  int32_t x[2][16] = {}, y[16] = {};
  fake::FakeStream stream;
  Stream* const on = own_memory ? &stream : nullptr;
  bool good = prepare(&bindings, x[0], y).ok();
  size_t turn = 0;
  for (auto _ : state) {
    turn ^= 1;
    if (how == How::kAddresses) bindings.set_input_address(0, x[turn]);
    if (how == How::kShapes) good = bindings.set_input_dims(0, {static_cast<int64_t>(7 + turn)}).ok() && good;
    good = executor.run(bindings, on).ok() && good;
  }
  if (!good) state.SkipWithError("a call failed");
  state.counters["a_step"] = benchmark::Counter(
      static_cast<double>(steps), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(run, Unchanged, How::kUnchanged)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK_CAPTURE(run, Addresses, How::kAddresses)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK_CAPTURE(run, Replay, How::kReplay)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK_CAPTURE(run, Shapes, How::kShapes)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace wootz
