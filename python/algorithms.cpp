// The algorithm selector, and what it is shown. These are copies, which may be kept when the library's own are gone.
#include <array>

#include "callbacks.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {

#if NV_TENSORRT_MAJOR < 11
namespace {

struct IoInfo {
  DataType type;
  Dims strides;
  int64_t vectorized, together;
};

struct Variant {
  int64_t implementation, tactic;
};

struct Algorithm {
  Variant variant;
  float ms;
  size_t workspace;
  std::vector<IoInfo> ios;
};

struct AlgorithmContext {
  std::string name;
  int32_t inputs, outputs;
  std::vector<std::array<Dims, 3>> shapes;
};

AlgorithmContext copy_of(const IAlgorithmContext& from) {
  AlgorithmContext copy{from.getName(), from.getNbInputs(), from.getNbOutputs(), {}};
  for (int32_t i = 0; i < copy.inputs + copy.outputs; ++i)
    copy.shapes.push_back({from.getDimensions(i, OptProfileSelector::kMIN),
                           from.getDimensions(i, OptProfileSelector::kOPT),
                           from.getDimensions(i, OptProfileSelector::kMAX)});
  return copy;
}

Algorithm copy_of(const IAlgorithm& from) {
  const IAlgorithmVariant& variant = from.getAlgorithmVariant();
  Algorithm copy{{variant.getImplementation(), variant.getTactic()}, from.getTimingMSec(), from.getWorkspaceSize(), {}};
  for (int32_t i = 0; const IAlgorithmIOInfo* io = from.getAlgorithmIOInfoByIndex(i); ++i)
    copy.ios.push_back({io->getDataType(), io->getStrides(), io->getVectorizedDim(), io->getComponentsPerElement()});
  return copy;
}

template <typename T>
nb::list list_of(const T* const* all, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(nb::cast(copy_of(*all[i])));
  return list;
}

struct PyAlgorithmSelector final : IAlgorithmSelector {
  NB_TRAMPOLINE(IAlgorithmSelector);
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices, int32_t count,
                           int32_t* selection) noexcept override {
    int32_t given = -1;  // the build fails
    const auto take = [&](nb::handle answer) {
      const auto picked = nb::cast<std::vector<int32_t>>(answer);
      if (picked.size() > static_cast<size_t>(count))
        throw nb::value_error(("select_algorithms() answers " + std::to_string(picked.size()) + " of " +
                               std::to_string(count) + " algorithms")
                                  .c_str());
      std::copy(picked.begin(), picked.end(), selection);
      given = static_cast<int32_t>(picked.size());
    };
    shown([&] { ask(nb_trampoline, "select_algorithms", true, take, copy_of(context), list_of(choices, count)); });
    return given;
  }
  void reportAlgorithms(const IAlgorithmContext* const* contexts, const IAlgorithm* const* choices,
                        int32_t count) noexcept override {
    shown([&] { tell(nb_trampoline, "report_algorithms", list_of(contexts, count), list_of(choices, count)); });
  }

 private:
  // With Python's lock, which the copies want as well.
  template <typename F>
  void shown(F&& call) noexcept {
    if (!nb::is_alive()) return;
    nb::gil_scoped_acquire gil;
    try {
      call();
    } catch (...) {
      report_raised(nb_trampoline.base(), "what it is shown");
    }
  }
};

void bind_shown(nb::module_& m) {
  nb::class_<IoInfo>(m, "IAlgorithmIOInfo", "An input or output of an algorithm in memory.")
      .def_prop_ro("dtype", [](const IoInfo& i) { return i.type; })
      .def_prop_ro("strides", [](const IoInfo& i) { return i.strides; })
      .def_prop_ro("vectorized_dim", [](const IoInfo& i) { return i.vectorized; })
      .def_prop_ro("components_per_element", [](const IoInfo& i) { return i.together; });
  nb::class_<Variant>(m, "IAlgorithmVariant",
                      "Which kernel, and with which layouts: numbers that name it in every build.")
      .def_prop_ro("implementation", [](const Variant& v) { return v.implementation; })
      .def_prop_ro("tactic", [](const Variant& v) { return v.tactic; });
  nb::class_<Algorithm>(m, "IAlgorithm", "A way to compute a layer.")
      .def_prop_ro("algorithm_variant", [](const Algorithm& a) { return a.variant; })
      .def_prop_ro("timing_msec", [](const Algorithm& a) { return a.ms; })
      .def_prop_ro("workspace_size", [](const Algorithm& a) { return a.workspace; })
      .def(
          "get_algorithm_io_info",
          [](const Algorithm& a, int32_t index) {
            const bool there = index >= 0 && static_cast<size_t>(index) < a.ios.size();
            return there ? nb::cast(a.ios[static_cast<size_t>(index)]) : nb::none();
          },
          nb::arg("index"), "Inputs first; None: there are not so many.");
  nb::class_<AlgorithmContext>(m, "IAlgorithmContext", "A layer that an algorithm is chosen for.")
      .def_prop_ro("name", [](const AlgorithmContext& c) { return c.name; })
      .def_prop_ro("num_inputs", [](const AlgorithmContext& c) { return c.inputs; })
      .def_prop_ro("num_outputs", [](const AlgorithmContext& c) { return c.outputs; })
      .def(
          "get_shape",
          [](const AlgorithmContext& c, int32_t index) {
            if (index < 0 || static_cast<size_t>(index) >= c.shapes.size())
              throw nb::index_error("the layer has fewer inputs and outputs");
            nb::list shapes;
            for (const Dims& each : c.shapes[static_cast<size_t>(index)]) shapes.append(nb::cast(each));
            return shapes;
          },
          nb::arg("index"), "The least, best and greatest shape of an input or, after these, output.");
}

}  // namespace

void bind_algorithms(nb::module_& m) {
  bind_shown(m);
  nb::class_<IAlgorithmSelector, PyAlgorithmSelector>(
      m, "IAlgorithmSelector",
      "Chooses how layers are computed: a class of the application's with select_algorithms(context, choices), which "
      "answers numbers of choices, and report_algorithms(contexts, choices).")
      .def(nb::init<>())
      .def(
          "select_algorithms",
          [](nb::handle self, nb::handle, nb::handle) { not_there(self, "select_algorithms(context, choices)"); },
          nb::arg("context").none(), nb::arg("choices"))
      .def(
          "report_algorithms",
          [](nb::handle self, nb::handle, nb::handle) { not_there(self, "report_algorithms(contexts, choices)"); },
          nb::arg("contexts"), nb::arg("choices"));
}

void attach_algorithms(nb::module_& m) {
  add_property(
      m, "IBuilderConfig", "algorithm_selector",
      [](const IBuilderConfig& config) {
        IAlgorithmSelector* const selector = config.getAlgorithmSelector();
        return selector == nullptr ? nb::none() : nb::cast(selector, nb::rv_policy::reference);
      },
      [](nb::handle self, nb::handle selector) {
        nb::cast<IBuilderConfig&>(self).setAlgorithmSelector(
            selector.is_none() ? nullptr : nb::cast<IAlgorithmSelector*>(selector));
        keep_as(self, "algorithm selector", selector);
      },
      "The IAlgorithmSelector that is asked for each layer; None: the build decides.");
}
#else
void bind_algorithms(nb::module_&) {}
void attach_algorithms(nb::module_&) {}
#endif

}  // namespace wootz_python
