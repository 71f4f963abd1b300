// Memory, order and time of one device; and the backend that ties a device to its providers.
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

// Work that whoever queues it keeps, until the stream has called one of these, once.
class StreamWork {
 public:
  virtual Status run() = 0;
  virtual void drop() = 0;  // in place of run(): earlier work failed, and nobody has synchronized since

 protected:
  ~StreamWork() = default;
};

// A point in a stream that other streams wait for. Recorded anew, it stands for the new point.
class Event {
 public:
  virtual ~Event() = default;
  // The host waits until what was marked is done.
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
  // Somebody else records what is put here now: it is not run, and nothing may be waited for.
  virtual bool capturing() const { return false; }
  // Marks the work put here so far; whatever is put here from now on waits for what was marked. The host goes on. A
  // stream that waits for a mark of one that is recorded is recorded with it. Only where create_event() gives events.
  virtual Status mark(Event& event) {
    (void)event;
    return unsupported("this stream has no events");
  }
  virtual Status wait_for(Event& event) {
    (void)event;
    return unsupported("this stream has no events");
  }
  // What the device's own library calls this queue (a cudaStream_t); null: its default queue, or there is none.
  virtual void* native() const { return nullptr; }
};

// Work that was put on a stream once and can be put there again at little cost (a CUDA graph).
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
  virtual Result<void*> allocate(size_t bytes, size_t alignment) = 0;
  virtual void free(void* memory) = 0;
  virtual Status copy(void* to, const void* from, size_t bytes, Stream* stream) = 0;
  virtual Result<std::unique_ptr<Stream>> create_stream() = 0;
  // False: its memory is not the host's. Then constants are copied there once, calls get a stream, and the values of
  // shape tensors are copied for the steps that read them.
  virtual bool host_memory() const { return true; }
  // For streams of this device. Null: it has one queue, or work is done when it is put there. Those that tell time cost
  // the device a little more.
  virtual Result<std::unique_ptr<Event>> create_event(bool tells_time = false) {
    (void)tells_time;
    return std::unique_ptr<Event>();
  }
  // Host memory that the device copies to and from without a detour.
  virtual Result<void*> allocate_host(size_t bytes) { return allocate(bytes, 64); }
  virtual void free_host(void* memory) { free(memory); }
  // Whether calls of a device with memory of its own may read and write there, as far as that can be known.
  virtual Status check_address(const void* address) const {
    (void)address;
    return Status();
  }
  // Null: no tool listens.
  virtual const RangeHooks* ranges() const { return nullptr; }
  // The application's own queue; null: the device's default one. It stays the application's.
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

// One line in backends.def makes a backend known.
struct Backend {
  const char* name;
  // Null device with a reason when this machine cannot offer it.
  Result<std::shared_ptr<Device>> (*open)(const DeviceDescription* wanted);
  std::vector<const Provider*> (*providers)();
  // Whether reduced precision is worth assigning to a network's FP32 values here. Null: no type is.
  bool (*computes_fast_in)(DType type) = nullptr;
  bool own_memory = false;  // its devices' memory is not the host's
  // Devices that it knows by name without having them, as "h200"; null: none.
  std::vector<DeviceDescription> (*known_devices)() = nullptr;
  // Offers machine code of a plan whose owner permitted it to be run; used as long as its owners live. Null: has none.
  void (*offer_native)(const std::vector<NativeCode>& code) = nullptr;
  // Some provider computes two steps as one (family `chain`): nodes are put together for it, out of the sight of what
  // comes later.
  bool chains = false;
  // Ok: all that building and running for this machine's own device takes is here. The error says what is missing.
  // Null: this backend is never taken unless somebody asks for it, or nobody else is there.
  Status (*ready)() = nullptr;
  // Whether an address is in memory of its devices that the host cannot touch. Asks only a driver that the process has
  // loaded already; null: there is no such memory.
  bool (*holds)(const void* address) = nullptr;
};

// A device that some backend knows by this name. The error lists the names.
Result<DeviceDescription> find_known_device(std::string_view name);

// From src/backends/backends.def. Look-ups never fail silently: an unknown name lists the known ones.
Result<const Backend*> find_backend(std::string_view name);
const std::vector<const Backend*>& all_backends();
// Of a build that nobody tells: the first backend that is ready() by itself, otherwise the first of all.
struct DefaultBackend {
  const Backend* backend = nullptr;
  std::string missing;  // why it is not another; empty: nothing is missing
};
DefaultBackend default_backend();
// Whether the device, or the host, may read and write at an address that somebody gave: not memory of another kind, and
// not what is obviously nothing. The error says what is there. Null is no error.
Status check_address(const Device& device, const void* address);
Status check_host_address(const void* address);
// The backend's own providers, then the reference: every op has somebody who computes it.
std::vector<const Provider*> backend_providers(const Backend& backend);

}  // namespace wootz
