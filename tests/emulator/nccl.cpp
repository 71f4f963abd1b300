// libnccl.so.2 of the emulator: ranks are threads of one process. A call is done when it returns, and returns when all
// ranks have made theirs; the emulator's streams do what is put on them at once, so that this is in their order. What
// ranks do not agree about is an error of all of them.
#include "backends/cuda/api/nccl.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/half.h"

using namespace wootz::cuda;  // NOLINT: NCCL's names

namespace {

using Bytes = std::vector<std::byte>;
constexpr auto kSystemError = static_cast<ncclResult_t>(2);
constexpr auto kInvalidArgument = static_cast<ncclResult_t>(4);
constexpr auto kInvalidUsage = static_cast<ncclResult_t>(5);

// Between host memory and the emulator's device memory.
ncclResult_t copy(void* to, const void* from, size_t bytes) {
  using Copy = CUresult (*)(CUdeviceptr, CUdeviceptr, size_t);
  static const auto function = [] {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver == nullptr ? nullptr : reinterpret_cast<Copy>(dlsym(driver, "cuMemcpy"));
  }();
  if (bytes == 0) return ncclSuccess;
  const bool copied = function != nullptr && function(reinterpret_cast<CUdeviceptr>(to),
                                                      reinterpret_cast<CUdeviceptr>(from), bytes) == CUDA_SUCCESS;
  return copied ? ncclSuccess : kSystemError;
}

struct Post {
  std::string call;  // what all ranks must say alike
  Bytes data;
};

// The ranks of one communicator.
class World {
 public:
  explicit World(int size) : size(size), posts_(static_cast<size_t>(size)) {}
  const int size;

  // Gives what all ranks have posted, by rank. An error where they do not come, or say something else.
  ncclResult_t meet(int rank, Post mine, std::vector<Post>* all) {
    std::unique_lock<std::mutex> lock(mutex_);
    const uint64_t round = round_;
    posts_[static_cast<size_t>(rank)] = std::move(mine);
    if (++here_ == size) {
      met_ = posts_;
      here_ = 0;
      ++round_;
      all_here_.notify_all();
    } else if (!all_here_.wait_for(lock, std::chrono::seconds(60), [&] { return round_ != round; })) {
      --here_;
      return kSystemError;
    }
    *all = met_;
    for (const Post& post : *all)
      if (post.call != all->front().call) return kInvalidUsage;
    return ncclSuccess;
  }

  // The one of a color that the ranks of the last meeting make.
  std::shared_ptr<World> part(int color, int ranks) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<World>& world = parts_[{round_, color}];
    if (world == nullptr) world = std::make_shared<World>(ranks);
    return world;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<Post> posts_, met_;
  int here_ = 0;
  uint64_t round_ = 0;
  std::map<std::pair<uint64_t, int>, std::shared_ptr<World>> parts_;
};

template <typename... Parts>
std::string described(const char* call, Parts... parts) {
  std::string text = call;
  for (const long long part : {static_cast<long long>(parts)...}) text += ' ' + std::to_string(part);
  return text;
}

size_t bytes_of(ncclDataType_t type) {
  constexpr size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kBytes[type];
}

float read_half(uint16_t bits) { return wootz::f16_to_f32(bits); }
float read_bfloat(uint16_t bits) { return wootz::bf16_to_f32(bits); }

template <typename T>
T reduced(T a, T b, ncclRedOp_t op) {
  return op == ncclProd ? a * b : op == ncclMax ? std::max(a, b) : op == ncclMin ? std::min(a, b) : a + b;
}

// Element `i` of all ranks' data, in the type that it is computed in.
template <typename T, typename Read, typename Write>
void reduce_elements(const std::vector<Post>& all, size_t count, size_t width, ncclRedOp_t op, Read read, Write write) {
  for (size_t i = 0; i < count; ++i) {
    T value = read(all[0].data.data() + i * width);
    for (size_t r = 1; r < all.size(); ++r) value = reduced<T>(value, read(all[r].data.data() + i * width), op);
    if (op == ncclAvg) value = static_cast<T>(value / static_cast<T>(all.size()));
    write(i, value);
  }
}

template <typename T>
void reduce_plain(const std::vector<Post>& all, size_t count, ncclRedOp_t op, Bytes* result) {
  reduce_elements<T>(
      all, count, sizeof(T), op,
      [](const std::byte* at) {
        T value;
        std::memcpy(&value, at, sizeof value);
        return value;
      },
      [&](size_t i, T value) { std::memcpy(result->data() + i * sizeof value, &value, sizeof value); });
}

void reduce_small(const std::vector<Post>& all, size_t count, ncclRedOp_t op, float (*read)(uint16_t),
                  uint16_t (*write)(float), Bytes* result) {
  reduce_elements<float>(
      all, count, 2, op,
      [&](const std::byte* at) {
        uint16_t bits = 0;
        std::memcpy(&bits, at, sizeof bits);
        return read(bits);
      },
      [&](size_t i, float value) {
        const uint16_t bits = write(value);
        std::memcpy(result->data() + i * 2, &bits, sizeof bits);
      });
}

ncclResult_t reduce_all(const std::vector<Post>& all, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        Bytes* result) {
  result->resize(count * bytes_of(type));
  switch (type) {
    case ncclInt8: reduce_plain<int8_t>(all, count, op, result); break;
    case ncclUint8: reduce_plain<uint8_t>(all, count, op, result); break;
    case ncclInt32: reduce_plain<int32_t>(all, count, op, result); break;
    case ncclUint32: reduce_plain<uint32_t>(all, count, op, result); break;
    case ncclInt64: reduce_plain<int64_t>(all, count, op, result); break;
    case ncclUint64: reduce_plain<uint64_t>(all, count, op, result); break;
    case ncclFloat32: reduce_plain<float>(all, count, op, result); break;
    case ncclFloat64: reduce_plain<double>(all, count, op, result); break;
    case ncclFloat16: reduce_small(all, count, op, read_half, wootz::f32_to_f16, result); break;
    case ncclBfloat16: reduce_small(all, count, op, read_bfloat, wootz::f32_to_bf16, result); break;
  }
  return ncclSuccess;
}

}  // namespace

struct ncclComm {
  std::shared_ptr<World> world;
  int rank, device;
};

namespace {

// Sends and receives of a group, which are one meeting when it ends.
struct Transfer {
  bool send;
  int peer;
  void* memory;
  size_t bytes;
};
thread_local int depth = 0;  // of groups
thread_local ncclComm_t group_comm = nullptr;
thread_local std::vector<Transfer> group;

void append(Bytes* to, const void* from, size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(from);
  to->insert(to->end(), first, first + bytes);
}

// A post is the sends of its rank: receiver, bytes, data, one after the other.
ncclResult_t post_sends(Post* post) {
  for (const Transfer& t : group) {
    if (!t.send) continue;
    const int64_t head[] = {t.peer, static_cast<int64_t>(t.bytes)};
    append(&post->data, head, sizeof head);
    Bytes data(t.bytes);
    if (const ncclResult_t read = copy(data.data(), t.memory, t.bytes); read != ncclSuccess) return read;
    append(&post->data, data.data(), data.size());
  }
  return ncclSuccess;
}

ncclResult_t receive(const Post& from, int rank, const Transfer& t) {
  int64_t head[2];
  for (size_t at = 0; at + sizeof head <= from.data.size(); at += static_cast<size_t>(head[1])) {
    std::memcpy(head, from.data.data() + at, sizeof head);
    at += sizeof head;
    if (head[0] != rank) continue;
    return head[1] == static_cast<int64_t>(t.bytes) ? copy(t.memory, from.data.data() + at, t.bytes) : kInvalidUsage;
  }
  return kInvalidUsage;
}

ncclResult_t end_group() {
  const ncclComm_t comm = std::exchange(group_comm, nullptr);
  if (comm == nullptr) return ncclSuccess;
  Post post{"transfers", {}};
  std::vector<Post> all;
  ncclResult_t result = post_sends(&post);
  if (result == ncclSuccess) result = comm->world->meet(comm->rank, std::move(post), &all);
  for (const Transfer& t : group)
    if (!t.send && result == ncclSuccess) result = receive(all[static_cast<size_t>(t.peer)], comm->rank, t);
  group.clear();
  return result;
}

ncclResult_t put(ncclComm_t comm, Transfer transfer) {
  if (depth == 0 || (group_comm != nullptr && group_comm != comm)) return kInvalidUsage;
  if (transfer.peer < 0 || transfer.peer >= comm->world->size) return kInvalidArgument;
  group_comm = comm;
  group.push_back(transfer);
  return ncclSuccess;
}

ncclResult_t meet(ncclComm_t comm, std::string call, const void* from, size_t bytes, std::vector<Post>* all) {
  Post post{std::move(call), Bytes(bytes)};
  if (const ncclResult_t read = copy(post.data.data(), from, bytes); read != ncclSuccess) return read;
  return comm->world->meet(comm->rank, std::move(post), all);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const char* ncclGetErrorString(ncclResult_t result) {
  return result == kInvalidUsage      ? "the ranks do not agree"
         : result == kSystemError     ? "a rank did not come, or memory is not the device's"
         : result == kInvalidArgument ? "invalid argument"
                                      : "no error";
}
EXPORT ncclResult_t ncclGetVersion(int* version) {
  *version = 21905;
  return ncclSuccess;
}
EXPORT ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  const auto world = std::make_shared<World>(count);
  for (int r = 0; r < count; ++r) comms[r] = new ncclComm{world, r, devices == nullptr ? r : devices[r]};
  return ncclSuccess;
}
EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
EXPORT ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  *count = comm->world->size;
  return ncclSuccess;
}
EXPORT ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
EXPORT ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  *device = comm->device;
  return ncclSuccess;
}
EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* result) {
  *result = ncclSuccess;
  return ncclSuccess;
}

EXPORT ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part, ncclConfig_t*) {
  const int mine[] = {color, key};
  Post post{"split", {}};
  append(&post.data, mine, sizeof mine);
  std::vector<Post> all;
  if (const ncclResult_t met = comm->world->meet(comm->rank, std::move(post), &all); met != ncclSuccess) return met;
  *part = nullptr;
  if (color == kNcclNoColor) return ncclSuccess;
  int ranks = 0, before = 0;
  for (size_t r = 0; r < all.size(); ++r) {
    int other[2];
    std::memcpy(other, all[r].data.data(), sizeof other);
    if (other[0] != color) continue;
    ++ranks;
    before += other[1] < key || (other[1] == key && static_cast<int>(r) < comm->rank);
  }
  *part = new ncclComm{comm->world->part(color, ranks), before, comm->device};
  return ncclSuccess;
}

EXPORT ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                  ncclComm_t comm, CUstream) {
  std::vector<Post> all;
  Bytes result;
  ncclResult_t done = meet(comm, described("all_reduce", count, type, op), from, count * bytes_of(type), &all);
  if (done == ncclSuccess) done = reduce_all(all, count, type, op, &result);
  return done == ncclSuccess ? copy(to, result.data(), result.size()) : done;
}

EXPORT ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                               ncclComm_t comm, CUstream) {
  std::vector<Post> all;
  Bytes result;
  ncclResult_t done = meet(comm, described("reduce", count, type, op, root), from, count * bytes_of(type), &all);
  if (done == ncclSuccess) done = reduce_all(all, count, type, op, &result);
  return done == ncclSuccess && comm->rank == root ? copy(to, result.data(), result.size()) : done;
}

EXPORT ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                      ncclComm_t comm, CUstream) {
  std::vector<Post> all;
  Bytes result;
  const size_t whole = count * static_cast<size_t>(comm->world->size), part = count * bytes_of(type);
  ncclResult_t done = meet(comm, described("reduce_scatter", count, type, op), from, whole * bytes_of(type), &all);
  if (done == ncclSuccess) done = reduce_all(all, whole, type, op, &result);
  return done == ncclSuccess ? copy(to, result.data() + static_cast<size_t>(comm->rank) * part, part) : done;
}

EXPORT ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                                  CUstream) {
  std::vector<Post> all;
  ncclResult_t done = meet(comm, described("all_gather", count, type), from, count * bytes_of(type), &all);
  auto* at = static_cast<std::byte*>(to);
  for (const Post& post : all) {
    if (done == ncclSuccess) done = copy(at, post.data.data(), post.data.size());
    at += post.data.size();
  }
  return done;
}

EXPORT ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                                  ncclComm_t comm, CUstream) {
  std::vector<Post> all;
  const ncclResult_t met = meet(comm, described("broadcast", count, type, root), from, count * bytes_of(type), &all);
  if (met != ncclSuccess) return met;
  const Bytes& data = all[static_cast<size_t>(root)].data;
  return copy(to, data.data(), data.size());
}

EXPORT ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
EXPORT ncclResult_t ncclGroupEnd() { return --depth == 0 ? end_group() : ncclSuccess; }
EXPORT ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream) {
  return put(comm, {true, peer, const_cast<void*>(from), count * bytes_of(type)});
}
EXPORT ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream) {
  return put(comm, {false, peer, to, count * bytes_of(type)});
}
