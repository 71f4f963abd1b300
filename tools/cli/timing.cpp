#include "timing.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using Clock = std::chrono::steady_clock;

// Where inferences are put and come back, in order.
class Lane {
 public:
  explicit Lane(Clock::time_point begin) : begin_(begin) {}
  virtual ~Lane() = default;
  virtual void start() = 0;
  virtual Query finish() = 0;  // of the earliest that has not been finished
  size_t waiting = 0;          // started and not finished

 protected:
  double now_ms() const { return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count(); }

 private:
  Clock::time_point begin_;
};

// Done when it is enqueued, on memory of the host.
class HostLane final : public Lane {
 public:
  HostLane(Session& session, Clock::time_point begin) : Lane(begin), session_(session) {}
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

void* need(void* made, const char* what) {
  if (made == nullptr) throw Failure(std::string("the device gives no ") + what);
  return made;
}
void good(int status) {
  if (status != 0) throw Failure("an inference could not be timed");
}

// A point that the times of all lanes are counted from.
class Origin {
 public:
  explicit Origin(Session& session) : engine_(&session.engine()) {
    if (session.on_device()) {
      event_ = need(wootz_device_event_create(engine_), "an event");
      good(wootz_device_event_record(engine_, event_, nullptr));
      good(wootz_device_event_wait(engine_, event_));
    }
    begin_ = Clock::now();
  }
  ~Origin() {
    if (event_ != nullptr) wootz_device_event_destroy(event_);
  }
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;
  void* event() const { return event_; }
  Clock::time_point begin() const { return begin_; }

 private:
  nvinfer1::ICudaEngine* engine_;
  void* event_ = nullptr;
  Clock::time_point begin_;
};

// Copies to the device, inferences and copies back on a stream each, with marks of the device's clock between them.
class DeviceLane final : public Lane {
 public:
  DeviceLane(Session& session, const TimingOptions& options, const Origin& origin)
      : Lane(origin.begin()),
        session_(session),
        engine_(&session.engine()),
        transfers_(options.transfers),
        places_(session.places()),
        origin_(origin.event()) {
    const auto create = options.sleeping_wait ? wootz_device_event_create_blocking : wootz_device_event_create;
    try {
      for (void*& stream : streams_) stream = need(wootz_device_stream_create(engine_), "a stream");
      for (Slot& slot : slots_)
        for (void*& event : slot.events) event = need(create(engine_), "an event");
      for (const Session::Place& place : places_) {
        host_.push_back(need(wootz_device_allocate_host(engine_, place.bytes), "host memory"));
        if (place.values != nullptr) std::memcpy(host_.back(), place.values, place.bytes);
      }
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
    for (void* memory : host_) wootz_device_free_host(engine_, memory);
  }

  Session& session_;
  nvinfer1::ICudaEngine* engine_;
  bool transfers_;
  std::vector<Session::Place> places_;
  std::vector<void*> host_;  // by place: what is copied from, or to
  void* streams_[kQueues] = {};
  Slot slots_[kSlots];
  void* origin_;
  size_t started_ = 0, finished_ = 0;
};

// Some lanes, driven by one thread until there is enough.
class Loop {
 public:
  Loop(std::vector<std::unique_ptr<Lane>> lanes, const TimingOptions& options, bool on_device)
      : lanes_(std::move(lanes)), options_(options), ahead_(on_device && options.overlap ? 1 : 0) {}

  void run() {
    while (!enough()) {
      for (const auto& lane : lanes_) {
        lane->start();
        if (++lane->waiting > ahead_) take(*lane);
      }
      if (options_.idle_ms > 0 && !trace_.queries.empty())
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options_.idle_ms));
    }
    for (const auto& lane : lanes_)
      while (lane->waiting > 0) take(*lane);
  }
  const Trace& trace() const { return trace_; }

 private:
  void take(Lane& lane) {
    const Query query = lane.finish();
    --lane.waiting;
    if (query.compute.start < options_.warmup_ms) {
      ++trace_.warmups;
      return;
    }
    trace_.queries.push_back(query);
    first_ = std::min(first_, query.h2d.start);
    last_ = std::max(last_, query.d2h.end);
  }
  bool enough() const {
    const size_t least = static_cast<size_t>(std::max(1, options_.iterations)) * lanes_.size();
    return trace_.queries.size() >= least && (options_.seconds == 0 || last_ - first_ >= options_.seconds * 1e3);
  }

  std::vector<std::unique_ptr<Lane>> lanes_;
  const TimingOptions& options_;
  const size_t ahead_;  // queries of a lane that are not waited for yet
  double first_ = 1e300, last_ = 0;
  Trace trace_;
};

// Each loop on a thread of its own. The first exception of any is thrown when all have ended.
void run_side_by_side(std::vector<std::unique_ptr<Loop>>& loops) {
  std::vector<std::exception_ptr> failed(loops.size());
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < loops.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        loops[i]->run();
      } catch (...) {
        failed[i] = std::current_exception();
      }
    });
  threads.clear();
  for (const std::exception_ptr& e : failed)
    if (e != nullptr) std::rethrow_exception(e);
}

std::vector<std::unique_ptr<Loop>> make_loops(const std::vector<Session*>& sessions, const TimingOptions& options,
                                              const Origin& origin, bool on_device) {
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<std::unique_ptr<Lane>> lanes;
  const auto close = [&] { loops.push_back(std::make_unique<Loop>(std::exchange(lanes, {}), options, on_device)); };
  for (Session* const session : sessions) {
    if (on_device)
      lanes.push_back(std::make_unique<DeviceLane>(*session, options, origin));
    else
      lanes.push_back(std::make_unique<HostLane>(*session, origin.begin()));
    if (options.threads || !on_device) close();
  }
  if (!lanes.empty()) close();
  return loops;
}

}  // namespace

double Trace::wall_ms() const {
  double first = 1e300, last = 0;
  for (const Query& q : queries) first = std::min(first, q.h2d.start), last = std::max(last, q.d2h.end);
  return queries.empty() ? 0 : last - first;
}

Trace trace_inferences(const std::vector<Session*>& sessions, const TimingOptions& options) {
  for (Session* const session : sessions) session->run();  // what is made at first, and the outputs' memory
  Trace trace;
  trace.on_device = sessions.front()->on_device();
  if (options.sleep_ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options.sleep_ms));
  const Origin origin(*sessions.front());
  std::vector<std::unique_ptr<Loop>> loops = make_loops(sessions, options, origin, trace.on_device);
  if (loops.size() == 1)
    loops.front()->run();
  else
    run_side_by_side(loops);
  for (const auto& loop : loops) {
    trace.warmups += loop->trace().warmups;
    trace.queries.insert(trace.queries.end(), loop->trace().queries.begin(), loop->trace().queries.end());
  }
  std::stable_sort(trace.queries.begin(), trace.queries.end(),
                   [](const Query& a, const Query& b) { return a.h2d.start < b.h2d.start; });
  return trace;
}

}  // namespace wootz_cli
