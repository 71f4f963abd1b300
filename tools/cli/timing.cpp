#include "timing.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using Clock = std::chrono::steady_clock;

// Where inferences are put and come back, in order.
class Lane {
 public:
  virtual ~Lane() = default;
  virtual void start() = 0;
  virtual Query finish() = 0;  // of the earliest that has not been finished

 protected:
  double now_ms() const { return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count(); }
  void begin() { begin_ = Clock::now(); }

 private:
  Clock::time_point begin_ = Clock::now();
};

// Done when it is enqueued, on memory of the host.
class HostLane final : public Lane {
 public:
  explicit HostLane(Session& session) : session_(session) {}
  void start() override {
    const double before = now_ms();
    session_.enqueue();
    const double after = now_ms();
    query_ = {{before, after}, {before, before}, {before, after}, {after, after}};
  }
  Query finish() override { return query_; }

 private:
  Session& session_;
  Query query_;
};

// Copies to the device, inferences and copies back on a stream each, with marks of the device's clock between them.
class DeviceLane final : public Lane {
 public:
  DeviceLane(Session& session, bool transfers)
      : session_(session), engine_(&session.engine()), transfers_(transfers), places_(session.places()) {
    try {
      for (void*& stream : streams_) stream = need(wootz_device_stream_create(engine_), "a stream");
      for (Slot& slot : slots_)
        for (void*& event : slot.events) event = need(wootz_device_event_create(engine_), "an event");
      origin_ = need(wootz_device_event_create(engine_), "an event");
      for (const Session::Place& place : places_) {
        host_.push_back(need(wootz_device_allocate_host(engine_, place.bytes), "host memory"));
        if (place.values != nullptr) std::memcpy(host_.back(), place.values, place.bytes);
      }
      good(wootz_device_event_record(engine_, origin_, streams_[kCompute]));
      good(wootz_device_event_wait(engine_, origin_));
      begin();
    } catch (...) {
      release();
      throw;
    }
  }
  ~DeviceLane() override { release(); }
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;

  void start() override {
    Slot& slot = slots_[started_++ % kSlots];
    if (transfers_) {
      mark(slot, kInStart, kIn);
      copy(true);
      mark(slot, kInEnd, kIn);
      good(wootz_device_stream_wait(engine_, streams_[kCompute], slot.events[kInEnd]));
    }
    mark(slot, kComputeStart, kCompute);
    slot.enqueue.start = now_ms();
    session_.enqueue(streams_[kCompute]);
    slot.enqueue.end = now_ms();
    mark(slot, kComputeEnd, kCompute);
    if (!transfers_) return;
    good(wootz_device_stream_wait(engine_, streams_[kOut], slot.events[kComputeEnd]));
    mark(slot, kOutStart, kOut);
    copy(false);
    mark(slot, kOutEnd, kOut);
  }
  Query finish() override {
    const Slot& slot = slots_[finished_++ % kSlots];
    good(wootz_device_event_wait(engine_, slot.events[transfers_ ? kOutEnd : kComputeEnd]));
    Query query;
    query.enqueue = slot.enqueue;
    query.compute = span(slot, kComputeStart, kComputeEnd);
    query.h2d = transfers_ ? span(slot, kInStart, kInEnd) : Span{query.compute.start, query.compute.start};
    query.d2h = transfers_ ? span(slot, kOutStart, kOutEnd) : Span{query.compute.end, query.compute.end};
    return query;
  }

 private:
  enum Queue { kIn, kCompute, kOut, kQueues };
  enum Mark { kInStart, kInEnd, kComputeStart, kComputeEnd, kOutStart, kOutEnd, kMarks };
  static constexpr size_t kSlots = 2;
  struct Slot {
    void* events[kMarks] = {};
    Span enqueue;
  };

  static void* need(void* made, const char* what) {
    if (made == nullptr) throw Failure(std::string("the device gives no ") + what);
    return made;
  }
  static void good(int status) {
    if (status != 0) throw Failure("an inference could not be timed");
  }
  void mark(Slot& slot, Mark which, Queue queue) {
    good(wootz_device_event_record(engine_, slot.events[which], streams_[queue]));
  }
  // Times are floats: the end as a time since the origin would be too coarse for how long it took.
  Span span(const Slot& slot, Mark from, Mark to) const {
    const double start = wootz_device_event_ms(engine_, origin_, slot.events[from]);
    const double ms = wootz_device_event_ms(engine_, slot.events[from], slot.events[to]);
    if (start < 0 || ms < 0) throw Failure("an inference could not be timed");
    return {start, start + ms};
  }
  void copy(bool in) {
    for (size_t i = 0; i < places_.size(); ++i) {
      const Session::Place& place = places_[i];
      if ((place.values != nullptr) != in || place.device == nullptr) continue;
      good(wootz_device_copy_async(engine_, in ? place.device : host_[i], in ? host_[i] : place.device, place.bytes,
                                   streams_[in ? kIn : kOut]));
    }
  }
  void release() {
    for (void* stream : streams_)
      if (stream != nullptr) wootz_device_stream_destroy(engine_, stream);
    for (const Slot& slot : slots_)
      for (void* event : slot.events) wootz_device_event_destroy(event);
    wootz_device_event_destroy(origin_);
    for (void* memory : host_) wootz_device_free_host(engine_, memory);
  }

  Session& session_;
  nvinfer1::ICudaEngine* engine_;
  bool transfers_;
  std::vector<Session::Place> places_;
  std::vector<void*> host_;  // by place: what is copied from, or to
  void* streams_[kQueues] = {};
  Slot slots_[kSlots];
  void* origin_ = nullptr;
  size_t started_ = 0, finished_ = 0;
};

}  // namespace

Trace trace_inferences(Session& session, const TimingOptions& options) {
  session.run();  // what is made at the first inference, and the outputs' memory
  Trace trace;
  trace.on_device = session.on_device();
  std::unique_ptr<Lane> lane;
  if (trace.on_device)
    lane = std::make_unique<DeviceLane>(session, options.transfers);
  else
    lane = std::make_unique<HostLane>(session);
  const size_t ahead = trace.on_device && options.overlap ? 1 : 0;  // queries that are not waited for yet
  size_t waiting = 0;
  const auto take = [&] {
    const Query query = lane->finish();
    --waiting;
    if (query.compute.start < options.warmup_ms)
      ++trace.warmups;
    else
      trace.queries.push_back(query);
  };
  const auto enough = [&] {
    const bool many = trace.queries.size() >= static_cast<size_t>(options.iterations);
    return many && (options.seconds == 0 || trace.wall_ms() >= options.seconds * 1e3) && !trace.queries.empty();
  };
  while (!enough()) {
    lane->start();
    if (++waiting > ahead) take();
    if (options.idle_ms > 0 && !trace.queries.empty())
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options.idle_ms));
  }
  while (waiting > 0) take();
  return trace;
}

}  // namespace wootz_cli
