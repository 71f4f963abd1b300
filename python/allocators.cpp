// Memory that the application gives: for engines and contexts, and for outputs. Addresses are numbers; 0 and None
// refuse.
#include "callbacks.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

size_t number(const void* address) { return reinterpret_cast<size_t>(address); }

// Both kinds of allocator. A method that the application's class lacks does what the C++ class's does.
template <class Base>
struct PyAllocator final : Base {
  NB_TRAMPOLINE(Base);
  static constexpr bool kAsync = std::is_same_v<Base, IGpuAsyncAllocator>;

  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  void* allocate(const uint64_t size, const uint64_t alignment, const AllocatorFlags flags) noexcept override {
    void* given = nullptr;
    const Answer answer = address("allocate", !kAsync, &given, size, alignment, flags);
    return answer == Answer::kNoMethod ? allocateAsync(size, alignment, flags, nullptr) : given;
  }
  void* allocateAsync(const uint64_t size, const uint64_t alignment, const AllocatorFlags flags,
                      cudaStream_t stream) noexcept override {
    void* given = nullptr;
    const Answer answer = address("allocate_async", kAsync, &given, size, alignment, flags, number(stream));
    return answer == Answer::kNoMethod ? allocate(size, alignment, flags) : given;
  }
  void* reallocate(void* const memory, uint64_t alignment, uint64_t size) noexcept override {
    void* given = nullptr;
    address("reallocate", false, &given, number(memory), alignment, size);
    return given;
  }
  bool deallocate(void* const memory) noexcept override {
    bool done = false;
    const Answer answer = freed("deallocate", !kAsync, &done, number(memory));
    return answer == Answer::kNoMethod ? deallocateAsync(memory, nullptr) : done;
  }
  bool deallocateAsync(void* const memory, cudaStream_t stream) noexcept override {
    bool done = false;
    const Answer answer = freed("deallocate_async", kAsync, &done, number(memory), number(stream));
    return answer == Answer::kNoMethod ? deallocate(memory) : done;
  }

 private:
  template <typename... Args>
  Answer address(const char* method, bool needed, void** given, const Args&... args) noexcept {
    return ask(
        nb_trampoline, method, needed, [&](nb::handle answer) { *given = address_in(answer); }, args...);
  }
  template <typename... Args>
  Answer freed(const char* method, bool needed, bool* done, const Args&... args) noexcept {
    return ask(
        nb_trampoline, method, needed, [&](nb::handle answer) { *done = answer.is_none() || nb::cast<bool>(answer); },
        args...);
  }
};

struct PyOutputAllocator final : IOutputAllocator {
  NB_TRAMPOLINE(IOutputAllocator);
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  void* reallocateOutputAsync(const char* name, void* memory, uint64_t size, uint64_t alignment,
                              cudaStream_t stream) override {
    void* given = nullptr;
    const Answer answer = ask(
        nb_trampoline, "reallocate_output_async", false, [&](nb::handle answer) { given = address_in(answer); }, name,
        number(memory), size, alignment, number(stream));
    return answer == Answer::kNoMethod ? reallocateOutput(name, memory, size, alignment) : given;
  }
  void* reallocateOutput(const char* name, void* memory, uint64_t size, uint64_t alignment) noexcept override {
    void* given = nullptr;
    ask(
        nb_trampoline, "reallocate_output", true, [&](nb::handle answer) { given = address_in(answer); }, name,
        number(memory), size, alignment);
    return given;
  }
  void notifyShape(const char* name, const Dims& dims) noexcept override {
    tell(nb_trampoline, "notify_shape", name, dims);
  }
};

void bind_gpu_allocator(nb::module_& m) {
  nb::class_<IGpuAllocator, IVersionedInterface, PyAllocator<IGpuAllocator>>(
      m, "IGpuAllocator",
      "Gives memory of an engine's device (a CPU engine's is the host's) as addresses: a class of the application's "
      "with allocate() and deallocate(), or their asynchronous forms.")
      .def(nb::init<>())
      .def(
          "allocate",
          [](nb::handle self, uint64_t, uint64_t, uint32_t) { not_there(self, "allocate(size, alignment, flags)"); },
          nb::arg("size"), nb::arg("alignment"), nb::arg("flags"))
      .def(
          "allocate_async",
          [](nb::handle self, uint64_t size, uint64_t alignment, uint32_t flags, size_t) {
            return nb::object(self.attr("allocate")(size, alignment, flags));
          },
          nb::arg("size"), nb::arg("alignment"), nb::arg("flags"), nb::arg("stream"))
      .def(
          "reallocate", [](nb::handle, nb::handle, uint64_t, uint64_t) { return nb::none(); },
          nb::arg("address").none(), nb::arg("alignment"), nb::arg("new_size"))
      .def(
          "deallocate", [](nb::handle self, nb::handle) { not_there(self, "deallocate(memory)"); },
          nb::arg("memory").none())
      .def(
          "deallocate_async",
          [](nb::handle self, nb::handle memory, size_t) { return nb::object(self.attr("deallocate")(memory)); },
          nb::arg("memory").none(), nb::arg("stream"));
}

void bind_async_allocator(nb::module_& m) {
  nb::class_<IGpuAsyncAllocator, IGpuAllocator, PyAllocator<IGpuAsyncAllocator>>(
      m, "IGpuAsyncAllocator", "An IGpuAllocator with allocate_async() and deallocate_async(), in order with a stream.")
      .def(nb::init<>())
      .def(
          "allocate",
          [](nb::handle self, uint64_t size, uint64_t alignment, uint32_t flags) {
            return nb::object(self.attr("allocate_async")(size, alignment, flags, 0));
          },
          nb::arg("size"), nb::arg("alignment"), nb::arg("flags"))
      .def(
          "allocate_async",
          [](nb::handle self, uint64_t, uint64_t, uint32_t, size_t) {
            not_there(self, "allocate_async(size, alignment, flags, stream)");
          },
          nb::arg("size"), nb::arg("alignment"), nb::arg("flags"), nb::arg("stream"))
      .def(
          "deallocate",
          [](nb::handle self, nb::handle memory) { return nb::object(self.attr("deallocate_async")(memory, 0)); },
          nb::arg("memory").none())
      .def(
          "deallocate_async",
          [](nb::handle self, nb::handle, size_t) { not_there(self, "deallocate_async(memory, stream)"); },
          nb::arg("memory").none(), nb::arg("stream"));
}

// What was allocated goes back to its allocator, also when another one has been set since: `owner`, and what it makes,
// keeps every one that it had.
void keep_allocator(nb::handle owner, nb::handle allocator) {
  keep_as(owner, "gpu allocator", allocator);
  if (!allocator.is_none()) nb::keep_alive_obj(owner, allocator);
}

IGpuAllocator* allocator_in(nb::handle value) { return value.is_none() ? nullptr : nb::cast<IGpuAllocator*>(value); }

template <typename T>
void attach_gpu_allocator(nb::module_& m, const char* cls) {
  add_property(
      m, cls, "gpu_allocator",
      [](nb::handle self) {
        nb::cast<T&>(self);
        return kept_as(self, "gpu allocator");
      },
      [](nb::handle self, nb::handle allocator) {
        nb::cast<T&>(self).setGpuAllocator(allocator_in(allocator));
        keep_allocator(self, allocator);
      },
      "The IGpuAllocator that gives the device's memory; None: the library takes it by itself.");
}

}  // namespace

void bind_allocators(nb::module_& m) {
  bind_gpu_allocator(m);
  bind_async_allocator(m);
  nb::class_<IOutputAllocator, PyOutputAllocator>(
      m, "IOutputAllocator",
      "Gives an output its memory once its size is known: a class of the application's with "
      "reallocate_output_async(name, memory, size, alignment, stream) or reallocate_output(name, memory, size, "
      "alignment), and notify_shape(name, shape).")
      .def(nb::init<>());
}

void attach_allocators(nb::module_& m) {
  attach_gpu_allocator<IBuilder>(m, "Builder");
  attach_gpu_allocator<IRuntime>(m, "Runtime");
  add_property(
      m, "IExecutionContext", "temporary_allocator",
      [](const IExecutionContext& context) {
        IGpuAllocator* const allocator = context.getTemporaryStorageAllocator();
        return allocator == nullptr ? nb::none() : nb::cast(allocator, nb::rv_policy::reference);
      },
      [](nb::handle self, nb::handle allocator) {
        if (!nb::cast<IExecutionContext&>(self).setTemporaryStorageAllocator(allocator_in(allocator)))
          throw nb::value_error("the temporary allocator was refused: see the log");
        keep_allocator(self, allocator);
      },
      "The IGpuAllocator that gives memory for a single inference; None: the library takes it by itself.");
}

}  // namespace wootz_python
