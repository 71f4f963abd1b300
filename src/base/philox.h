// Random numbers by counting: the numbers of one place follow from a key, how often was drawn before, and the place,
// whichever thread or device computes them. The generator is Philox 4x32 of ten rounds (Salmon, Moraes, Dror, Shaw:
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace wootz {

inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xd2511f53} * counter[0], b = uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + 0x9e3779b9U, key[1] + 0xbb67ae85U};
  }
  return counter;
}

// What is drawn at one place: two numbers of [0, 1), of 53 bits each.
struct RandomDraw {
  RandomDraw(uint64_t key, uint64_t drawn_before, uint64_t place) {
    const auto low = [](uint64_t v) { return static_cast<uint32_t>(v); };
    const auto high = [](uint64_t v) { return static_cast<uint32_t>(v >> 32); };
    const std::array<uint32_t, 4> bits =
        philox({low(place), high(place), low(drawn_before), high(drawn_before)}, {low(key), high(key)});
    uniform = static_cast<double>((uint64_t{bits[1]} << 32 | bits[0]) >> 11) * 0x1.0p-53;
    second = static_cast<double>((uint64_t{bits[3]} << 32 | bits[2]) >> 11) * 0x1.0p-53;
  }
  // Of mean 0 and deviation 1 (Box and Muller).
  double normal() const {
    constexpr double kTau = 6.283185307179586476925;
    return std::sqrt(-2 * std::log(1 - uniform)) * std::cos(kTau * second);
  }
  double uniform, second;
};

// What random numbers are drawn from: a tensor of these two, i64.
struct RandomState {
  int64_t key = 0;    // which sequence
  int64_t drawn = 0;  // how often it was drawn from
  RandomDraw at(int64_t place) const {
    return {static_cast<uint64_t>(key), static_cast<uint64_t>(drawn), static_cast<uint64_t>(place)};
  }
};

// A key that no other call gives, in this process or, as far as the system has random numbers, another one.
int64_t fresh_random_key();

}  // namespace wootz
