// The short way of an inference on torch's tensors, by the functions that torch offers extensions (DLPack's exchange
// API): what a call is given is looked at without making a Python object. Whatever is not as it was when this was made
// goes the long way.

#include <algorithm>
#include <vector>

#include "bind.h"
#include "casters.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

constexpr int32_t kCuda = 2;  // a kind of device, of DLPack's

// What the capsule of `torch.Tensor.__dlpack_c_exchange_api__` holds, major version 1 of DLPack. Functions give 0, or
// set Python's error.
struct ExchangeApi {
  uint32_t major, minor;
  void* before;
  void* allocate;
  void* managed_of_object;
  void* object_of_managed;
  int (*tensor_of_object)(void* object, nb::dlpack::dltensor* tensor);  // points into the object
  int (*current_stream)(int32_t device_type, int32_t device, void** stream);
};

const ExchangeApi* api_of(nb::handle capsule) {
  const auto* const api = static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (api == nullptr) throw nb::python_error();
  if (api->major != 1 || api->tensor_of_object == nullptr || api->current_stream == nullptr)
    throw nb::value_error("an exchange API of another version");
  return api;
}

bool row_major(const nb::dlpack::dltensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t step = 1;
  for (int32_t d = tensor.ndim - 1; d >= 0; --d) {
    if (tensor.shape[d] == 0) return true;
    if (tensor.shape[d] != 1 && tensor.strides[d] != step) return false;
    step *= tensor.shape[d];
  }
  return true;
}

void* address_of(const nb::dlpack::dltensor& tensor) {
  return tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
}

// As engines on a GPU ask of their inputs; the long way copies others.
bool aligned(const nb::dlpack::dltensor& tensor) {
  return tensor.device.device_type != kCuda || reinterpret_cast<uintptr_t>(address_of(tensor)) % 16 == 0;
}

// An input as it was when the call was made.
struct Input {
  Py_ssize_t place = 0;  // among the arguments
  std::string name;
  nb::dlpack::dtype type;
  nb::dlpack::device device;
  std::vector<int64_t> shape;

  bool fits(const nb::dlpack::dltensor& t) const {
    return t.dtype == type && t.device.device_type == device.device_type && t.device.device_id == device.device_id &&
           std::equal(shape.begin(), shape.end(), t.shape, t.shape + t.ndim) && row_major(t) && aligned(t);
  }
};

struct Output {
  std::string name;
  nb::object form;  // arguments of the function that makes the tensor
};

using Named = std::vector<std::pair<Py_ssize_t, std::string>>;
using Formed = std::vector<std::pair<std::string, nb::object>>;

// Calls of a context whose shapes are set, on one stream. Not thread-safe.
class TensorCall {
 public:
  // `arguments`: of a call that the context did. `types`: of the tensors that are taken. `empty`: makes an output.
  TensorCall(nb::object context, nb::handle api, nb::tuple types, nb::object empty, StreamHandle stream,
             const nb::tuple& arguments, const Named& inputs, const Formed& outputs)
      : owner_(std::move(context)),
        context_(nb::cast<IExecutionContext*>(owner_)),
        api_(api_of(api)),
        types_(std::move(types)),
        empty_(std::move(empty)),
        stream_(stream.handle) {
    for (const auto& [place, name] : inputs) {
      nb::dlpack::dltensor t;
      if (!read(PyTuple_GetItem(arguments.ptr(), place), &t)) throw nb::value_error("not by the short way");
      inputs_.push_back({place, name, t.dtype, t.device, {t.shape, t.shape + t.ndim}});
    }
    for (const auto& [name, form] : outputs) outputs_.push_back({name, form});
  }

  // The outputs; None: the long way is to be gone; False: the inference failed.
  nb::object run(const nb::tuple& arguments) {
    if (!on_this_stream()) return nb::none();
    for (const Input& input : inputs_) {
      nb::dlpack::dltensor t;
      if (!read(PyTuple_GetItem(arguments.ptr(), input.place), &t) || !input.fits(t)) return nb::none();
      if (!context_->setTensorAddress(input.name.c_str(), address_of(t))) return nb::none();
    }
    nb::list results;
    for (const Output& output : outputs_) {
      nb::object made = nb::steal(PyObject_CallObject(empty_.ptr(), output.form.ptr()));
      if (!made.is_valid()) throw nb::python_error();
      nb::dlpack::dltensor t;
      if (!read(made.ptr(), &t) || !context_->setTensorAddress(output.name.c_str(), address_of(t))) return nb::none();
      results.append(std::move(made));
    }
    clear_errors();
    bool done = false;
    {
      const nb::gil_scoped_release release;
      done = context_->enqueueV3(stream_);
    }
    return done ? nb::object(results) : nb::object(nb::bool_(false));
  }

 private:
  bool on_this_stream() const {
    if (inputs_.empty() || inputs_.front().device.device_type != kCuda) return stream_ == nullptr;
    void* now = nullptr;
    if (api_->current_stream(kCuda, inputs_.front().device.device_id, &now) == 0)
      return static_cast<cudaStream_t>(now) == stream_;
    PyErr_Clear();
    return false;
  }

  // False: not a tensor that is taken.
  bool read(PyObject* object, nb::dlpack::dltensor* tensor) const {
    if (object == nullptr) {
      PyErr_Clear();
      return false;
    }
    auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    const Py_ssize_t count = PyTuple_Size(types_.ptr());
    bool known = false;
    for (Py_ssize_t i = 0; i < count && !known; ++i) known = PyTuple_GetItem(types_.ptr(), i) == type;
    if (!known) return false;
    if (api_->tensor_of_object(object, tensor) == 0) return true;
    PyErr_Clear();
    return false;
  }

  nb::object owner_;
  IExecutionContext* context_;  // which the owner is
  const ExchangeApi* api_;      // torch's, for as long as the process lasts
  nb::tuple types_;
  nb::object empty_;
  cudaStream_t stream_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
};

}  // namespace

void bind_tensor_call(nb::module_& m) {
  nb::class_<TensorCall>(m, "_TensorCall")
      .def("__init__",
           [](TensorCall* self, nb::object context, nb::handle api, nb::tuple types, nb::object empty,
              StreamHandle stream, const nb::tuple& arguments, const nb::list& inputs, const nb::list& outputs) {
             Named named;
             for (const nb::handle each : inputs)
               named.emplace_back(nb::cast<Py_ssize_t>(each[0]), nb::cast<std::string>(each[1]));
             Formed formed;
             for (const nb::handle each : outputs)
               formed.emplace_back(nb::cast<std::string>(each[0]), nb::object(each[1]));
             new (self) TensorCall(std::move(context), api, std::move(types), std::move(empty), stream, arguments,
                                   named, formed);
           })
      .def("run", &TensorCall::run);
}

}  // namespace wootz_python
