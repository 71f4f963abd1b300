// Inferences that are captured into a graph of libwootz_hostcuda.
#include "api/runtime/context.h"
#include "api/runtime/hostcuda.h"

namespace wootz::api {

struct ContextImpl::Replay final : ReplayedWork {
  Replay(const char* of, std::shared_ptr<Owner> by, std::shared_ptr<const EngineCore> engine)
      : call(of), owner(std::move(by)), bindings(std::move(engine)) {}

  bool run() override {
    const std::lock_guard<std::mutex> lock(owner->mutex);
    ContextImpl* const context = owner->context;
    const Reporter gone(process_logger());
    return attempt(context == nullptr ? gone : context->reporter_, call, [&]() -> Status {
      if (context == nullptr)
        return make_error(Code::kInvalidState, "a graph replays an inference whose execution context is gone");
      return context->run_in_turn(job, bindings);
    });
  }

  const char* call;
  std::shared_ptr<Owner> owner;
  Job job;
  Bindings bindings;
};

Status ContextImpl::capture(const char* call, cudaStream_t stream) {
  if (owner_ == nullptr) {
    owner_ = std::make_shared<Owner>();
    owner_->context = this;
  }
  auto replay = std::make_unique<Replay>(call, owner_, info_->core_ptr());
  fill_job(stream, &replay->job);
  replay->bindings.copy_from(runner_->bindings);
  return capture_in_hostcuda(stream, std::move(replay));
}

}  // namespace wootz::api
