// Whether a call through torch.compile is given the weights that an engine was built with (`given`), and whether they
// are as they were (`unchanged`): one look at each, without making a list of them or of their versions.
#include <vector>

#include "bind.h"

namespace wootz_python {
namespace {

// Nothing is known of a tensor that was made in inference mode: torch keeps no version of it.
constexpr long kNoVersion = -1;

class SameTensors {
 public:
  // `places`: of the tensors among the arguments of calls.
  SameTensors(const nb::list& places, const nb::tuple& tensors) : name_(nb::str("_version")) {
    for (const nb::handle place : places) places_.push_back(nb::cast<Py_ssize_t>(place));
    for (const nb::handle tensor : tensors) tensors_.push_back({nb::borrow(tensor), version(tensor.ptr())});
    if (tensors_.size() != places_.size()) throw nb::value_error("as many tensors as places");
  }

  bool given(const nb::tuple& arguments) const {
    const Py_ssize_t count = PyTuple_Size(arguments.ptr());
    for (size_t i = 0; i < places_.size(); ++i)
      if (places_[i] >= count || PyTuple_GetItem(arguments.ptr(), places_[i]) != tensors_[i].object.ptr()) return false;
    return true;
  }

  bool unchanged() const {
    for (const Tensor& each : tensors_)
      if (each.version != kNoVersion && version(each.object.ptr()) != each.version) return false;
    return true;
  }

 private:
  struct Tensor {
    nb::object object;
    long version;
  };

  long version(PyObject* tensor) const {
    const nb::object value = nb::steal(PyObject_GetAttr(tensor, name_.ptr()));
    const long number = value.is_valid() ? PyLong_AsLong(value.ptr()) : kNoVersion;
    if (number == kNoVersion) PyErr_Clear();
    return number;
  }

  nb::str name_;
  std::vector<Py_ssize_t> places_;
  std::vector<Tensor> tensors_;
};

}  // namespace

void bind_same_tensors(nb::module_& m) {
  nb::class_<SameTensors>(m, "_SameTensors")
      .def(nb::init<const nb::list&, const nb::tuple&>())
      .def("given", &SameTensors::given)
      .def("unchanged", &SameTensors::unchanged);
}

}  // namespace wootz_python
