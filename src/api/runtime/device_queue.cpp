// The C entry points for streams, events and host memory of an engine's device.
#include <map>
#include <mutex>

#include "api/runtime/device_of.h"
#include "api/runtime/engine.h"
#include "api/runtime/made_here.h"
#include "wootz/extensions.h"

namespace wootz::api {

Device* device_of(void* engine) {
  const auto* ours = made_here<EngineImpl>(static_cast<nvinfer1::ICudaEngine*>(engine));
  return ours == nullptr ? nullptr : &ours->info()->core_ptr()->device();
}

int device_call(void* engine, const char* call, FunctionRef<Status(Device&)> work) {
  const bool ok = attempt(Reporter(process_logger()), call, [&]() -> Status {
    Device* device = device_of(engine);
    if (device == nullptr) return invalid_argument("not an engine of this library");
    const DeviceScope current(*device);
    return work(*device);
  });
  return ok ? 0 : 1;
}

namespace {

// Streams made here, by what the application knows them as.
class Queues {
 public:
  static Queues& get() {
    static auto* queues = new Queues;  // a static object of the application's may destroy its stream late
    return *queues;
  }
  void* keep(std::unique_ptr<Stream> stream) {
    void* const handle = stream->native();
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_[handle] = std::move(stream);
    return handle;
  }
  Status drop(void* handle) {
    std::unique_ptr<Stream> stream;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = streams_.find(handle);
      if (found == streams_.end()) return invalid_argument("{} is no stream of wootz_device_stream_create", handle);
      stream = std::move(found->second);
      streams_.erase(found);
    }
    return stream->synchronize();
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::unique_ptr<Stream>> streams_;
};

Status need_queues(const Device& device) {
  return device.host_memory() ? unsupported("the engine is not on a device with queues of its own") : Status();
}

Result<Event*> event_of(void* event) {
  if (event == nullptr) return invalid_argument("the event is null");
  return static_cast<Event*>(event);
}

void* make_event(void* engine, const char* call, bool sleeps) {
  void* made = nullptr;
  device_call(engine, call, [&](Device& device) -> Status {
    WOOTZ_RETURN_IF_ERROR(need_queues(device));
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Event> event, device.create_event(/*tells_time=*/true, sleeps));
    made = event.release();
    return Status();
  });
  return made;
}

}  // namespace
}  // namespace wootz::api

using wootz::Device;
using wootz::Event;
using wootz::Status;
using wootz::Stream;
using wootz::api::device_call;

extern "C" {

void* wootz_device_stream_create(void* engine) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_stream_create, engine);
  void* made = nullptr;
  device_call(engine, "wootz_device_stream_create", [&](Device& device) -> Status {
    WOOTZ_RETURN_IF_ERROR(wootz::api::need_queues(device));
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device.create_stream());
    made = wootz::api::Queues::get().keep(std::move(stream));
    return Status();
  });
  return made;
}

int wootz_device_stream_destroy(void* engine, void* stream) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_stream_destroy, engine, stream);
  return device_call(engine, "wootz_device_stream_destroy",
                     [&](Device&) { return wootz::api::Queues::get().drop(stream); });
}

int wootz_device_copy_async(void* engine, void* to, const void* from, size_t bytes, void* stream) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_copy_async, engine, to, from, bytes, stream);
  return device_call(engine, "wootz_device_copy_async", [&](Device& device) -> Status {
    WOOTZ_RETURN_IF_ERROR(wootz::api::need_queues(device));
    WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> queue, device.adopt_stream(stream));
    return device.copy(to, from, bytes, queue.get());
  });
}

void* wootz_device_event_create(void* engine) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_event_create, engine);
  return wootz::api::make_event(engine, "wootz_device_event_create", /*sleeps=*/false);
}
void* wootz_device_event_create_blocking(void* engine) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_event_create_blocking, engine);
  return wootz::api::make_event(engine, "wootz_device_event_create_blocking", /*sleeps=*/true);
}

void wootz_device_event_destroy(void* event) noexcept { delete static_cast<Event*>(event); }

int wootz_device_event_record(void* engine, void* event, void* stream) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_event_record, engine, event, stream);
  return device_call(engine, "wootz_device_event_record", [&](Device& device) -> Status {
    WOOTZ_ASSIGN_OR_RETURN(Event* const mark, wootz::api::event_of(event));
    WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> queue, device.adopt_stream(stream));
    return queue->record(*mark);
  });
}

int wootz_device_stream_wait(void* engine, void* stream, void* event) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_stream_wait, engine, stream, event);
  return device_call(engine, "wootz_device_stream_wait", [&](Device& device) -> Status {
    WOOTZ_ASSIGN_OR_RETURN(Event* const mark, wootz::api::event_of(event));
    WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> queue, device.adopt_stream(stream));
    return queue->wait_for(*mark);
  });
}

int wootz_device_event_wait(void* engine, void* event) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_event_wait, engine, event);
  return device_call(engine, "wootz_device_event_wait", [&](Device&) -> Status {
    WOOTZ_ASSIGN_OR_RETURN(Event* const mark, wootz::api::event_of(event));
    return mark->wait();
  });
}

double wootz_device_event_ms(void* engine, void* from, void* to) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_event_ms, engine, from, to);
  double ms = -1;
  device_call(engine, "wootz_device_event_ms", [&](Device&) -> Status {
    WOOTZ_ASSIGN_OR_RETURN(Event* const earlier, wootz::api::event_of(from));
    WOOTZ_ASSIGN_OR_RETURN(Event* const later, wootz::api::event_of(to));
    WOOTZ_ASSIGN_OR_RETURN(ms, later->ms_since(*earlier));
    return Status();
  });
  return ms;
}

void* wootz_device_allocate_host(void* engine, size_t bytes) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_allocate_host, engine, bytes);
  void* memory = nullptr;
  device_call(engine, "wootz_device_allocate_host", [&](Device& device) -> Status {
    WOOTZ_ASSIGN_OR_RETURN(memory, device.allocate_host(bytes));
    return Status();
  });
  return memory;
}

void wootz_device_free_host(void* engine, void* memory) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_free_host, engine, memory);
  if (Device* device = wootz::api::device_of(engine); device != nullptr && memory != nullptr) device->free_host(memory);
}

}  // extern "C"
