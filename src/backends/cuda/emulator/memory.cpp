#include "backends/cuda/emulator/memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace wootz::cuda {
namespace {

constexpr size_t kGuard = 64, kAlignment = 256;
constexpr unsigned char kFresh = 0xff, kFence = 0xa5;
constexpr int kTagShift = 48;  // addresses of processes end below
constexpr uintptr_t kTag = uintptr_t{0x2d5a} << kTagShift, kTagMask = uintptr_t{0xffff} << kTagShift;

struct Block {
  size_t bytes = 0;
  int device = 0;
};
struct Memory {
  std::mutex mutex;
  std::map<CUdeviceptr, Block> blocks;
  std::pair<CUdeviceptr, size_t> asked;  // one of these, that was asked for last
  std::string faults;
};
Memory& memory() {
  static auto* all = new Memory;
  return *all;
}

void check_fence(CUdeviceptr address, size_t bytes) {
  const auto* end = static_cast<const unsigned char*>(host_address(address)) + bytes;
  if (std::any_of(end, end + kGuard, [](unsigned char c) { return c != kFence; }))
    memory().faults += fmt::format("written beyond the end of an allocation of {} bytes\n", bytes);
}

}  // namespace

bool is_device_address(const void* address) { return (reinterpret_cast<uintptr_t>(address) & kTagMask) == kTag; }

void* host_address(const void* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  return reinterpret_cast<void*>(is_device_address(address) ? number & ~kTagMask : number);
}

CUresult emulator_allocate(CUdeviceptr* out, size_t bytes, int device) {
  auto* block = static_cast<unsigned char*>(
      std::aligned_alloc(kAlignment, (bytes + kGuard + kAlignment - 1) / kAlignment * kAlignment));
  if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(block, kFresh, bytes);
  std::memset(block + bytes, kFence, kGuard);
  *out = static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(block) | kTag);
  const std::lock_guard<std::mutex> lock(memory().mutex);
  memory().blocks[*out] = {bytes, device};
  return CUDA_SUCCESS;
}

CUresult emulator_free(CUdeviceptr address) {
  const std::lock_guard<std::mutex> lock(memory().mutex);
  const auto found = memory().blocks.find(address);
  if (found == memory().blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  check_fence(address, found->second.bytes);
  std::free(host_address(address));
  memory().blocks.erase(found);
  memory().asked = {};
  return CUDA_SUCCESS;
}

int device_of_memory(CUdeviceptr address) {
  const std::lock_guard<std::mutex> lock(memory().mutex);
  const auto next = memory().blocks.upper_bound(address);
  if (next == memory().blocks.begin()) return kNoDevice;
  const auto& [begin, block] = *std::prev(next);
  return address - begin < std::max<size_t>(block.bytes, 1) ? block.device : kNoDevice;
}

bool is_device_memory(const void* host) {
  const auto address = static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(host) | kTag);
  const std::lock_guard<std::mutex> lock(memory().mutex);
  auto& [begin, bytes] = memory().asked;
  if (address - begin < bytes) return true;
  const auto next = memory().blocks.upper_bound(address);
  if (next == memory().blocks.begin()) return false;
  begin = std::prev(next)->first;
  bytes = std::prev(next)->second.bytes;
  return address - begin < bytes;
}

size_t allocated_bytes(int device) {
  const std::lock_guard<std::mutex> lock(memory().mutex);
  size_t bytes = 0;
  for (const auto& [address, block] : memory().blocks) bytes += block.device == device ? block.bytes : 0;
  return bytes;
}

std::string broken_fences() {
  const std::lock_guard<std::mutex> lock(memory().mutex);
  for (const auto& [address, block] : memory().blocks) check_fence(address, block.bytes);
  return std::exchange(memory().faults, {});
}

}  // namespace wootz::cuda
