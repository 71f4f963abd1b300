// What streams and graphs do, as plain data: the same operation is queued, captured into a graph, and replayed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "api/runtime/hostcuda_contract.h"
#include "driver_types.h"

namespace wootz::hostcuda {

class Event;
class Graph;
struct Mark;
struct Block;

struct Nothing {};

// Rows of bytes, in slices.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  size_t width = 0, height = 1, depth = 1;
  size_t to_pitch = 0, from_pitch = 0, to_slice = 0, from_slice = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  std::shared_ptr<std::vector<char>> staged;  // what is copied, where the source may change before its turn comes
};

struct Fill {
  void* at = nullptr;
  unsigned value = 0;
  unsigned element = 1;                     // bytes: 1, 2 or 4
  size_t width = 0, height = 1, pitch = 0;  // in elements; rows; bytes
};

struct HostCall {
  cudaHostFn_t function = nullptr;
  void* data = nullptr;
};
struct Callback {
  cudaStreamCallback_t function = nullptr;
  cudaStream_t stream = nullptr;
  void* data = nullptr;
};

// An inference of libwootz: ended when nobody can run it any more.
struct Work {
  explicit Work(const wootz_hostcuda_work& from) : work(from) {}
  ~Work() { work.release(work.data); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  wootz_hostcuda_work work;
};
using SharedWork = std::shared_ptr<Work>;

// Memory that lives until the operation does not.
using Kept = std::shared_ptr<Block>;

// Nodes of graphs that touch events, and graphs in graphs.
struct RecordNode {
  std::shared_ptr<Event> event;
};
struct WaitNode {
  std::shared_ptr<Event> event;
};
struct ChildNode {
  std::shared_ptr<Graph> graph;
};

// In a stream: the time at which an event was reached.
struct MarkTime {
  std::shared_ptr<Mark> mark;
};

struct Launch;
using Operation = std::variant<Nothing, Copy, Fill, HostCall, Callback, SharedWork, Kept, MarkTime, RecordNode,
                               WaitNode, ChildNode, std::shared_ptr<Launch>>;

// A graph's operations in order, and what its event nodes stand for this time, in that order.
struct Launch {
  std::shared_ptr<const std::vector<Operation>> operations;
  std::vector<std::shared_ptr<Mark>> marks;
};

void run(const Operation& operation);
cudaGraphNodeType node_type(const Operation& operation);

}  // namespace wootz::hostcuda
