// Objects of the API that come back from the application. A process may have several copies of this library: the
// runtime alone beside the whole one, IRuntime::loadRuntime, the runtime that a plan brings.
#pragma once

#include <type_traits>
#include <typeinfo>

namespace wootz::api {

// The object, where this copy of the library made it; null: another copy did, or the application. dynamic_cast compares
// names of classes, which all copies share, and would take another version's object for one of ours.
template <class T, class I>
auto* made_here(I* object) {
  static_assert(std::is_final_v<T>);
  using Made = std::conditional_t<std::is_const_v<I>, const T, T>;
  return object != nullptr && &typeid(*object) == &typeid(T) ? static_cast<Made*>(object) : static_cast<Made*>(nullptr);
}

// A function of the library that made the object, which is polymorphic; null: it has none of this name, or is this one.
void* function_of_maker(const void* object, const char* name);

// The same function where another copy of the library made the object, of class T and interface I in this one.
template <class T, class I, class F>
F* of_other_maker(void* object, F*, const char* name) {
  if (object == nullptr || made_here<T>(static_cast<I*>(object)) != nullptr) return nullptr;
  return reinterpret_cast<F*>(function_of_maker(object, name));
}

}  // namespace wootz::api

// Leaves a function of wootz/extensions.h by way of the same one in the library that made the engine or context.
#define WOOTZ_LET_MAKER_OF_ENGINE(engine, function, ...)                                                           \
  if (auto* const there =                                                                                          \
          wootz::api::of_other_maker<wootz::api::EngineImpl, nvinfer1::ICudaEngine>(engine, &function, #function)) \
  return there(__VA_ARGS__)
#define WOOTZ_LET_MAKER_OF_CONTEXT(context, function, ...)                                                  \
  if (auto* const there = wootz::api::of_other_maker<wootz::api::ContextImpl, nvinfer1::IExecutionContext>( \
          context, &function, #function))                                                                   \
  return there(__VA_ARGS__)
#define WOOTZ_LET_MAKER_OF_RUNTIME(runtime, function, ...)                                                        \
  if (auto* const there =                                                                                         \
          wootz::api::of_other_maker<wootz::api::RuntimeImpl, nvinfer1::IRuntime>(runtime, &function, #function)) \
  return there(__VA_ARGS__)
