// How long each kernel took for each problem, so that nothing is measured twice: kept between builds, merged, edited,
// shipped. Same network, same device and a cache that has every answer: the same choice, on any machine.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.h"

namespace wootz {

struct TimingKey {
  std::string problem;            // problem_key()
  std::string provider, version;  // of the library: another version is another kernel
  std::string tactic;             // kernel and its configuration
  std::string isa;                // of the device
  int threads = 1;
};

struct Timing {
  double median_us = 0;
  double spread = 0;    // half the distance between the quartiles, relative to the median
  uint32_t runs = 0;    // of the median; 0: written by hand
  double error = -1;    // relative difference from the reference; -1: not checked
  std::string refusal;  // not empty: disqualified, and why
  bool pinned = false;  // this tactic and no other for the problem
  bool operator==(const Timing&) const = default;
};

// The problem's key, or its beginning and a digest where it is long (a node that carries its weights, say).
std::string problem_key(const Problem& problem);
// The same of any text that stands for what was timed.
std::string cut_key(std::string text);
// Of a key that is a problem's whole text: is it one that this build could write?
Status check_problem_key(std::string_view key);

// Thread-safe.
class TimingCache {
 public:
  // A problem on an instruction set with a number of threads; a tactic. As the public API names them.
  using ProblemId = std::array<uint8_t, 16>;
  struct Best {
    uint64_t tactic = 0;
    double us = 0;
  };

  explicit TimingCache(DeviceDescription device);

  const DeviceDescription& device() const { return device_; }
  size_t size() const;
  std::optional<Timing> query(const TimingKey& key) const;
  // Adds or replaces. Errors: a time that is none, a text beyond the limits.
  Status update(const TimingKey& key, const Timing& timing);
  // All that is known of a problem on an instruction set with a number of threads, in the order of the keys.
  std::vector<std::pair<TimingKey, Timing>> of_problem(const std::string& problem, const std::string& isa,
                                                       int threads) const;
  // The tactic that the problem is pinned to, if it is.
  std::optional<TimingKey> pinned(const TimingKey& problem_of) const;
  void reset();
  // In the order of their keys.
  std::vector<std::pair<TimingKey, Timing>> entries() const;

  // Takes over what this cache does not have. Errors: measured on another device (backend, name or instruction set),
  // unless that is to be ignored.
  Status combine(const TimingCache& other, bool ignore_mismatch);
  // Null when timings of a cache with this device may be used on `device`; otherwise what differs.
  static std::optional<std::string> mismatch(const DeviceDescription& a, const DeviceDescription& b);

  // Equal caches give equal bytes. `bytes` may come from anywhere: digest, structure and values are checked.
  std::vector<std::byte> serialize() const;
  static Result<std::unique_ptr<TimingCache>> deserialize(std::span<const std::byte> bytes);
  std::string to_json() const;

  // For the public API, which knows problems and tactics by number. pin() makes the tactic the only choice; it must be
  // one that was measured for the problem.
  std::vector<ProblemId> problems() const;
  std::optional<Best> best(const ProblemId& problem) const;
  Status pin(const ProblemId& problem, uint64_t tactic, double us);

 private:
  struct Tactic {
    std::string isa;
    int threads = 1;
    std::string provider, version, tactic;
    auto operator<=>(const Tactic&) const = default;
  };
  using Tactics = std::map<Tactic, Timing>;

  static Tactic tactic_of(const TimingKey& key);
  static ProblemId id_of(const std::string& problem, const Tactic& tactic);
  static uint64_t number_of(const Tactic& tactic);
  Status insert(const TimingKey& key, const Timing& timing, bool replace);

  DeviceDescription device_;
  mutable std::mutex mutex_;
  std::map<std::string, Tactics, std::less<>> problems_;
  size_t size_ = 0;
};

}  // namespace wootz
