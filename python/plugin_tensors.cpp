#include "plugin_tensors.h"

#include <nanobind/stl/shared_ptr.h>

#include <dlfcn.h>

#include <atomic>

using namespace nvinfer1;

namespace wootz_python {
namespace {

constexpr const char* kOver = "the call that this belongs to is over: expressions last for one call of a plugin";

nb::object kept(const IDimensionExpr* expr, const std::shared_ptr<ExprScope>& scope) {
  if (expr == nullptr) throw nb::value_error("there is no such expression: see the log");
  return nb::cast(std::make_shared<Expr>(Expr{expr, scope}));
}

size_t place(const Exprs& e, Py_ssize_t index) {
  const auto count = static_cast<Py_ssize_t>(e.list.size());
  if (index < -count || index >= count) throw nb::index_error();
  return static_cast<size_t>(index < 0 ? index + count : index);
}

Exprs of_rank(int rank) {
  if (rank < 0 || rank > nvinfer1::Dims::MAX_DIMS) throw nb::value_error("a shape has at most 8 dimensions");
  return {ExprList(static_cast<size_t>(rank))};
}

void bind_expressions(nb::module_& m) {
  nb::class_<Expr>(m, "IDimensionExpr", "An extent, as an expression over those of the inputs; valid during one call.")
      .def("is_constant", [](const Expr& e) { return e.get().isConstant(); })
      .def("get_constant_value", [](const Expr& e) { return e.get().getConstantValue(); })
      .def("is_size_tensor", [](const Expr& e) { return e.get().isSizeTensor(); });
  nb::class_<Exprs>(m, "DimsExprs", "A shape whose extents are expressions.")
      .def("__init__", [](Exprs* to) { new (to) Exprs(); })
      .def("__init__", [](Exprs* to, const Exprs& from) { new (to) Exprs(from); })
      .def("__init__", [](Exprs* to, int rank) { new (to) Exprs(of_rank(rank)); })
      .def("__init__", [](Exprs* to, const ExprList& list) { new (to) Exprs{list}; })
      .def("__len__", [](const Exprs& e) { return e.list.size(); })
      .def("__getitem__", [](const Exprs& e, Py_ssize_t i) { return e.list[place(e, i)]; })
      .def("__setitem__",
           [](Exprs& e, Py_ssize_t i, std::shared_ptr<Expr> value) { e.list[place(e, i)] = std::move(value); });
  nb::class_<ExprMaker>(m, "IExprBuilder", "Makes expressions; valid during the call that it is handed to.")
      .def("__init__", [](ExprMaker* to) { new (to) ExprMaker{std::make_shared<ExprScope>()}; })
      .def("constant", [](const ExprMaker& b, int64_t value) { return kept(b.get().constant(value), b.scope); })
      .def("operation",
           [](const ExprMaker& b, DimensionOperation op, const Expr& first, const Expr& second) {
             return kept(b.get().operation(op, first.get(), second.get()), b.scope);
           })
      .def("declare_size_tensor", [](const ExprMaker& b, int32_t output, const Expr& opt, const Expr& upper) {
        return kept(b.get().declareSizeTensor(output, opt.get(), upper.get()), b.scope);
      });
}

void bind_descriptions(nb::module_& m) {
  nb::class_<PluginTensorDesc>(m, "PluginTensorDesc", "A plugin's input or output: extents, type, format, scale.")
      .def("__init__",
           [](PluginTensorDesc* to) {
             new (to) PluginTensorDesc{{}, DataType::kFLOAT, TensorFormat::kLINEAR, 0};
           })
      .def_rw("dims", &PluginTensorDesc::dims)
      .def_rw("type", &PluginTensorDesc::type)
      .def_rw("format", &PluginTensorDesc::format)
      .def_rw("scale", &PluginTensorDesc::scale);
  nb::class_<DynamicPluginTensorDesc>(m, "DynamicPluginTensorDesc", "The same, with the range that its extents have.")
      .def("__init__", [](DynamicPluginTensorDesc* to) { new (to) DynamicPluginTensorDesc{}; })
      .def_rw("desc", &DynamicPluginTensorDesc::desc)
      .def_rw("min", &DynamicPluginTensorDesc::min)
      .def_rw("max", &DynamicPluginTensorDesc::max)
      .def_rw("opt", &DynamicPluginTensorDesc::opt);
}

// Whether an address is of a GPU's memory. A driver that was not opened owns none.
bool on_device(size_t address) {
  using Ask = int (*)(void* answer, int attribute, unsigned long long address);
  constexpr int kMemoryType = 2, kDevice = 2;
  static std::atomic<Ask> found = nullptr;
  Ask ask = found;
  if (ask == nullptr) {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == nullptr) return false;
    ask = reinterpret_cast<Ask>(dlsym(driver, "cuPointerGetAttribute"));
    if (ask == nullptr) return false;
    found = ask;
  }
  unsigned type = 0;
  return ask(&type, kMemoryType, address) == 0 && type == kDevice;
}

}  // namespace

const IDimensionExpr& Expr::get() const {
  if (scope->builder == nullptr) throw std::runtime_error(kOver);
  return *expr;
}

IExprBuilder& ExprMaker::get() const {
  if (scope->builder == nullptr) throw std::runtime_error(kOver);
  return *scope->builder;
}

nb::object ExprCall::builder() const { return nb::cast(ExprMaker{scope_}); }

nb::object ExprCall::exprs(const nvinfer1::DimsExprs& given) const {
  Exprs made;
  for (int32_t a = 0; a < given.nbDims; ++a) made.list.push_back(std::make_shared<Expr>(Expr{given.d[a], scope_}));
  return nb::cast(std::move(made));
}

nb::list ExprCall::lists(const nvinfer1::DimsExprs* given, int32_t count) const {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(exprs(given[i]));
  return list;
}

nvinfer1::DimsExprs to_exprs(nb::handle given) {
  const auto& exprs = answered<const Exprs&>(given, "a DimsExprs for each output");
  if (exprs.list.size() > static_cast<size_t>(nvinfer1::Dims::MAX_DIMS))
    throw nb::value_error("a shape of more than 8 dimensions");
  nvinfer1::DimsExprs made{};
  for (const std::shared_ptr<Expr>& expr : exprs.list) {
    if (expr == nullptr)
      throw nb::value_error(("dimension " + std::to_string(made.nbDims) + " of a DimsExprs is not set").c_str());
    made.d[made.nbDims++] = &expr->get();
  }
  return made;
}

void bind_plugin_tensors(nb::module_& m) {
  bind_descriptions(m);
  bind_expressions(m);
  m.def("_on_device", &on_device);
}

}  // namespace wootz_python
