// Copies and fills. Those without a stream are done by the calling thread when what comes before them is done.
#include <cstring>

#include "calls.h"
#include "capture.h"
#include "memory.h"
#include "order.h"

namespace wootz::hostcuda {
namespace {

constexpr size_t kStaged = 64 << 10;  // bytes that are worth a copy of the source

bool is_empty(const Copy& copy) { return copy.width == 0 || copy.height == 0 || copy.depth == 0; }

cudaError_t run_here(const Operation& operation) {
  if (const cudaError_t error = check_unsafe_call(); error != cudaSuccess) return error;
  return synchronize(queue_of(nullptr), [&] { run(operation); });
}

cudaError_t copy_here(const Copy& copy) {
  if (const cudaError_t error = check_copy(copy); error != cudaSuccess) return error;
  return is_empty(copy) ? cudaSuccess : run_here(copy);
}

bool is_captured(const std::shared_ptr<Queue>& queue) {
  const std::lock_guard<std::mutex> lock(order());
  return queue->capture != nullptr;
}

// Host memory that CUDA has not allocated is read, or written, before the call returns, as on a GPU: programs use the
// source again at once.
cudaError_t copy_in(cudaStream_t stream, Copy copy) {
  if (const cudaError_t error = check_copy(copy); error != cudaSuccess) return error;
  const auto queue = queue_of(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (is_empty(copy)) return cudaSuccess;
  if (copy.kind == cudaMemcpyDeviceToDevice || is_captured(queue)) return submit(queue, std::move(copy));
  const bool to_any = block_at(copy.to) == nullptr, from_any = block_at(copy.from) == nullptr;
  if (!to_any && !from_any) return submit(queue, std::move(copy));
  const bool plain = copy.height == 1 && copy.depth == 1;
  if (to_any || !plain || copy.width > kStaged) return synchronize(queue, [&] { run(copy); });
  const auto* const from = static_cast<const char*>(copy.from);
  copy.staged = std::make_shared<std::vector<char>>(from, from + copy.width);
  return submit(queue, std::move(copy));
}

Copy rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
          cudaMemcpyKind kind) {
  return {.to = to,
          .from = from,
          .width = width,
          .height = height,
          .to_pitch = to_pitch,
          .from_pitch = from_pitch,
          .kind = kind};
}

cudaError_t check_pitches(size_t to_pitch, size_t from_pitch, size_t width) {
  return width > to_pitch || width > from_pitch ? cudaErrorInvalidPitchValue : cudaSuccess;
}

Fill bytes_of(void* address, size_t pitch, int value, size_t width, size_t height) {
  return {address, static_cast<unsigned>(value) & 0xffU, 1, width, height, pitch};
}

cudaError_t fill_in(cudaStream_t stream, const Fill& fill) {
  if (const cudaError_t error = check_fill(fill); error != cudaSuccess) return error;
  const auto queue = queue_of(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  return submit(queue, fill);
}

cudaError_t fill_here(const Fill& fill) {
  const cudaError_t error = check_fill(fill);
  return error != cudaSuccess ? error : run_here(fill);
}

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return copy_here(Copy{.to = to, .from = from, .width = bytes, .kind = kind});
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_in(stream, Copy{.to = to, .from = from, .width = bytes, .kind = kind});
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  if (to_device != 0 || from_device != 0) return cudaErrorInvalidDevice;
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  if (to_device != 0 || from_device != 0) return cudaErrorInvalidDevice;
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  if (const cudaError_t error = check_pitches(to_pitch, from_pitch, width); error != cudaSuccess) return error;
  return copy_here(rows(to, to_pitch, from, from_pitch, width, height, kind));
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (const cudaError_t error = check_pitches(to_pitch, from_pitch, width); error != cudaSuccess) return error;
  return copy_in(stream, rows(to, to_pitch, from, from_pitch, width, height, kind));
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  Copy copy;
  const cudaError_t error = read_copy(parameters, &copy);
  return error != cudaSuccess ? error : copy_here(copy);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  Copy copy;
  const cudaError_t error = read_copy(parameters, &copy);
  return error != cudaSuccess ? error : copy_in(stream, std::move(copy));
}

cudaError_t cudaMemset(void* address, int value, size_t bytes) {
  return fill_here(bytes_of(address, bytes, value, bytes, 1));
}
cudaError_t cudaMemsetAsync(void* address, int value, size_t bytes, cudaStream_t stream) {
  return fill_in(stream, bytes_of(address, bytes, value, bytes, 1));
}
cudaError_t cudaMemset2D(void* address, size_t pitch, int value, size_t width, size_t height) {
  return fill_here(bytes_of(address, pitch, value, width, height));
}
cudaError_t cudaMemset2DAsync(void* address, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return fill_in(stream, bytes_of(address, pitch, value, width, height));
}

}  // namespace wootz::hostcuda
