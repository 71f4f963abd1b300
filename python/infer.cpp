// The short way of an inference: what wootz.infer() does where the engine's memory is the host's, every tensor is
// row-major and sizes follow from the inputs' shapes. All that depends on the engine alone is looked up once.
#include <algorithm>
#include <cstring>
#include <memory>

#include "casters.h"
#include "wootz/extensions.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// The buffer of an array for as long as the call takes.
class View {
 public:
  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() {
    if (held_) PyBuffer_Release(&buffer);
  }
  bool take(PyObject* array, int flags) {
    held_ = PyObject_GetBuffer(array, &buffer, flags) == 0;
    if (!held_) PyErr_Clear();
    return held_;
  }
  void* address() const { return buffer.len == 0 ? nullptr : buffer.buf; }
  Py_buffer buffer{};

 private:
  bool held_ = false;
};

struct Tensor {
  std::string name;
  nb::object key, dtype;
  char format = 0;  // of the buffer protocol
  size_t bytes = 0;
};

// Of numpy's types that the buffer protocol has a letter for; 0: there is none.
char letter_of(nb::handle dtype) {
  const auto letter = nb::cast<std::string>(nb::str(dtype.attr("char")));
  return letter.size() == 1 && std::strchr("?bBhHiIlLqQefd", letter[0]) != nullptr ? letter[0] : '\0';
}

bool same_format(const char* have, const Tensor& tensor, Py_ssize_t size) {
  if (have == nullptr || have[0] == '\0' || have[1] != '\0' || static_cast<size_t>(size) != tensor.bytes) return false;
  if (have[0] == tensor.format) return true;
  return std::strchr("lq", have[0]) != nullptr && std::strchr("lq", tensor.format) != nullptr;  // two names of int64
}

class Call {
 public:
  // `dtypes`: numpy's types by name. Errors: ValueError where the short way is not for this context.
  Call(nb::handle context, const nb::dict& dtypes, nb::object empty)
      : context_(nb::cast<IExecutionContext*>(context)), empty_(std::move(empty)) {
    const ICudaEngine& engine = context_->getEngine();
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      Tensor tensor;
      tensor.name = engine.getIOTensorName(i);
      tensor.key = nb::str(tensor.name.c_str());
      tensor.dtype = dtypes[tensor.key];
      tensor.format = letter_of(tensor.dtype);
      tensor.bytes = nb::cast<size_t>(tensor.dtype.attr("itemsize"));
      const char* const name = tensor.name.c_str();
      if (tensor.format == '\0' || engine.getTensorFormat(name) != TensorFormat::kLINEAR ||
          engine.isShapeInferenceIO(name))
        throw nb::value_error("not by the short way");
      (engine.getTensorIOMode(name) == TensorIOMode::kINPUT ? inputs_ : outputs_).push_back(std::move(tensor));
    }
  }

  // {name: array}; None: the long way is to be gone, which also says what is wrong with the arrays; False: it failed.
  nb::object run(const nb::dict& feeds, cudaStream_t stream) {
    if (static_cast<size_t>(PyDict_Size(feeds.ptr())) != inputs_.size()) return nb::none();
    for (const Tensor& output : outputs_)
      if (context_->getOutputAllocator(output.name.c_str()) != nullptr) return nb::none();
    const std::unique_ptr<View[]> views(new View[inputs_.size() + outputs_.size()]);
    nb::dict results;
    const Addresses until_the_end(*this);
    if (!give_inputs(feeds, views.get()) || !give_outputs(results, views.get() + inputs_.size())) return nb::none();
    clear_errors();
    bool done = false;
    {
      const nb::gil_scoped_release release;
      done = context_->enqueueV3(stream);
      if (done && stream != nullptr)
        done = wootz_device_wait(const_cast<ICudaEngine*>(&context_->getEngine()), stream) == 0;
    }
    return done ? nb::object(results) : nb::object(nb::bool_(false));
  }

 private:
  // No tensor has an address when this ends.
  class Addresses {
   public:
    explicit Addresses(Call& call) : call_(call) {}
    Addresses(const Addresses&) = delete;
    Addresses& operator=(const Addresses&) = delete;
    ~Addresses() {
      for (const std::vector<Tensor>* list : {&call_.inputs_, &call_.outputs_})
        for (const Tensor& tensor : *list) call_.context_->setTensorAddress(tensor.name.c_str(), nullptr);
    }

   private:
    Call& call_;
  };

  bool give_inputs(const nb::dict& feeds, View* views) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor& input = inputs_[i];
      PyObject* const array = PyDict_GetItemWithError(feeds.ptr(), input.key.ptr());
      if (array == nullptr || !views[i].take(array, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) return false;
      const Py_buffer& have = views[i].buffer;
      if (!same_format(have.format, input, have.itemsize) || have.ndim > Dims::MAX_DIMS) return false;
      Dims shape{};
      shape.nbDims = have.ndim;
      for (int d = 0; d < have.ndim; ++d) shape.d[d] = have.shape[d];
      const char* const name = input.name.c_str();
      const Dims now = context_->getTensorShape(name);
      const bool same = now.nbDims == shape.nbDims && std::equal(shape.d, shape.d + shape.nbDims, now.d);
      if (!same && !context_->setInputShape(name, shape)) return false;
      if (!context_->setTensorAddress(name, views[i].address())) return false;
    }
    return true;
  }

  bool give_outputs(nb::dict& results, View* views) {
    for (size_t o = 0; o < outputs_.size(); ++o) {
      const Tensor& output = outputs_[o];
      const Dims shape = context_->getTensorShape(output.name.c_str());
      if (shape.nbDims < 0 || std::any_of(shape.d, shape.d + shape.nbDims, [](int64_t d) { return d < 0; }))
        return false;  // data-dependent
      nb::object extents = nb::steal(PyTuple_New(shape.nbDims));
      for (int32_t d = 0; d < shape.nbDims; ++d) PyTuple_SetItem(extents.ptr(), d, PyLong_FromLongLong(shape.d[d]));
      const nb::object array = empty_(extents, output.dtype);
      if (!views[o].take(array.ptr(), PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) return false;
      if (!context_->setTensorAddress(output.name.c_str(), views[o].address())) return false;
      results[output.key] = array;
    }
    return true;
  }

  IExecutionContext* context_;  // which keeps this
  nb::object empty_;            // numpy.empty
  std::vector<Tensor> inputs_, outputs_;
};

// An array of what is at an address, for other libraries: DLPack, of whichever device the memory is on.
nb::object exported(nb::object owner, size_t address, const std::vector<size_t>& shape, int code, int bits, int device,
                    int number) {
  const nb::dlpack::dtype dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  const nb::ndarray<nb::array_api> array(reinterpret_cast<void*>(address), shape.size(), shape.data(), std::move(owner),
                                         nullptr, dtype, device, number);
  return nb::cast(array);
}

}  // namespace

void bind_infer(nb::module_& m) {
  nb::class_<Call>(m, "_Call")
      .def(nb::init<nb::handle, const nb::dict&, nb::object>())
      .def("run",
           [](Call& call, const nb::dict& feeds, StreamHandle stream) { return call.run(feeds, stream.handle); });
  m.def("_exported", &exported);
  m.def("_copy_on_device", [](ICudaEngine& engine, size_t to, size_t from, size_t bytes) {
    int failed = 0;
    {
      const nb::gil_scoped_release release;
      failed = wootz_device_copy(&engine, reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    }
    if (failed != 0) throw std::runtime_error("the copy failed: see the log");
  });
  m.def("_stream_number", [](StreamHandle stream) { return reinterpret_cast<size_t>(stream.handle); });
}

}  // namespace wootz_python
