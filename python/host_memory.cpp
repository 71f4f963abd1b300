// Memory of the library's that programs read: plans, and caches of measured times.
#include "casters.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

int host_memory_buffer(PyObject* self, Py_buffer* view, int flags) {
  IHostMemory* memory = nullptr;
  if (!nb::try_cast(nb::handle(self), memory)) {
    PyErr_SetString(PyExc_BufferError, "not a host memory");
    return -1;
  }
  return PyBuffer_FillInfo(view, self, memory->data(), static_cast<Py_ssize_t>(memory->size()), 1, flags);
}

PyType_Slot host_memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(host_memory_buffer)}, {0, nullptr}};

// 16 bytes as "0x" and 32 digits, the first byte's first.
std::string key_text(const TimingCacheKey& key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (const uint8_t byte : key.data) (text += kDigits[byte >> 4]) += kDigits[byte & 15];
  return text;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

TimingCacheKey parse_key(std::string_view text) {
  if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X") text.remove_prefix(2);
  TimingCacheKey key{};
  bool ok = text.size() == 2 * sizeof key.data;
  for (size_t i = 0; ok && i < sizeof key.data; ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    ok = high >= 0 && low >= 0;
    key.data[i] = static_cast<uint8_t>(high << 4 | (low & 15));
  }
  if (!ok) throw nb::value_error("a key of a timing cache is 0x and 32 hexadecimal digits");
  return key;
}

void bind_cache_entries(nb::module_& m) {
  nb::class_<TimingCacheKey>(m, "TimingCacheKey",
                             "What a timing cache knows a layer by. str() gives the text that parse() reads.")
      .def_static(
          "parse", [](const std::string& text) { return parse_key(text); }, nb::arg("text"))
      .def(
          "__eq__",
          [](const TimingCacheKey& a, nb::handle b) {
            return nb::isinstance<TimingCacheKey>(b) && key_text(a) == key_text(nb::cast<TimingCacheKey&>(b));
          },
          nb::arg("other").none())
      .def("__hash__", [](const TimingCacheKey& k) { return nb::hash(nb::str(key_text(k).c_str())); })
      .def("__repr__", &key_text);
  nb::class_<TimingCacheValue>(m, "TimingCacheValue", "A tactic, and the milliseconds that it took.")
      .def("__init__",
           [](TimingCacheValue* v, uint64_t hash, float ms) {
             new (v) TimingCacheValue{hash, ms};
           })
      .def_rw("tacticHash", &TimingCacheValue::tacticHash)
      .def_rw("timingMSec", &TimingCacheValue::timingMSec)
      .def("__repr__", [](const TimingCacheValue& v) {
        return "<TimingCacheValue " + std::to_string(v.tacticHash) + ": " + std::to_string(v.timingMSec) + " ms>";
      });
}

std::vector<TimingCacheKey> keys_of(const ITimingCache& cache) {
  const int64_t count = cache.queryKeys(nullptr, 0);
  if (count < 0) throw std::runtime_error("the keys of the timing cache cannot be had: see the log");
  std::vector<TimingCacheKey> keys(static_cast<size_t>(count));
  cache.queryKeys(keys.data(), count);
  return keys;
}

void bind_timing_cache(nb::module_& m) {
  bind_cache_entries(m);
  nb::class_<ITimingCache>(m, "ITimingCache")
      .def("serialize", [](const ITimingCache& c) { return owned(c.serialize()); })
      .def("combine", &ITimingCache::combine, nb::arg("input_cache"), nb::arg("ignore_mismatch"))
      .def("reset", &ITimingCache::reset)
      .def("queryKeys", &keys_of)
      .def("query", &ITimingCache::query, nb::arg("key"))
      .def("update", &ITimingCache::update, nb::arg("key"), nb::arg("value"));
}

}  // namespace

nb::object owned(IHostMemory* memory) {
  return memory == nullptr ? nb::object(nb::none()) : nb::cast(memory, nb::rv_policy::take_ownership);
}

void bind_host_memory(nb::module_& m) {
  nb::class_<IHostMemory>(m, "IHostMemory", nb::type_slots(host_memory_slots))
      .def_prop_ro("nbytes", &IHostMemory::size)
      .def_prop_ro("dtype", &IHostMemory::type)
      .def("__len__", &IHostMemory::size)
      .def("__bytes__", [](const IHostMemory& h) { return nb::bytes(static_cast<const char*>(h.data()), h.size()); });
  bind_timing_cache(m);
}

}  // namespace wootz_python
