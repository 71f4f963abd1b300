// The level of the API that a translation unit is compiled at: 10.16, or 11.1 with WOOTZ_TENSORRT_API=11.
//
// One library serves both. Objects that the library makes have the same virtual functions at both levels, in the same
// order: what a level does not have is private there, and a name that would stand beside a visible overload is set
// apart. Interfaces that applications implement are as their level says; the library knows the level of its caller by
// the version that every factory is given, and translates enumerators whose numbers differ.
#pragma once

#include "NvInferVersion.h"

#if NV_TENSORRT_MAJOR >= 11
#define WOOTZ_BY_LEVEL(ten, eleven) eleven
#define WOOTZ_UNTIL_10 private:
#define WOOTZ_SINCE_11 public:
#define WOOTZ_OVERLOAD_UNTIL_10(name) name##_10
#define WOOTZ_OVERLOAD_SINCE_11(name) name
#define WOOTZ_DEPRECATED_SINCE_11 TRT_DEPRECATED
#define WOOTZ_DEPRECATED_ENUM_SINCE_11 TRT_DEPRECATED_ENUM
#else
#define WOOTZ_BY_LEVEL(ten, eleven) ten
#define WOOTZ_UNTIL_10 public:
#define WOOTZ_SINCE_11 private:
#define WOOTZ_OVERLOAD_UNTIL_10(name) name
#define WOOTZ_OVERLOAD_SINCE_11(name) name##_11
#define WOOTZ_DEPRECATED_SINCE_11
#define WOOTZ_DEPRECATED_ENUM_SINCE_11
#endif
