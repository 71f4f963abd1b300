#include "backends/cpu/onednn/primitive_call.h"

#include <array>
#include <atomic>
#include <cstring>
#include <optional>

#include "backends/cpu/onednn/rest.h"
#include "base/thread_pool.h"
#include "shims/omp/block_cache.h"

namespace wootz::cpu::dnn {
namespace {

constexpr size_t kSlots = 4;
constexpr size_t kAlign = 64;
constexpr int64_t kCopyGrain = 256 * 1024;
size_t align_up(size_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

struct Slot {
  std::atomic<bool> busy{false};
  dnnl::stream stream;
  std::vector<dnnl::memory> memories;  // in the order of the sources
  std::vector<dnnl_exec_arg_t> args;
};

void fill(Slot* slot, const dnnl::engine& eng, const std::vector<ArgSource>& sources) {
  slot->stream = dnnl::stream(eng);
  for (const ArgSource& source : sources) {
    void* fixed = const_cast<void*>(source.fixed);
    slot->memories.emplace_back(source.desc, eng, fixed != nullptr ? fixed : DNNL_MEMORY_NONE);
    slot->args.push_back({source.arg, slot->memories.back().get()});
  }
}

class PrimitiveCall final : public Call {
 public:
  PrimitiveCall(DensePlan plan, std::optional<Rest> rest, const dnnl::engine& eng)
      : engine_(eng),
        plan_(std::move(plan)),
        rest_(std::move(rest)),
        sources_(plan_.args),
        primitive_(plan_.primitive.get()) {
    const memory::desc scratch = plan_.primitive.query_md(dnnl::query::scratchpad_md);
    scratch_bytes_ = align_up(scratch.get_size());
    workspace_ = scratch_bytes_;
    ArgSource source;
    source.arg = DNNL_ARG_SCRATCHPAD;
    source.from = ArgSource::From::kScratch;
    source.desc = scratch;
    sources_.push_back(source);
    for (const ArgSource& s : sources_)
      if (s.from == ArgSource::From::kIntermediate) workspace_ += align_up(s.desc.get_size());
    for (Slot& slot : slots_) fill(&slot, engine_, sources_);
  }

  size_t workspace() const override { return workspace_; }

  Status run(const RunArgs& args) const override {
    for (Slot& slot : slots_) {
      if (slot.busy.load(std::memory_order_relaxed) || slot.busy.exchange(true, std::memory_order_acquire)) continue;
      const Status status = execute(slot, args);
      slot.busy.store(false, std::memory_order_release);
      return status;
    }
    return guarded("running", [&]() -> Status {
      Slot own;
      fill(&own, engine_, sources_);
      return execute(own, args);
    });
  }

 private:
  Status execute(const Slot& slot, const RunArgs& args) const {
    std::optional<ParallelScope> threads;
    if (plan_.threads > 0) threads.emplace(plan_.threads);
    if (plan_.sum_input >= 0 && args.inputs[plan_.sum_input] != args.outputs[0]) {
      const auto* from = static_cast<const char*>(args.inputs[plan_.sum_input]);
      auto* to = static_cast<char*>(args.outputs[0]);
      parallel_for(static_cast<int64_t>(plan_.sum_bytes), kCopyGrain, [&](int64_t begin, int64_t end) {
        std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
      });
    }
    for (size_t i = 0; i < sources_.size(); ++i) {
      const ArgSource& source = sources_[i];
      char* address = nullptr;
      switch (source.from) {
        case ArgSource::From::kInput:
          address = static_cast<char*>(const_cast<void*>(args.inputs[source.index])) + source.offset;
          break;
        case ArgSource::From::kOutput: address = static_cast<char*>(args.outputs[source.index]); break;
        case ArgSource::From::kScratch: address = static_cast<char*>(args.workspace); break;
        case ArgSource::From::kIntermediate: address = static_cast<char*>(args.workspace) + scratch_bytes_; break;
        case ArgSource::From::kFixed: continue;
      }
      if (dnnl_memory_set_data_handle(slot.args[i].memory, address) != dnnl_success)
        return internal_error("oneDNN, {}: an address was refused", plan_.implementation);
    }
    wootz_block_cache_begin();
    const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), slot.stream.get(),
                                                        static_cast<int>(slot.args.size()), slot.args.data());
    wootz_block_cache_end();
    if (status != dnnl_success)
      return make_error(status == dnnl_out_of_memory ? Code::kResourceExhausted : Code::kInternal,
                        "oneDNN, {}: running failed with status {}", plan_.implementation, static_cast<int>(status));
    if (rest_) {
      void* output = args.outputs[0];
      const void* result = plan_.to_intermediate ? static_cast<char*>(args.workspace) + scratch_bytes_ : output;
      rest_->run(args.inputs, result, output);
    }
    return Status();
  }

  const dnnl::engine& engine_;
  DensePlan plan_;
  std::optional<Rest> rest_;
  std::vector<ArgSource> sources_;
  dnnl::primitive primitive_;
  size_t scratch_bytes_ = 0, workspace_ = 0;
  mutable std::array<Slot, kSlots> slots_;
};

class EmptyCall final : public Call {
 public:
  Status run(const RunArgs&) const override { return Status(); }
};

}  // namespace

Result<std::unique_ptr<Call>> make_primitive_call(const Problem& problem, const DenseTraits& traits, DensePlan plan,
                                                  const Extents& extents) {
  WOOTZ_ASSIGN_OR_RETURN(const dnnl::engine* eng, engine());
  std::optional<Rest> rest;
  if (!plan.rest.empty()) {
    WOOTZ_ASSIGN_OR_RETURN(rest, Rest::make(problem, traits, plan.rest, extents));
  }
  std::optional<ParallelScope> threads;
  if (plan.threads > 0) threads.emplace(plan.threads);
  return guarded("generating " + plan.implementation, [&]() -> Result<std::unique_ptr<Call>> {
    return std::unique_ptr<Call>(std::make_unique<PrimitiveCall>(std::move(plan), std::move(rest), *eng));
  });
}

std::unique_ptr<Call> make_empty_call() { return std::make_unique<EmptyCall>(); }

}  // namespace wootz::cpu::dnn
