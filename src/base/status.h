// Status and Result: how every layer below src/api reports failure. No exceptions cross a layer.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wootz {

enum class Code : unsigned char {
  kOk,
  kInvalidArgument,    // the caller's input is wrong: shape, type, name, flag
  kUnsupported,        // valid, but this build or backend cannot do it
  kInvalidState,       // right call, wrong moment
  kResourceExhausted,  // memory or a stated limit
  kCorrupt,            // bytes from outside do not hold together
  kIo,                 // the operating system refused
  kCancelled,          // the caller asked to stop
  kInternal,           // a defect of ours
};

const char* code_name(Code code);

// What a failure is about, as data beside the message: code that needs the place of a failure never reads the text.
enum class PlaceKind : unsigned char { kNetwork, kLayer, kNode, kTensor };
const char* place_kind_name(PlaceKind kind);  // as in messages: "layer"
struct StatusPlace {
  PlaceKind kind = PlaceKind::kLayer;
  std::string name;
};

// Success, or a code and a message that names the place: node, tensor, both shapes, the limit.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : rep_(std::make_shared<const Rep>(Rep{code, std::move(message), {}})) {}

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return rep_ ? rep_->code : Code::kOk; }
  const std::string& message() const;
  // The same failure seen from further out: "<prefix>: <message>".
  Status with_prefix(std::string_view prefix) const;
  // The same failure at a place: "layer 'conv1' (native:conv): <message>" for a detail of "(native:conv)". Places nest.
  Status at(PlaceKind kind, std::string_view name, std::string_view detail = {}) const;
  // The innermost place of a kind; null: none is known.
  const StatusPlace* place(PlaceKind kind) const;
  std::string to_string() const;

 private:
  struct Rep {
    Code code;
    std::string message;
    std::vector<StatusPlace> places;  // the innermost first
  };
  std::shared_ptr<const Rep> rep_;
};

template <typename... Args>
Status make_error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Status invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::kInvalidArgument, format, std::forward<Args>(args)...);
}
template <typename... Args>
Status unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::kUnsupported, format, std::forward<Args>(args)...);
}
template <typename... Args>
Status corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::kCorrupt, format, std::forward<Args>(args)...);
}
template <typename... Args>
Status internal_error(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::kInternal, format, std::forward<Args>(args)...);
}

// A value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT
    if (status_.ok()) status_ = Status(Code::kInternal, "Result made from an ok Status");
  }
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace wootz

#define WOOTZ_CONCAT_(a, b) a##b
#define WOOTZ_CONCAT(a, b) WOOTZ_CONCAT_(a, b)
#define WOOTZ_RETURN_IF_ERROR(expr)         \
  do {                                      \
    ::wootz::Status wootz_status_ = (expr); \
    if (!wootz_status_.ok()) [[unlikely]]   \
      return wootz_status_;                 \
  } while (false)
#define WOOTZ_ASSIGN_OR_RETURN(decl, expr) WOOTZ_ASSIGN_OR_RETURN_(WOOTZ_CONCAT(wootz_result_, __LINE__), decl, expr)
#define WOOTZ_ASSIGN_OR_RETURN_(tmp, decl, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) [[unlikely]]                    \
    return tmp.status();                         \
  decl = std::move(tmp).value()
