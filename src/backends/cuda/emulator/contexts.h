// The emulated GPUs: how many there are, and whose context is current on a thread.
#pragma once

#include "backends/cuda/api/driver.h"

namespace wootz::cuda {

constexpr int kMostEmulated = 16;
constexpr int kNoDevice = -1;

void set_emulator_devices(int count);
int emulator_devices();
int current_emulated();  // of this thread; kNoDevice: none
CUcontext emulator_context(int device);

CUresult emulator_device_get(CUdevice* device, int number);
CUresult emulator_device_count(int* count);
CUresult emulator_retain(CUcontext* context, CUdevice device);
CUresult emulator_push(CUcontext context);
CUresult emulator_pop(CUcontext* context);
CUresult emulator_get_current(CUcontext* context);
CUresult emulator_get_device(CUdevice* device);

}  // namespace wootz::cuda
