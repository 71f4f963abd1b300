// What a cudaStream_t means to a CPU engine: null (finish before returning), a host stream of ours, or a stream of the
// CUDA runtime library of the process, which takes host functions. Where that is libwootz_hostcuda (hostcuda.h), null
// is its default stream, and streams may be captured.
#pragma once

#include "api/runtime/public.h"
#include "backend/device.h"
#include "base/status.h"

namespace wootz::api {

// Makes a FIFO worker; the handle is known until it is destroyed.
Result<cudaStream_t> create_host_stream();
// Waits for what is queued. Errors: not a stream of ours.
Status destroy_host_stream(cudaStream_t stream);
// Errors: of the work queued since the last call; not a stream of ours.
Status synchronize_host_stream(cudaStream_t stream);

// Whether it is a live stream made here, which nothing but a CPU engine can use.
bool is_host_stream(cudaStream_t stream);

// Whether work for this stream is done at once, on the calling thread.
bool is_immediate(cudaStream_t stream);
// Puts work, which the caller keeps, on a stream that is not immediate. A failure of the work itself is reported by it,
// and by synchronize for our own streams. On an error nothing was put there.
Status run_in_stream(cudaStream_t stream, StreamWork* work);

// Records an event of the program's CUDA runtime after what is in the stream. Errors: no such runtime is loaded.
Status can_record_events();
Status record_event(cudaEvent_t event, cudaStream_t stream);

}  // namespace wootz::api
