#include "memory.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

namespace wootz::hostcuda {
namespace {

constexpr size_t kAlignment = 512;

struct Entry {
  std::weak_ptr<Block> block;
  std::shared_ptr<Block> kept;  // null: a graph keeps it
};

struct Register {
  std::mutex mutex;
  std::map<uintptr_t, Entry> blocks;
  static Register& get() {
    static auto* const made = new Register;
    return *made;
  }
};

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

// The entry that an address is in. The register is locked.
std::map<uintptr_t, Entry>::iterator find(Register& all, const void* address) {
  auto at = all.blocks.upper_bound(number(address));
  if (at == all.blocks.begin()) return all.blocks.end();
  --at;
  const auto block = at->second.block.lock();
  return block != nullptr && number(address) - at->first < block->bytes ? at : all.blocks.end();
}

// Whether `bytes` from an address on lie in the block that it is in, if it is in one.
bool fits(const Block* block, const void* address, size_t bytes) {
  return block == nullptr || bytes <= block->bytes - (number(address) - number(block->address));
}

size_t extent(size_t width, size_t height, size_t depth, size_t pitch, size_t slice) {
  return (depth - 1) * slice + (height - 1) * pitch + width;
}

}  // namespace

Block::~Block() {
  if (of_graph) {
    Register& all = Register::get();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.blocks.erase(number(address));
  }
  if (pool != nullptr) __atomic_fetch_sub(&pool->used, bytes, __ATOMIC_RELAXED);
  if (owned) std::free(address);
}

size_t machine_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;)
    if (size_t kilobytes = 0; word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  return static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

bool add_block(const std::shared_ptr<Block>& block) {
  Register& all = Register::get();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (;;) {
    auto other = find(all, block->address);
    if (other == all.blocks.end()) other = all.blocks.lower_bound(number(block->address));
    if (other == all.blocks.end() || other->first >= number(block->address) + block->bytes) break;
    // Memory that was just allocated is nobody's: the application freed what it had registered.
    if (!block->owned || other->second.kept == nullptr || other->second.kept->owned) return false;
    all.blocks.erase(other);
  }
  all.blocks[number(block->address)] = {block, block};
  return true;
}

void leave_to_graph(const std::shared_ptr<Block>& block) {
  Register& all = Register::get();
  const std::lock_guard<std::mutex> lock(all.mutex);
  block->of_graph = true;
  all.blocks[number(block->address)].kept = nullptr;
}

cudaError_t allocate(void** address, size_t bytes, cudaMemoryType type, unsigned flags, std::shared_ptr<Block>* block) {
  if (address == nullptr) return cudaErrorInvalidValue;
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (bytes > machine_memory()) return cudaErrorMemoryAllocation;
  void* const memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (memory == nullptr) return cudaErrorMemoryAllocation;
  const auto made = std::make_shared<Block>(memory, bytes, type, flags, true);
  if (!add_block(made)) return cudaErrorMemoryAllocation;
  if (block != nullptr) *block = made;
  *address = memory;
  return cudaSuccess;
}

std::shared_ptr<Block> block_at(const void* address) {
  Register& all = Register::get();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = find(all, address);
  return found == all.blocks.end() ? nullptr : found->second.block.lock();
}

std::shared_ptr<Block> take_block(const void* address, bool (*accepted)(const Block&)) {
  Register& all = Register::get();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.blocks.find(number(address));
  if (found == all.blocks.end() || found->second.kept == nullptr || !accepted(*found->second.kept)) return nullptr;
  std::shared_ptr<Block> block = std::move(found->second.kept);
  all.blocks.erase(found);
  return block;
}

cudaError_t check_copy(const Copy& copy) {
  if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return cudaSuccess;
  if (copy.to == nullptr || copy.from == nullptr) return cudaErrorInvalidValue;
  const bool rows = copy.height > 1 || copy.depth > 1;
  if (rows && (copy.to_pitch < copy.width || copy.from_pitch < copy.width)) return cudaErrorInvalidPitchValue;
  const auto to = block_at(copy.to), from = block_at(copy.from);
  const auto device_only = [](const auto& block) { return block != nullptr && block->type == cudaMemoryTypeDevice; };
  const bool to_host = copy.kind == cudaMemcpyHostToHost || copy.kind == cudaMemcpyDeviceToHost;
  const bool from_host = copy.kind == cudaMemcpyHostToHost || copy.kind == cudaMemcpyHostToDevice;
  if ((to_host && device_only(to)) || (from_host && device_only(from))) return cudaErrorInvalidValue;
  if (!fits(to.get(), copy.to, extent(copy.width, copy.height, copy.depth, copy.to_pitch, copy.to_slice)) ||
      !fits(from.get(), copy.from, extent(copy.width, copy.height, copy.depth, copy.from_pitch, copy.from_slice)))
    return cudaErrorInvalidValue;
  return cudaSuccess;
}

cudaError_t check_fill(const Fill& fill) {
  if (fill.width == 0 || fill.height == 0) return cudaSuccess;
  if (fill.at == nullptr) return cudaErrorInvalidValue;
  const size_t row = fill.width * fill.element;
  if (fill.height > 1 && fill.pitch < row) return cudaErrorInvalidValue;
  const auto block = block_at(fill.at);
  return fits(block.get(), fill.at, extent(row, fill.height, 1, fill.pitch, 0)) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t read_copy(const cudaMemcpy3DParms* p, Copy* copy) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (p->srcArray != nullptr || p->dstArray != nullptr) return cudaErrorNotSupported;
  const auto at = [](const cudaPitchedPtr& memory, const cudaPos& position) {
    const size_t offset = (position.z * memory.ysize + position.y) * memory.pitch + position.x;
    return memory.ptr == nullptr ? nullptr : static_cast<char*>(memory.ptr) + offset;
  };
  copy->to = at(p->dstPtr, p->dstPos);
  copy->from = at(p->srcPtr, p->srcPos);
  copy->width = p->extent.width;
  copy->height = p->extent.height;
  copy->depth = p->extent.depth;
  copy->to_pitch = p->dstPtr.pitch;
  copy->from_pitch = p->srcPtr.pitch;
  copy->to_slice = p->dstPtr.pitch * p->dstPtr.ysize;
  copy->from_slice = p->srcPtr.pitch * p->srcPtr.ysize;
  copy->kind = p->kind;
  return check_copy(*copy);
}

cudaError_t read_fill(const cudaMemsetParams* p, Fill* fill) {
  if (p == nullptr || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)) return cudaErrorInvalidValue;
  *fill = {p->dst, p->value, p->elementSize, p->width, p->height, p->pitch};
  return check_fill(*fill);
}

}  // namespace wootz::hostcuda
