// Memory, order and time of one device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "base/function_ref.h"

namespace wootz {

// What is known of a device without touching it. Read from a file for device-less builds.
struct DeviceDescription {
  std::string backend;  // "cpu", "cuda", "reference"
  std::string name;     // marketing name
  std::string isa;      // "avx512_vnni", "sm_90": compared by the plan loader
  int threads = 1;
  size_t memory = 0;
  std::string properties;  // what the backend's libraries ask of the device, as JSON; may be empty
  std::string alias;       // of a device known by name: "h200"; not part of the JSON
  std::string to_json() const;
  static Result<DeviceDescription> from_json(std::string_view text);
};

// Work that its owner keeps until the stream has called one of these, once.
class StreamWork {
 public:
  virtual Status run() = 0;
  virtual void drop() = 0;  // in place of run(): earlier work failed, and the stream was not synchronized since

 protected:
  ~StreamWork() = default;
};

// A point in a stream that other streams wait for. Recorded anew, it stands for the new point.
class Event {
 public:
  virtual ~Event() = default;
  // The host waits until the work before the point is done.
  virtual Status wait() { return unsupported("the host cannot wait for this event"); }
  // Between two events that were created to tell time and are done: from `earlier` to this one.
  virtual Result<double> ms_since(const Event& earlier) const {
    (void)earlier;
    return unsupported("this event tells no time");
  }
};

// An ordered queue of work. On the CPU: null (run at once) or a host stream.
class Stream {
 public:
  virtual ~Stream() = default;
  // Host work in the stream's order. Devices whose queue takes no host work refuse.
  virtual Status enqueue(std::function<Status()> work) = 0;
  // The same without taking memory, where a stream can. On an error neither of the work's functions is called.
  virtual Status enqueue_kept(StreamWork* work) {
    return enqueue([work] { return work->run(); });
  }
  virtual Status synchronize() = 0;
  // The application captures what is put here now: it is not run, and nothing may be waited for.
  virtual bool capturing() const { return false; }
  // The event stands for the end of the work put here so far. Only where create_event() gives events.
  virtual Status record(Event& event) {
    (void)event;
    return unsupported("this stream has no events");
  }
  // The same of an event that the application made by the device's own library (a cudaEvent_t).
  virtual Status record_handle(void* event) {
    (void)event;
    return unsupported("this stream has no events");
  }
  // The event notes when the work put here so far is done; also in each replay of a recording that this is part of.
  virtual Status mark(Event& event) { return record(event); }
  // The device keeps what the work put here from now on reads and writes in these bytes in its cache, as far as `share`
  // bytes of it go; 0: no more. Recordings keep it. A hint: a device without such a thing does nothing.
  virtual Status persist(const void* memory, size_t bytes, size_t share) {
    (void)memory, (void)bytes, (void)share;
    return Status();
  }
  // What is put here from now on waits for the event; the host goes on. A stream that waits for an event of one that is
  // being captured is captured with it.
  virtual Status wait_for(Event& event) {
    (void)event;
    return unsupported("this stream has no events");
  }
  // What the device's own library calls this queue (a cudaStream_t); null: its default queue, or there is none.
  virtual void* native() const { return nullptr; }
};

// Work that was put on a stream once and can be put there again at little cost (a CUDA graph), in a DeviceScope.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual Status replay(Stream& stream) = 0;
};

// How a device's tools learn what the host is doing (NVTX).
struct RangeHooks {
  void (*begin)(const char* name);
  void (*end)();
  bool each_step;  // steps are wanted one by one: nothing is to be recorded
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceDescription& describe() const = 0;
  // Which of its backend's devices it is.
  virtual int number() const { return 0; }
  // Makes it the calling thread's current device, where its library knows such a thing. True: it was not, and leave()
  // brings back what was. By DeviceScope. Code that runs calls, or asks streams and events, is in one; the functions
  // below see to it themselves.
  virtual bool enter() const { return false; }
  virtual void leave() const {}
  virtual Result<void*> allocate(size_t bytes, size_t alignment) = 0;
  virtual void free(void* memory) = 0;
  virtual Status copy(void* to, const void* from, size_t bytes, Stream* stream) = 0;
  virtual Result<std::unique_ptr<Stream>> create_stream() = 0;
  // False: its memory is not the host's. Then constants are copied there once, calls get a stream, and the values of
  // shape tensors are copied for the steps that read them.
  virtual bool host_memory() const { return true; }
  // For streams of this device. Null: it has one queue, or work is done when it is put there. Those that tell time cost
  // the device a little more.
  // `sleeps`: who waits for one leaves the processor to others, and does not spin.
  virtual Result<std::unique_ptr<Event>> create_event(bool tells_time = false, bool sleeps = false) {
    (void)tells_time, (void)sleeps;
    return std::unique_ptr<Event>();
  }
  // Memory that both the host and the device read and write at one address, given back by free().
  virtual Result<void*> allocate_managed(size_t bytes) { return allocate(bytes, 64); }
  // The cache between all that it computes and its memory, the host's: those of its cores together; 0: not known.
  virtual size_t cache_bytes() const { return 0; }
  // How much of its cache can be set aside for what Stream::persist() names; 0: it has no such thing.
  virtual size_t persisting_cache() const { return 0; }
  // Host memory that the device copies to and from without a detour.
  virtual Result<void*> allocate_host(size_t bytes) { return allocate(bytes, 64); }
  virtual void free_host(void* memory) { free(memory); }
  // Whether calls of a device with memory of its own may read and write there, as far as that can be known.
  virtual Status check_address(const void* address) const {
    (void)address;
    return Status();
  }
  // What the address of an input or output of at least as many bytes is a multiple of.
  virtual size_t alignment() const { return 1; }
  // Bytes that are free now; of the host's, with the pages of files that the system would give up.
  virtual Result<size_t> free_memory() const { return unsupported("this device does not tell its free memory"); }
  // Null: no tool listens.
  virtual const RangeHooks* ranges() const;
  // The application's own queue; null: the device's default one. It stays the application's. Errors: it is another
  // device's.
  virtual Result<std::unique_ptr<Stream>> adopt_stream(void* native) {
    (void)native;
    return unsupported("this device has no queues of an application's making");
  }
  // Records what `work` puts on the stream that it is handed, without running it; the recording can be put on `stream`,
  // which is not capturing. `previous`, which may be null, is a recording of the same steps at other addresses, to be
  // reused where that is cheaper. Null: this device records nothing.
  virtual Result<std::unique_ptr<Recording>> record(Stream& stream, FunctionRef<Status(Stream&)> work,
                                                    std::unique_ptr<Recording> previous) {
    (void)stream, (void)work, (void)previous;
    return std::unique_ptr<Recording>();
  }
};

// Of an input or output of `bytes`. Null is no error.
Status check_alignment(const Device& device, const void* address, size_t bytes);

// While it lives, a device is the calling thread's current one. What was current before comes back. Costs next to
// nothing where the device is the current one already.
class DeviceScope {
 public:
  explicit DeviceScope(const Device& device) : device_(device.enter() ? &device : nullptr) {}
  ~DeviceScope() {
    if (device_ != nullptr) device_->leave();
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  const Device* device_;
};

}  // namespace wootz
