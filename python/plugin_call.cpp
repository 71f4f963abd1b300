#define WOOTZ_NO_DEPRECATION
#include "plugin_call.h"

#include <cstdio>

namespace wootz_python {

Kept::~Kept() {
  if (!object_.is_valid() || !nb::is_alive()) return;
  const nb::gil_scoped_acquire gil;
  object_.dec_ref();
}

void log_error(const std::string& message) noexcept {
  if (nvinfer1::ILogger* const logger = getLogger()) logger->log(nvinfer1::ILogger::Severity::kERROR, message.c_str());
}

std::string type_of(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }

std::string text_of(nb::python_error& error) noexcept {
  try {
    const nb::object lines =
        nb::module_::import_("traceback").attr("format_exception")(error.type(), error.value(), error.traceback());
    return nb::cast<std::string>(nb::str("").attr("join")(lines));
  } catch (...) {
    return error.what();
  }
}

int32_t code_of(nb::handle answer) {
  if (answer.is_none() || answer.is(Py_True)) return 0;
  return answered<int32_t>(answer, "None or a number, 0 for success");
}

nb::handle plugin_classes() {
#if NV_TENSORRT_MAJOR < 11
  constexpr const char* kName = "wootz._plugins";
#else
  constexpr const char* kName = "wootz._level_11._plugins";
#endif
  static const nb::handle module = nb::module_::import_(kName).release();  // as long as the process
  return module;
}

const char* TextOf::read(nb::handle self, const char* attribute) noexcept {
  bool some = false;
  const bool done = attempt(self, attribute, [&] {
    const nb::object value = self.attr(attribute);
    some = !value.is_none();
    if (some) text_ = answered<std::string>(value, "text");
  });
  return done && some ? text_.c_str() : nullptr;
}

int64_t number_of(nb::handle self, const char* attribute, int64_t otherwise) noexcept {
  int64_t number = otherwise;
  attempt(self, attribute, [&] { number = answered<int64_t>(self.attr(attribute), "a number"); });
  return number;
}

}  // namespace wootz_python
