// INT8 calibrators that Python code implements: the four classes of TensorRT's package, which has them at level 10
// alone.
#include <cstring>
#include <vector>

#include "callbacks.h"
#include "device.h"
#include "wootz/extensions.h"

#if NV_TENSORRT_MAJOR < 11
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// What a method raised ends the build, with its text.
template <typename F>
void failing(F&& call) noexcept {
  nb::gil_scoped_acquire gil;
  try {
    call();
  } catch (nb::python_error& error) {
    try {
      wootz_calibrator_failed(said_by(error).c_str());
    } catch (...) {
      wootz_calibrator_failed("an exception that cannot be shown");
    }
    if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  } catch (const std::exception& error) {
    wootz_calibrator_failed(error.what());
  }
}

// Elements in the host's memory, kept until the next batch, or an address of the device's: a number, a DeviceMemory, an
// array of another package's that is there, or what int() makes a number of.
class Batch {
 public:
  void fill(nb::sequence given, void* bindings[], size_t count) {
    arrays_.clear();
    std::vector<size_t> bytes;
    if (nb::len(given) != count)
      throw nb::value_error(("get_batch gives " + std::to_string(nb::len(given)) + " addresses or arrays, and " +
                             std::to_string(count) + " are asked for")
                                .c_str());
    for (size_t i = 0; i < count; ++i) {
      const nb::object each = given[i];
      HostArray array;
      if (const void* address = address_of(each, &array); address != nullptr) {
        bindings[i] = const_cast<void*>(address);
        continue;
      }
      bindings[i] = const_cast<void*>(array.data());
      bytes.push_back(array.nbytes());
      arrays_.push_back(std::move(array));
    }
    if (arrays_.empty()) return;
    if (arrays_.size() != count) throw nb::value_error("get_batch gives both arrays and addresses: one kind a batch");
    wootz_calibrator_batch_on_host(bytes.data());
  }

 private:
  // Null: it is an array.
  static const void* address_of(nb::handle each, HostArray* array) {
    if (nb::isinstance<DeviceMemory>(each)) return nb::cast<DeviceMemory&>(each).block()->memory;
    if (nb::hasattr(each, "__cuda_array_interface__"))
      return number(nb::object(each.attr("__cuda_array_interface__")["data"])[0]);
    if (!PyLong_Check(each.ptr()) && nb::try_cast<HostArray>(each, *array) && array->ndim() > 0) return nullptr;
    return number(each);
  }
  static const void* number(nb::handle each) {
    const nb::object number = nb::steal(PyNumber_Long(each.ptr()));
    if (!number.is_valid()) throw nb::python_error();
    const auto address = nb::cast<size_t>(number);
    if (address == 0) throw nb::value_error("get_batch gives the address 0");
    return reinterpret_cast<const void*>(address);
  }

  std::vector<HostArray> arrays_;
};

template <class Base>
struct PyCalibrator : Base {
  NB_TRAMPOLINE(Base);

  int32_t getBatchSize() const noexcept override {
    int32_t size = 0;
    failing([&] { size = nb::cast<int32_t>(call("get_batch_size", true)); });
    return size;
  }
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override {
    bool more = false;
    failing([&] {
      nb::list list;
      for (int32_t i = 0; i < count; ++i) list.append(nb::str(names[i]));
      const nb::object given = call("get_batch", true, list);
      if (given.is_none() || nb::len(given) == 0) return;
      batch_.fill(nb::cast<nb::sequence>(given), bindings, static_cast<size_t>(count));
      more = true;
    });
    return more;
  }
  const void* readCalibrationCache(std::size_t& length) noexcept override {
    length = 0;
    const void* text = nullptr;
    failing([&] {
      const nb::object given = call("read_calibration_cache", true);
      if (given.is_none()) return;
      cache_ = nb::steal(PyBytes_FromObject(given.ptr()));
      if (!cache_.is_valid()) throw nb::python_error();
      length = static_cast<size_t>(PyBytes_Size(cache_.ptr()));
      text = length == 0 ? nullptr : PyBytes_AsString(cache_.ptr());
    });
    return text;
  }
  void writeCalibrationCache(const void* text, std::size_t length) noexcept override {
    failing([&] {
      const nb::object view = nb::steal(PyMemoryView_FromObject(nb::bytes(text, length).ptr()));
      if (!view.is_valid()) throw nb::python_error();
      call("write_calibration_cache", true, view);
    });
  }
  CalibrationAlgoType getAlgorithm() noexcept override {
    CalibrationAlgoType algorithm = Base::getAlgorithm();
    failing([&] {
      if (const nb::object given = call("get_algorithm", false); given.is_valid())
        algorithm = nb::cast<CalibrationAlgoType>(given);
    });
    return algorithm;
  }

 protected:
  // An object that is not valid: the method is not there, and need not be.
  template <typename... Args>
  nb::object call(const char* method, bool needed, const Args&... args) const {
    nb::detail::ticket t(nb_trampoline, method, nb::detail::str_hash(method), needed);
    return t.key.is_valid() ? nb_trampoline.base().attr(t.key)(args...) : nb::object();
  }
  // Of an attribute that the application may have set.
  double setting(const char* name, double otherwise) const {
    double value = otherwise;
    failing([&] {
      if (const nb::handle self = nb_trampoline.base(); nb::hasattr(self, name))
        value = nb::cast<double>(self.attr(name));
    });
    return value;
  }

 private:
  Batch batch_;
  nb::object cache_;
};

struct PyLegacyCalibrator final : PyCalibrator<IInt8LegacyCalibrator> {
  double getQuantile() const noexcept override { return setting("quantile", 0.9999); }
  double getRegressionCutoff() const noexcept override { return setting("regression_cutoff", 0); }
  const void* readHistogramCache(std::size_t& length) noexcept override { return length = 0, nullptr; }
  void writeHistogramCache(const void*, std::size_t) noexcept override {}
};

// A class of the application's that says itself by which algorithm.
class AnyCalibrator : public IInt8Calibrator {
 public:
  CalibrationAlgoType getAlgorithm() noexcept override { return CalibrationAlgoType::kENTROPY_CALIBRATION_2; }
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IInt8Calibrator", 1, 0}; }
};

template <class Interface, class Trampoline>
void bind_one(nb::module_& m, const char* name) {
  nb::class_<Interface, IInt8Calibrator, Trampoline>(m, name).def(nb::init<>());
}

}  // namespace

void bind_calibrators(nb::module_& m) {
  nb::class_<IInt8Calibrator, PyCalibrator<AnyCalibrator>>(m, "IInt8Calibrator")
      .def(nb::init<>())
      .def("get_algorithm", &IInt8Calibrator::getAlgorithm)
      .def("get_batch_size", [](nb::handle self) { not_there(self, "get_batch_size()"); })
      .def(
          "get_batch", [](nb::handle self, nb::handle) { not_there(self, "get_batch(names)"); }, nb::arg("names"))
      .def("read_calibration_cache", [](nb::handle self) { not_there(self, "read_calibration_cache()"); })
      .def(
          "write_calibration_cache",
          [](nb::handle self, nb::handle) { not_there(self, "write_calibration_cache(cache)"); }, nb::arg("cache"));
  bind_one<IInt8EntropyCalibrator2, PyCalibrator<IInt8EntropyCalibrator2>>(m, "IInt8EntropyCalibrator2");
  bind_one<IInt8EntropyCalibrator, PyCalibrator<IInt8EntropyCalibrator>>(m, "IInt8EntropyCalibrator");
  bind_one<IInt8MinMaxCalibrator, PyCalibrator<IInt8MinMaxCalibrator>>(m, "IInt8MinMaxCalibrator");
  bind_one<IInt8LegacyCalibrator, PyLegacyCalibrator>(m, "IInt8LegacyCalibrator");
}

}  // namespace wootz_python
#else
namespace wootz_python {
void bind_calibrators(nb::module_&) {}
}  // namespace wootz_python
#endif
