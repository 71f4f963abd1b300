#include "operation.h"

#include <cstring>

#include "queue.h"

namespace wootz::hostcuda {
namespace {

struct Run {
  void operator()(const Nothing&) const {}
  void operator()(const Kept&) const {}
  void operator()(const RecordNode&) const {}
  void operator()(const WaitNode&) const {}
  void operator()(const ChildNode&) const {}
  void operator()(const HostCall& call) const { call.function(call.data); }
  void operator()(const Callback& call) const { call.function(call.stream, cudaSuccess, call.data); }
  void operator()(const SharedWork& work) const {
    if (work->work.run(work->work.data) != 0 && Queue::current() != nullptr) Queue::current()->fail();
  }
  void operator()(const MarkTime& at) const { at.mark->reached(); }

  void operator()(const Copy& copy) const {
    const char* const from = copy.staged != nullptr ? copy.staged->data() : static_cast<const char*>(copy.from);
    for (size_t slice = 0; slice < copy.depth; ++slice)
      for (size_t row = 0; row < copy.height; ++row)
        std::memmove(static_cast<char*>(copy.to) + slice * copy.to_slice + row * copy.to_pitch,
                     from + slice * copy.from_slice + row * copy.from_pitch, copy.width);
  }

  void operator()(const Fill& fill) const {
    for (size_t row = 0; row < fill.height; ++row) {
      char* const at = static_cast<char*>(fill.at) + row * fill.pitch;
      if (fill.element == 1)
        std::memset(at, static_cast<int>(fill.value), fill.width);
      else
        for (size_t i = 0; i < fill.width; ++i) std::memcpy(at + i * fill.element, &fill.value, fill.element);
    }
  }

  void operator()(const std::shared_ptr<Launch>& launch) const {
    size_t next = 0;
    for (const Operation& operation : *launch->operations) {
      if (std::holds_alternative<RecordNode>(operation))
        launch->marks[next++]->reached();
      else if (std::holds_alternative<WaitNode>(operation))
        wait_for(launch->marks[next++]);
      else
        run(operation);
    }
  }

  static void wait_for(const std::shared_ptr<Mark>& mark) {
    if (mark != nullptr) mark->point.wait();
  }
};

struct Type {
  cudaGraphNodeType operator()(const Copy&) const { return cudaGraphNodeTypeMemcpy; }
  cudaGraphNodeType operator()(const Fill&) const { return cudaGraphNodeTypeMemset; }
  cudaGraphNodeType operator()(const HostCall&) const { return cudaGraphNodeTypeHost; }
  cudaGraphNodeType operator()(const SharedWork&) const { return cudaGraphNodeTypeHost; }
  cudaGraphNodeType operator()(const Kept& block) const {
    return block != nullptr ? cudaGraphNodeTypeMemAlloc : cudaGraphNodeTypeMemFree;
  }
  cudaGraphNodeType operator()(const RecordNode&) const { return cudaGraphNodeTypeEventRecord; }
  cudaGraphNodeType operator()(const WaitNode&) const { return cudaGraphNodeTypeWaitEvent; }
  cudaGraphNodeType operator()(const ChildNode&) const { return cudaGraphNodeTypeGraph; }
  cudaGraphNodeType operator()(const std::shared_ptr<Launch>&) const { return cudaGraphNodeTypeGraph; }
  template <typename Other>
  cudaGraphNodeType operator()(const Other&) const {
    return cudaGraphNodeTypeEmpty;
  }
};

}  // namespace

void run(const Operation& operation) { std::visit(Run(), operation); }
cudaGraphNodeType node_type(const Operation& operation) { return std::visit(Type(), operation); }

}  // namespace wootz::hostcuda
