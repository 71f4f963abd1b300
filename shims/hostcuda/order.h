// Which operation waits for which: the order within streams, of the default stream with blocking ones, and by events.
// All of it is settled when an operation is put into a stream, under one lock, so that waiting never goes in a circle.
// An operation that is put into a stream while it is captured becomes a node of a graph instead (capture.h).
//
// The thread of a queue may call the API too, from what it runs (an inference may call its application's allocator).
// What it puts on its own stream or the default stream is done at once: it stands where the running operation stands.
// It may not wait for others, which may be waiting for it: cudaErrorNotPermitted.
#pragma once

#include <functional>
#include <mutex>

#include "event.h"

namespace wootz::hostcuda {

// Guards the order of operations, captures and graphs.
std::mutex& order();

// The stream of a handle, default streams included; null: of none.
std::shared_ptr<Queue> queue_of(cudaStream_t stream);
std::shared_ptr<Queue> legacy_queue();
// Makes a stream known to what waits for all of them.
void add_queue(const std::shared_ptr<Queue>& queue);
// Its work goes on; nobody can put anything there any more.
void end_queue(const std::shared_ptr<Queue>& queue);
// Those that did not end. order() is held.
std::vector<std::shared_ptr<Queue>> live_queues();

// Puts an operation into a stream, or into the graph that it is captured into.
cudaError_t submit(const std::shared_ptr<Queue>& queue, Operation operation);
// The same where order() is held and no capture goes on: what it waits for is worked out here.
Point submit_now(const std::shared_ptr<Queue>& queue, Operation operation, std::vector<Point> waits = {});

// Whether the calling thread runs an operation of this stream, or of one whose default stream this is.
bool within(const std::shared_ptr<Queue>& queue);

// Waits for what is in a stream, and `work`, which may be empty, is done in its order by the calling thread.
cudaError_t synchronize(const std::shared_ptr<Queue>& queue, const std::function<void()>& work = {});
cudaError_t query(const std::shared_ptr<Queue>& queue);
// Waits for all streams.
cudaError_t synchronize_all();
cudaError_t wait_for(const Point& point);

}  // namespace wootz::hostcuda
