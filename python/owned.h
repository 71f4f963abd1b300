// Objects of the library that Python makes by calling a class: trt.Builder(logger). The Python object holds a pointer
// to the library's, so that __init__ makes it and Python classes can derive from it; functions take and give the
// library's.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "NvInfer.h"
#include "NvOnnxParser.h"

namespace wootz_python {

template <class T>
class Owned {
 public:
  explicit Owned(T* made) : object(made) {
    const std::lock_guard lock(mutex());
    all()[made] = this;
  }
  ~Owned() {
    {
      const std::lock_guard lock(mutex());
      all().erase(object.get());
    }
    const nanobind::gil_scoped_release release;  // what it ends may wait for threads that want to log
    object.reset();
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  // Null: Python does not hold it.
  static Owned* holder(T* object) {
    const std::lock_guard lock(mutex());
    const auto found = all().find(object);
    return found == all().end() ? nullptr : found->second;
  }

  std::unique_ptr<T> object;

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::unordered_map<T*, Owned*>& all() {
    static auto* const map = new std::unordered_map<T*, Owned*>;  // objects may outlive static ones
    return *map;
  }
};

// Counts as a caster of a bound class, which Owned<T> is.
template <class T>
struct OwnedCaster : nanobind::detail::type_caster_base_tag {
  using Holder = nanobind::detail::make_caster<Owned<T>>;
  static constexpr auto Name = Holder::Name;
  template <typename U>
  using Cast = nanobind::detail::precise_cast_t<U>;

  bool from_python(nanobind::handle source, uint32_t flags, nanobind::detail::cleanup_list* cleanup) noexcept {
    Holder holder;
    if (!holder.from_python(source, flags, cleanup)) return false;
    Owned<T>* const owned = holder.operator Owned<T>*();
    value_ = owned == nullptr ? nullptr : owned->object.get();
    return true;
  }
  // A pointer that Python holds is that object; another one is handed to it (rv_policy::take_ownership).
  static nanobind::handle from_cpp(T* object, nanobind::rv_policy policy,
                                   nanobind::detail::cleanup_list* cleanup) noexcept {
    if (object == nullptr) return nanobind::none().release();
    Owned<T>* holder = Owned<T>::holder(object);
    if (holder != nullptr) return Holder::from_cpp(holder, nanobind::rv_policy::reference, cleanup);
    if (policy != nanobind::rv_policy::take_ownership) return nanobind::none().release();
    return Holder::from_cpp(new Owned<T>(object), nanobind::rv_policy::take_ownership, cleanup);
  }
  static nanobind::handle from_cpp(T& object, nanobind::rv_policy policy,
                                   nanobind::detail::cleanup_list* cleanup) noexcept {
    return from_cpp(&object, policy, cleanup);
  }
  template <typename U>
  bool can_cast() const noexcept {
    return std::is_pointer_v<U> || value_ != nullptr;
  }
  operator T*() { return value_; }
  operator T&() { return *value_; }

 private:
  T* value_ = nullptr;
};

// __init__ of such a class. Errors (RuntimeError): `made` is null, as the log says.
template <class T>
void hold(Owned<T>* self, T* made, const char* what) {
  if (made == nullptr) throw std::runtime_error(std::string("the ") + what + " could not be created: see the log");
  new (self) Owned<T>(made);
}

}  // namespace wootz_python

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)
template <>
struct type_caster<nvinfer1::IBuilder> : wootz_python::OwnedCaster<nvinfer1::IBuilder> {};
template <>
struct type_caster<nvinfer1::IRuntime> : wootz_python::OwnedCaster<nvinfer1::IRuntime> {};
template <>
struct type_caster<nvinfer1::IRefitter> : wootz_python::OwnedCaster<nvinfer1::IRefitter> {};
template <>
struct type_caster<nvonnxparser::IParser> : wootz_python::OwnedCaster<nvonnxparser::IParser> {};
template <>
struct type_caster<nvonnxparser::IParserRefitter> : wootz_python::OwnedCaster<nvonnxparser::IParserRefitter> {};
NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
