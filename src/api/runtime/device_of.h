// The device of an engine that came through the C interface, and the guard around what is done with it.
#pragma once

#include "api/runtime/public.h"
#include "backend/device.h"
#include "base/function_ref.h"

namespace wootz::api {

// Null: not an engine of this library.
Device* device_of(void* engine);
// Runs the work; 0, or 1 after telling what went wrong.
int device_call(void* engine, const char* call, FunctionRef<Status(Device&)> work);

}  // namespace wootz::api
