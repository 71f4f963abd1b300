// Plans by pieces: readers and writers that Python implements.
#include <cstring>
#include <memory>

#include "callbacks.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// Copies what read() gives until there is as much as the library wants; an empty answer is the end.
template <typename Read>
int64_t read_all(void* destination, int64_t wanted, Read&& read) noexcept {
  int64_t have = 0;
  while (have < wanted) {
    int64_t got = 0;
    const Answer answer = read(wanted - have, [&](nb::handle piece) {
      Py_buffer view;
      if (PyObject_GetBuffer(piece.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
      const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> owner(&view, PyBuffer_Release);
      got = static_cast<int64_t>(view.len);
      if (got > wanted - have)
        throw nb::value_error(
            ("read() gives " + std::to_string(got) + " bytes, and is asked for " + std::to_string(wanted - have))
                .c_str());
      std::memcpy(static_cast<char*>(destination) + have, view.buf, static_cast<size_t>(got));
    });
    if (answer != Answer::kGiven) return -1;
    if (got == 0) break;
    have += got;
  }
  return have;
}

#if NV_TENSORRT_MAJOR < 11
struct PyStreamReader final : IStreamReader {
  NB_TRAMPOLINE(IStreamReader);
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  int64_t read(void* destination, int64_t bytes) override {
    return read_all(destination, bytes,
                    [&](int64_t rest, const auto& take) { return ask(nb_trampoline, "read", true, take, rest); });
  }
};
#endif

// The library reads into the host's memory alone.
struct PyStreamReaderV2 final : IStreamReaderV2 {
  NB_TRAMPOLINE(IStreamReaderV2);
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  int64_t read(void* destination, int64_t bytes, cudaStream_t stream) noexcept override {
    return read_all(destination, bytes, [&](int64_t rest, const auto& take) {
      return ask(nb_trampoline, "read", true, take, rest, reinterpret_cast<size_t>(stream));
    });
  }
  bool seek(int64_t offset, SeekPosition where) noexcept override {
    bool done = false;
    ask(
        nb_trampoline, "seek", true, [&](nb::handle answer) { done = answer.is_none() || nb::cast<bool>(answer); },
        offset, where);
    return done;
  }
};

struct PyStreamWriter final : IStreamWriter {
  NB_TRAMPOLINE(IStreamWriter);
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  int64_t write(const void* data, int64_t bytes) override {
    int64_t taken = -1;
    if (!nb::is_alive()) return taken;
    nb::gil_scoped_acquire gil;
    const nb::object piece = nb::steal(PyBytes_FromStringAndSize(static_cast<const char*>(data), bytes));
    if (!piece.is_valid()) {
      PyErr_Clear();
      return taken;
    }
    ask(
        nb_trampoline, "write", true, [&](nb::handle answer) { taken = nb::cast<int64_t>(answer); }, piece);
    return taken;
  }
};

}  // namespace

void bind_streams(nb::module_& m) {
#if NV_TENSORRT_MAJOR < 11
  nb::class_<IStreamReader, PyStreamReader>(
      m, "IStreamReader",
      "Gives a plan's bytes in order: a class of the application's with read(size), which answers bytes.")
      .def(nb::init<>())
      .def(
          "read", [](nb::handle self, nb::handle, int64_t) { not_there(self, "read(size)"); },
          nb::arg("destination").none(), nb::arg("size"));
#endif
  nb::class_<IStreamReaderV2, PyStreamReaderV2>(
      m, "IStreamReaderV2",
      "Gives a plan's bytes: a class of the application's with read(num_bytes, stream), which answers bytes, and "
      "seek(offset, where).")
      .def(nb::init<>())
      .def(
          "read", [](nb::handle self, nb::handle, int64_t, size_t) { not_there(self, "read(num_bytes, stream)"); },
          nb::arg("destination").none(), nb::arg("num_bytes"), nb::arg("stream"))
      .def(
          "seek", [](nb::handle self, int64_t, SeekPosition) { not_there(self, "seek(offset, where)"); },
          nb::arg("offset"), nb::arg("where"));
  nb::class_<IStreamWriter, PyStreamWriter>(
      m, "IStreamWriter",
      "Takes a plan's bytes in order: a class of the application's with write(data), which answers how many it took.")
      .def(nb::init<>())
      .def(
          "write", [](nb::handle self, nb::handle, int64_t) { not_there(self, "write(data)"); }, nb::arg("data").none(),
          nb::arg("size"));
}

}  // namespace wootz_python
