// Scores of attention, and the rows that see no key, as kCap and kNanRows of attention/head.cuh have them;
// but where there are no keys at all, a result is 0.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN float capped(float s) { return kCap > 0 ? (float)kCap * tanhf(s / (float)kCap) : s; }

W_FN bool sees_nothing(float sum) { return kNanRows == 0 ? sum == 0 : kNanRows == 2 ? sum == 0 || sum != sum : false; }
