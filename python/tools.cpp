// What runs networks to say what they compute: comparisons and quantization, for wootz/_tools.py.
#include <memory>

#include "casters.h"
#include "wootz/extensions.h"
#include "wootz/library_folders.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// Batches of inputs; arrays come as bytes with their type and shape, since numpy has not all types.
class InputBatches {
 public:
  InputBatches() : batches_(wootz_batches_create(), wootz_batches_destroy) {}
  void add(const nb::dict& arrays) {
    std::vector<wootz_array> list;
    std::vector<std::string> names;
    std::vector<std::vector<int64_t>> shapes;
    std::vector<HostArray> bytes;
    for (const auto& [name, entry] : arrays) {
      names.push_back(nb::cast<std::string>(name));
      shapes.push_back(nb::cast<std::vector<int64_t>>(entry[1]));
      bytes.push_back(nb::cast<HostArray>(entry[2]));
      list.push_back({nullptr, nb::cast<int>(entry[0]), static_cast<int>(shapes.back().size()), nullptr, nullptr});
    }
    for (size_t i = 0; i < list.size(); ++i) {
      list[i].name = names[i].c_str();
      list[i].dims = shapes[i].data();
      list[i].data = bytes[i].data();
    }
    if (wootz_batches_add(batches_.get(), list.data(), static_cast<int>(list.size())) != 0)
      throw nb::value_error("a batch of inputs was refused: see the log");
  }
  void* get() const { return batches_.get(); }

 private:
  std::unique_ptr<void, void (*)(void*)> batches_;
};

// None where it failed.
nb::object text_of(void* memory) {
  const std::unique_ptr<IHostMemory> text(static_cast<IHostMemory*>(memory));
  return text == nullptr ? nb::object(nb::none()) : nb::object(nb::str(static_cast<const char*>(text->data())));
}

}  // namespace

void bind_tools(nb::module_& m) {
  m.def("_add_library_folder", wootz_add_library_folder, nb::arg("folder"));
  nb::class_<InputBatches>(m, "_InputBatches").def(nb::init<>()).def("add", &InputBatches::add, nb::arg("arrays"));
  m.def(
      "_compare_engines",
      [](ICudaEngine* a, ICudaEngine* b, const InputBatches& batches, const std::string& options) {
        void* made = nullptr;
        {
          nb::gil_scoped_release release;
          made = wootz_compare_engines(a, b, batches.get(), options.c_str());
        }
        return text_of(made);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("batches"), nb::arg("options"));
  m.def(
      "_quantize",
      [](IBuilder* builder, IBuilderConfig* config, const std::string& model, const std::string& output,
         const InputBatches& batches, const std::string& options) {
        void* made = nullptr;
        {
          nb::gil_scoped_release release;
          made = wootz_quantize(builder, config, model.c_str(), output.c_str(), batches.get(), options.c_str());
        }
        return text_of(made);
      },
      nb::arg("builder"), nb::arg("config"), nb::arg("model"), nb::arg("output"), nb::arg("batches"),
      nb::arg("options"));
  m.def(
      "_quantization_as",
      [](const char* report, const char* format) { return text_of(wootz_quantization_as(report, format)); },
      nb::arg("report"), nb::arg("format"));
  m.def(
      "_comparison_as",
      [](const char* comparison, const char* format) { return text_of(wootz_comparison_as(comparison, format)); },
      nb::arg("comparison"), nb::arg("format"));
}

}  // namespace wootz_python
