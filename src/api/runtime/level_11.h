// What only a file compiled at level 11 can do (level_11.cpp). Pointers are to objects of that level.
#pragma once

#include <cstdint>

namespace wootz::api::level_11 {

int32_t version() noexcept;
void log(void* logger, int32_t severity, const char* text) noexcept;
void report_time(void* profiler, const char* step, float ms) noexcept;
// An ILogger that hands on each line.
void* make_logger(void (*log)(int32_t severity, const char* text) noexcept);

}  // namespace wootz::api::level_11
