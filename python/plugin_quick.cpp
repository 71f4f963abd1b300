// Quick plugins' capabilities as calls of objects that are written in Python: those that wootz.plugin makes of
// decorated functions. A kernel that was compiled while building is launched as the plugin says by expressions.
#define WOOTZ_NO_DEPRECATION
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>

#include "plugin_native.h"
#include "plugin_parts.h"
#include "wootz/plugin_quick.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// An argument or an extent of a launch, as Python makes it.
class PythonSymExpr final : public ISymExpr {
 public:
  PluginArgType getType() const noexcept override { return type; }
  PluginArgDataType getDataType() const noexcept override { return data_type; }
  // The library looks whether it is one of its own before it uses it.
  void* getExpr() noexcept override { return expr == nullptr ? nullptr : const_cast<IDimensionExpr*>(expr->expr); }
  PluginArgType type = PluginArgType::kINT;
  PluginArgDataType data_type = PluginArgDataType::kINT32;
  std::shared_ptr<Expr> expr;
};

// What get_launch_params fills in: it lasts for the call, and what was set until the library has read it.
struct Launch {
  IKernelLaunchParams* params;
  std::vector<nb::object>* kept;
  IKernelLaunchParams& get() const {
    if (params == nullptr) throw std::runtime_error("the call that these launch parameters belong to is over");
    return *params;
  }
};
struct Extras {
  ISymExprs* exprs;
  std::vector<nb::object>* kept;
  ISymExprs& get() const {
    if (exprs == nullptr) throw std::runtime_error("the call that these arguments belong to is over");
    return *exprs;
  }
};

template <class Base>
class QuickBuild : public BuildPart<Base> {
 public:
  using BuildPart<Base>::BuildPart;
  using BuildPart<Base>::self;

  int32_t getOutputDataTypes(DataType* out, int32_t outputs, const DataType* in, const int32_t* ranks,
                             int32_t inputs) const noexcept override {
    return this->call("get_output_data_types", [&] {
      const std::vector<int32_t> all(ranks, ranks + inputs);
      put_types(self().attr("get_output_data_types")(to_list(in, inputs), nb::cast(all)), out, outputs);
      return nb::none();
    });
  }
  int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc* all, int32_t inputs,
                                           int32_t outputs) noexcept override {
    combinations_.clear();
    const bool done = attempt(self(), "get_supported_format_combinations", [&] {
      const nb::object given = self().attr("get_supported_format_combinations")(to_list(all, inputs + outputs), inputs);
      combinations_ =
          answered<std::vector<PluginTensorDesc>>(given, "a list of PluginTensorDesc, combination after combination");
      if (combinations_.size() % static_cast<size_t>(std::max(inputs + outputs, 1)) != 0)
        throw nb::value_error("the last combination is not complete");
    });
    return done ? static_cast<int32_t>(combinations_.size()) / std::max(inputs + outputs, 1) : kCallFailed;
  }
  int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc*, int32_t inputs, int32_t outputs,
                                         PluginTensorDesc* to, int32_t count) noexcept override {
    if (combinations_.size() != static_cast<size_t>(count) * static_cast<size_t>(inputs + outputs)) return kCallFailed;
    std::copy(combinations_.begin(), combinations_.end(), to);
    return 0;
  }
  int32_t getAliasedInput(int32_t output) noexcept override { return aliased_input(self(), output); }

 private:
  std::vector<PluginTensorDesc> combinations_;
};

class QuickAotBuild : public QuickBuild<IPluginV3QuickAOTBuild> {
 public:
  using QuickBuild::QuickBuild;

  int32_t getLaunchParams(const DimsExprs* in, const DynamicPluginTensorDesc* all, int32_t inputs, int32_t outputs,
                          IKernelLaunchParams* params, ISymExprs* extras, IExprBuilder& builder) noexcept override {
    return this->call("get_launch_params", [&] {
      kept_.clear();
      const ExprCall scope(builder);
      auto launch = std::make_shared<Launch>(Launch{params, &kept_});
      auto arguments = std::make_shared<Extras>(Extras{extras, &kept_});
      const nb::object answer =
          self().attr("get_launch_params")(scope.lists(in, inputs), to_list(all, inputs + outputs), inputs,
                                           nb::cast(launch), nb::cast(arguments), scope.builder());
      launch->params = nullptr;
      arguments->exprs = nullptr;
      return answer;
    });
  }
  int32_t getKernel(const PluginTensorDesc* in, int32_t inputs, const PluginTensorDesc* out, int32_t outputs,
                    const char** name, char** code, int32_t* size) noexcept override {
    const bool done = attempt(self(), "get_kernel", [&] {
      const auto answer = answered<nb::tuple>(self().attr("get_kernel")(to_list(in, inputs), to_list(out, outputs)),
                                              "the kernel's name and its code");
      name_ = answered<std::string>(answer[0], "the kernel's name");
      const auto bytes = answered<nb::bytes>(answer[1], "the kernel's code as bytes");
      code_.assign(bytes.c_str(), bytes.size());
    });
    if (!done) return kCallFailed;
    *name = name_.c_str();
    *code = code_.data();
    *size = static_cast<int32_t>(code_.size());
    return 0;
  }
  int32_t setTactic(int32_t tactic) noexcept override {
    return call("set_tactic", [&] { return self().attr("set_tactic")(tactic); });
  }
  ~QuickAotBuild() override {
    if (!nb::is_alive()) return;
    const nb::gil_scoped_acquire gil;
    kept_.clear();
  }

 private:
  std::vector<nb::object> kept_;  // what the library reads after the call
  std::string name_, code_;
};

// Of Wootz: its kernel is a function in a shared library for the host.
class QuickHostBuild final : public QuickAotBuild {
 public:
  using QuickAotBuild::QuickAotBuild;
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"WOOTZ_V3QUICKHOST_BUILD", 1, 0}; }
};

class QuickRuntime final : public PythonPart<IPluginV3QuickRuntime> {
 public:
  using PythonPart::PythonPart;

  int32_t setTactic(int32_t tactic) noexcept override {
    return call("set_tactic", [&] { return self().attr("set_tactic")(tactic); });
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, const Dims* in_strides, const Dims* out_strides, int32_t num_inputs,
                  int32_t num_outputs, cudaStream_t stream) noexcept override {
    return call("enqueue", [&] {
      return self().attr("enqueue")(to_list(in, num_inputs), to_list(out, num_outputs),
                                    address_list(inputs, num_inputs), address_list(outputs, num_outputs),
                                    to_list(in_strides, num_inputs), to_list(out_strides, num_outputs),
                                    number_of(stream));
    });
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    const bool done =
        attempt(self(), "get_fields_to_serialize", [&] { fields_.assign(self().attr("get_fields_to_serialize")()); });
    return done ? fields_.collection() : nullptr;
  }

 private:
  Fields fields_;
};

using Get = ISymExpr* (IKernelLaunchParams::*)();
using Set = bool (IKernelLaunchParams::*)(ISymExpr*);

// Python's object of what was set; None: nothing.
nb::object sym_of(ISymExpr* given) {
  auto* const python = dynamic_cast<PythonSymExpr*>(given);
  return python == nullptr ? nb::object(nb::none()) : nb::cast(python, nb::rv_policy::reference);
}

void bind_launch(nb::module_& m) {
  nb::class_<Launch> launch(m, "KernelLaunchParams", "How the kernel of a plugin is launched, by expressions.");
  const auto property = [&](const char* name, auto get, auto set) {
    launch.def_prop_rw(
        name, [get](const Launch& l) { return sym_of((l.get().*get)()); },
        [set, name](const Launch& l, nb::handle value) {
          if (!(l.get().*set)(nb::cast<PythonSymExpr*>(value)))
            throw nb::value_error((std::string(name) + " was refused").c_str());
          l.kept->push_back(nb::borrow(value));
        });
  };
  using L = IKernelLaunchParams;
  property("grid_x", &L::getGridX, &L::setGridX);
  property("grid_y", &L::getGridY, &L::setGridY);
  property("grid_z", &L::getGridZ, &L::setGridZ);
  property("block_x", &L::getBlockX, &L::setBlockX);
  property("block_y", &L::getBlockY, &L::setBlockY);
  property("block_z", &L::getBlockZ, &L::setBlockZ);
  property("shared_mem", &L::getSharedMem, &L::setSharedMem);
}

void bind_extras(nb::module_& m) {
  nb::class_<PythonSymExpr>(m, "ISymExpr", "An argument of a kernel, as an expression.")
      .def(nb::init<>())
      .def_rw("type", &PythonSymExpr::type)
      .def_rw("dtype", &PythonSymExpr::data_type)
      .def_rw("expr", &PythonSymExpr::expr, nb::arg().none());
  nb::class_<Extras>(m, "ISymExprs", "The arguments of a kernel between its inputs and outputs.")
      .def_prop_rw(
          "nbSymExprs", [](const Extras& e) { return e.get().getNbSymExprs(); },
          [](const Extras& e, int32_t count) {
            if (!e.get().setNbSymExprs(count)) throw nb::value_error("so many arguments are refused");
          })
      .def("__len__", [](const Extras& e) { return e.get().getNbSymExprs(); })
      .def("__getitem__", [](const Extras& e, int32_t i) { return sym_of(e.get().getSymExpr(i)); })
      .def("__setitem__", [](const Extras& e, int32_t i, nb::handle value) {
        if (!e.get().setSymExpr(i, nb::cast<PythonSymExpr*>(value))) throw nb::index_error();
        e.kept->push_back(nb::borrow(value));
      });
}

}  // namespace

std::unique_ptr<IPluginCapability> make_quick_build(nb::object self) {
  return std::make_unique<QuickBuild<IPluginV3QuickBuild>>(std::move(self));
}
std::unique_ptr<IPluginCapability> make_quick_aot_build(nb::object self) {
  return std::make_unique<QuickAotBuild>(std::move(self));
}
std::unique_ptr<IPluginCapability> make_quick_host_build(nb::object self) {
  return std::make_unique<QuickHostBuild>(std::move(self));
}
std::unique_ptr<IPluginCapability> make_quick_runtime(nb::object self) {
  return std::make_unique<QuickRuntime>(std::move(self));
}

void bind_launch_params(nb::module_& m) {
  bind_launch(m);
  bind_extras(m);
}

}  // namespace wootz_python
