// Taking and giving back memory, and what is known of an address.
#include "calls.h"
#include "capture.h"
#include "memory.h"
#include "order.h"

namespace wootz::hostcuda {
namespace {

bool is_device(const Block& block) {
  return block.owned && (block.type == cudaMemoryTypeDevice || block.type == cudaMemoryTypeManaged);
}
bool is_pinned(const Block& block) { return block.owned && block.type == cudaMemoryTypeHost; }
bool is_registered(const Block& block) { return !block.owned; }

cudaError_t take(void** address, size_t bytes, cudaMemoryType type, unsigned flags) {
  if (address == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = check_unsafe_call(); error != cudaSuccess) return error;
  return allocate(address, bytes, type, flags);
}

// What is freed may be in use by work that waits: CUDA waits for it, and so does this.
cudaError_t give_back(void* address, bool (*accepted)(const Block&)) {
  if (address == nullptr) return cudaSuccess;
  if (const cudaError_t error = check_unsafe_call(); error != cudaSuccess) return error;
  const std::shared_ptr<Block> block = take_block(address, accepted);
  if (block == nullptr) return cudaErrorInvalidValue;
  if (Queue::current() == nullptr) synchronize_all();
  return cudaSuccess;
}

cudaError_t check_advice(const void* address, size_t bytes) {
  const auto block = block_at(address);
  const bool managed = block != nullptr && block->type == cudaMemoryTypeManaged;
  return managed && bytes > 0 ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t cudaMalloc(void** address, size_t bytes) { return take(address, bytes, cudaMemoryTypeDevice, 0); }

cudaError_t cudaMallocPitch(void** address, size_t* pitch, size_t width, size_t height) {
  if (pitch == nullptr) return cudaErrorInvalidValue;
  *pitch = (width + 511) / 512 * 512;
  return take(address, *pitch * height, cudaMemoryTypeDevice, 0);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
  if (memory == nullptr) return cudaErrorInvalidValue;
  *memory = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaFree(void* address) { return give_back(address, is_device); }

cudaError_t cudaMallocHost(void** address, size_t bytes) { return take(address, bytes, cudaMemoryTypeHost, 0); }

cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if ((flags & ~kKnown) != 0) return cudaErrorInvalidValue;
  return take(address, bytes, cudaMemoryTypeHost, flags);
}

cudaError_t cudaFreeHost(void* address) { return give_back(address, is_pinned); }

cudaError_t cudaMallocManaged(void** address, size_t bytes, unsigned flags) {
  if ((flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) || bytes == 0) return cudaErrorInvalidValue;
  return take(address, bytes, cudaMemoryTypeManaged, flags);
}

cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown =
      cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
  if (address == nullptr || bytes == 0 || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
  if (const cudaError_t error = check_unsafe_call(); error != cudaSuccess) return error;
  const bool added = add_block(std::make_shared<Block>(address, bytes, cudaMemoryTypeHost, flags, false));
  return added ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}

cudaError_t cudaHostUnregister(void* address) {
  if (address == nullptr) return cudaErrorInvalidValue;
  if (take_block(address, is_registered) != nullptr) return cudaSuccess;
  return block_at(address) == nullptr ? cudaErrorHostMemoryNotRegistered : cudaErrorInvalidValue;
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  const auto block = block_at(host);
  if (device == nullptr || flags != 0 || block == nullptr || block->type != cudaMemoryTypeHost)
    return cudaErrorInvalidValue;
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* address) {
  const auto block = block_at(address);
  if (flags == nullptr || block == nullptr || block->type != cudaMemoryTypeHost) return cudaErrorInvalidValue;
  *flags = block->flags;
  return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* address, size_t, unsigned) {
  const auto queue = queue_of(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  const auto block = block_at(address);
  const bool managed = block != nullptr && block->type == cudaMemoryTypeManaged;
  return managed ? submit(queue, Nothing()) : cudaErrorInvalidValue;
}

// Programs of CUDA 12 have no room for what CUDA 13 adds to the answer; it is all zero, and left alone.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  const auto block = block_at(address);
  attributes->type = block == nullptr ? cudaMemoryTypeUnregistered : block->type;
  attributes->device = block == nullptr ? cudaInvalidDeviceId : 0;
  void* const same = const_cast<void*>(address);
  attributes->devicePointer = block == nullptr ? nullptr : same;
  attributes->hostPointer = block != nullptr && block->type == cudaMemoryTypeDevice ? nullptr : same;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  if (available != nullptr) *available = available_memory();
  if (total != nullptr) *total = machine_memory();
  return cudaSuccess;
}

cudaError_t memAdvise11(const void* address, size_t bytes, cudaMemoryAdvise, int) {
  return check_advice(address, bytes);
}
cudaError_t memAdvise12(const void* address, size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
  return check_advice(address, bytes);
}
cudaError_t cudaMemAdvise(const void* address, size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
  return check_advice(address, bytes);
}

cudaError_t memPrefetch11(const void* address, size_t bytes, int, cudaStream_t stream) {
  const auto queue = queue_of(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  const cudaError_t error = check_advice(address, bytes);
  return error != cudaSuccess ? error : submit(queue, Nothing());
}
cudaError_t memPrefetch12(const void* address, size_t bytes, cudaMemLocation, unsigned, cudaStream_t stream) {
  return memPrefetch11(address, bytes, 0, stream);
}
cudaError_t cudaMemPrefetchAsync(const void* address, size_t bytes, cudaMemLocation, unsigned, cudaStream_t stream) {
  return memPrefetch11(address, bytes, 0, stream);
}

}  // namespace wootz::hostcuda
