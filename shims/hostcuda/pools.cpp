// Memory in a stream's order, and pools. Memory is there at once and goes back when the stream gets there; what is
// allocated while a stream is captured belongs to the graph.
#include "calls.h"
#include "capture.h"
#include "handles.h"
#include "memory.h"
#include "order.h"

namespace wootz::hostcuda {
namespace {

using Pools = Handles<Pool, cudaMemPool_t>;

cudaMemPool_t default_pool() {
  static const cudaMemPool_t pool = Pools::get().add(std::make_shared<Pool>());
  return pool;
}

cudaMemPool_t& current_pool() {
  static cudaMemPool_t pool = default_pool();
  return pool;
}

std::mutex g_pools;  // guards the numbers of pools and which one is current

cudaMemPool_t get_current_pool() {
  const std::lock_guard<std::mutex> lock(g_pools);
  return current_pool();
}

void count(const std::shared_ptr<Pool>& pool, Block* block) {
  const size_t used = __atomic_add_fetch(&pool->used, block->bytes, __ATOMIC_RELAXED);
  block->pool = pool;
  const std::lock_guard<std::mutex> lock(g_pools);
  if (used > pool->used_high) pool->used_high = used;
}

bool is_device(const Block& block) { return block.owned && block.type == cudaMemoryTypeDevice; }

cudaError_t check_pool(cudaMemPool_t pool, const void* value) {
  return value == nullptr || Pools::get().find(pool) == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}

}  // namespace

cudaError_t cudaMallocAsync(void** address, size_t bytes, cudaStream_t stream) {
  return cudaMallocFromPoolAsync(address, bytes, get_current_pool(), stream);
}

cudaError_t cudaMallocFromPoolAsync(void** address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  const auto queue = queue_of(stream);
  const auto found = Pools::get().find(pool);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (found == nullptr || address == nullptr) return cudaErrorInvalidValue;
  std::shared_ptr<Block> block;
  if (const cudaError_t error = allocate(address, bytes, cudaMemoryTypeDevice, 0, &block); error != cudaSuccess)
    return error;
  if (block == nullptr) return cudaSuccess;
  count(found, block.get());
  const std::lock_guard<std::mutex> lock(order());
  if (queue->capture == nullptr || within(queue)) return cudaSuccess;
  leave_to_graph(block);
  const cudaError_t error = capture_operation(*queue, Kept(block));
  if (error != cudaSuccess) *address = nullptr;
  return error;
}

cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
  const auto queue = queue_of(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (address == nullptr) return cudaErrorInvalidValue;
  if (const auto block = block_at(address); block != nullptr && block->of_graph && block->address == address)
    return submit(queue, Kept());
  const std::shared_ptr<Block> block = take_block(address, is_device);
  return block == nullptr ? cudaErrorInvalidValue : submit(queue, Kept(block));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  *pool = default_pool();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  *pool = get_current_pool();
  return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  if (device != 0) return cudaErrorInvalidDevice;
  if (Pools::get().find(pool) == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(g_pools);
  current_pool() = pool;
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr || properties->allocType != cudaMemAllocationTypePinned)
    return cudaErrorInvalidValue;
  if (properties->handleTypes != cudaMemHandleTypeNone) return cudaErrorNotSupported;
  *pool = Pools::get().add(std::make_shared<Pool>());
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  const std::lock_guard<std::mutex> lock(g_pools);
  if (pool == default_pool() || Pools::get().take(pool) == nullptr) return cudaErrorInvalidValue;
  if (current_pool() == pool) current_pool() = default_pool();
  return cudaSuccess;
}

// Pools hold nothing back.
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) { return check_pool(pool, &keep); }

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const auto found = Pools::get().find(pool);
  if (found == nullptr || value == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(g_pools);
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      *static_cast<int*>(value) = found->reuse[attribute - cudaMemPoolReuseFollowEventDependencies];
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      *static_cast<unsigned long long*>(value) = found->threshold;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent:
      *static_cast<unsigned long long*>(value) = __atomic_load_n(&found->used, __ATOMIC_RELAXED);
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh: *static_cast<unsigned long long*>(value) = found->used_high; return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const auto found = Pools::get().find(pool);
  if (found == nullptr || value == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(g_pools);
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      found->reuse[attribute - cudaMemPoolReuseFollowEventDependencies] = *static_cast<int*>(value);
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      found->threshold = *static_cast<unsigned long long*>(value);
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:  // can only be put back to 0
      if (*static_cast<unsigned long long*>(value) != 0) return cudaErrorInvalidValue;
      found->used_high = __atomic_load_n(&found->used, __ATOMIC_RELAXED);
      return cudaSuccess;
    default: return cudaErrorInvalidValue;
  }
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t) {
  return check_pool(pool, access);
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* where) {
  if (const cudaError_t error = check_pool(pool, flags); error != cudaSuccess) return error;
  if (where == nullptr) return cudaErrorInvalidValue;
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}

}  // namespace wootz::hostcuda
