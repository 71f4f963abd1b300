// The facts of the cuda_runtime_api.h that this file is compiled with, given by the function FACTS.
#include "header_facts.h"

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <type_traits>

namespace {

// How a value is passed: its kind and size.
template <typename T>
std::string passed() {
  if constexpr (std::is_void_v<T>) return "void";
  const char* const kind = std::is_pointer_v<T> ? "pointer" : std::is_class_v<T> ? "struct" : "number";
  if constexpr (!std::is_void_v<T>) return std::string(kind) + std::to_string(sizeof(T));
}

template <typename Result, typename... Arguments>
std::string called(Result (*)(Arguments...)) {
  std::string text = passed<Result>() + "(";
  ((text += passed<Arguments>() + " "), ...);
  return text + ")";
}

}  // namespace

Facts FACTS() {
  Facts facts;
#define VALUE(name) facts.emplace_back(#name, std::to_string(static_cast<long long>(name)));
#define SIZE(name) facts.emplace_back(#name, std::to_string(sizeof(name)));
#define PLACE(name, member) facts.emplace_back(#name "." #member, std::to_string(offsetof(name, member)));
#include "header_facts.def"
#define FN(name, parameters, arguments) facts.emplace_back(#name, called(&name));
#define FN_STREAM FN
#define FN_BLOCK FN
#define FN_13 FN
#define FN_13_STREAM FN
#define FN_OLD(symbol, name, parameters, arguments)
#define FN_OLD_STREAM FN_OLD
#define FN_12 FN_OLD
#define FN_11 FN_OLD
#include "hostcuda/functions.def"
  FN(cudaGetLastError, , )
  FN(cudaPeekAtLastError, , )
  FN(cudaGetErrorName, , )
  FN(cudaGetErrorString, , )
  return facts;
}
