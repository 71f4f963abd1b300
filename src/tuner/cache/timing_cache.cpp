#include "tuner/cache/timing_cache.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/problem_text.h"

namespace wootz {
namespace {

constexpr size_t kMaxText = 64 * 1024;
constexpr size_t kMaxEntries = size_t{1} << 22;
constexpr size_t kLongKey = 2048;  // beyond this a problem is known by the beginning of its key and a digest
constexpr std::string_view kCutMark = "...#";

bool is_time(double us) { return std::isfinite(us) && us >= 0; }

// Parts joined so that no two lists of parts give one text.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string s;
  for (const std::string_view part : parts) {
    s += std::to_string(part.size());
    s += ':';
    s += part;
  }
  return s;
}

}  // namespace

std::string problem_key(const Problem& problem) { return cut_key(problem.key()); }

std::string cut_key(std::string key) {
  if (key.size() <= kLongKey) return key;
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  key.resize(kLongKey / 2);
  return key.append(kCutMark) + fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Status check_problem_key(std::string_view key) {
  const bool cut = key.size() == kLongKey / 2 + kCutMark.size() + 32 && key.substr(kLongKey / 2).starts_with(kCutMark);
  Family family{};
  // What is no problem's key here is of another version's family, or of no problem (of a run's streams).
  if (cut || !family_from_name(key.substr(0, key.find('{')), &family)) return {};
  return parse_problem(key).status();
}

TimingCache::TimingCache(DeviceDescription device) : device_(std::move(device)) {}

TimingCache::Tactic TimingCache::tactic_of(const TimingKey& key) {
  return {key.isa, key.threads, key.provider, key.version, key.tactic};
}

TimingCache::ProblemId TimingCache::id_of(const std::string& problem, const Tactic& tactic) {
  const std::string text = joined({problem, tactic.isa, std::to_string(tactic.threads)});
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits(text.data(), text.size()));
  ProblemId id;
  static_assert(sizeof(id) == sizeof(bytes));
  std::memcpy(id.data(), &bytes, sizeof(id));
  return id;
}

uint64_t TimingCache::number_of(const Tactic& tactic) {
  const std::string text = joined({tactic.provider, tactic.version, tactic.tactic});
  return XXH3_64bits(text.data(), text.size());
}

size_t TimingCache::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return size_;
}

std::optional<Timing> TimingCache::query(const TimingKey& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto problem = problems_.find(key.problem);
  if (problem == problems_.end()) return std::nullopt;
  const auto found = problem->second.find(tactic_of(key));
  return found == problem->second.end() ? std::nullopt : std::optional<Timing>(found->second);
}

// The caller holds the lock.
Status TimingCache::insert(const TimingKey& key, const Timing& timing, bool replace) {
  if (!is_time(timing.median_us) || !is_time(timing.spread) || !(timing.error == -1 || is_time(timing.error)))
    return invalid_argument("timing of '{}': {} us, spread {}, error {}", key.tactic.substr(0, 200), timing.median_us,
                            timing.spread, timing.error);
  if (key.threads < 1) return invalid_argument("timing of '{}': {} threads", key.tactic.substr(0, 200), key.threads);
  for (const std::string* text : {&key.problem, &key.provider, &key.version, &key.tactic, &key.isa, &timing.refusal})
    if (text->size() > kMaxText)
      return make_error(Code::kResourceExhausted, "timing cache: '{}...' has {} bytes, the limit is {}",
                        text->substr(0, 200), text->size(), kMaxText);
  if (size_ >= kMaxEntries)
    return make_error(Code::kResourceExhausted, "the timing cache has {} entries, which is the limit", kMaxEntries);
  Tactics& tactics = problems_[key.problem];
  const auto [at, fresh] = tactics.try_emplace(tactic_of(key), timing);
  size_ += fresh;
  if (!fresh && replace) at->second = timing;
  return {};
}

Status TimingCache::update(const TimingKey& key, const Timing& timing) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return insert(key, timing, /*replace=*/true);
}

std::optional<TimingKey> TimingCache::pinned(const TimingKey& problem_of) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto problem = problems_.find(problem_of.problem);
  if (problem == problems_.end()) return std::nullopt;
  for (const auto& [t, timing] : problem->second)
    if (timing.pinned && t.isa == problem_of.isa && t.threads == problem_of.threads)
      return TimingKey{problem->first, t.provider, t.version, t.tactic, t.isa, t.threads};
  return std::nullopt;
}

std::vector<std::pair<TimingKey, Timing>> TimingCache::of_problem(const std::string& problem, const std::string& isa,
                                                                  int threads) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::pair<TimingKey, Timing>> found;
  const auto tactics = problems_.find(problem);
  if (tactics == problems_.end()) return found;
  for (const auto& [t, timing] : tactics->second)
    if (t.isa == isa && t.threads == threads)
      found.push_back({{problem, t.provider, t.version, t.tactic, t.isa, t.threads}, timing});
  return found;
}

void TimingCache::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  problems_.clear();
  size_ = 0;
}

std::vector<std::pair<TimingKey, Timing>> TimingCache::entries() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::pair<TimingKey, Timing>> all;
  for (const auto& [problem, tactics] : problems_)
    for (const auto& [t, timing] : tactics)
      all.push_back({{problem, t.provider, t.version, t.tactic, t.isa, t.threads}, timing});
  return all;
}

std::optional<std::string> TimingCache::mismatch(const DeviceDescription& a, const DeviceDescription& b) {
  const auto differ = [](const char* what, const std::string& x, const std::string& y) {
    return fmt::format("{} '{}' against '{}'", what, x, y);
  };
  if (a.backend != b.backend) return differ("backend", a.backend, b.backend);
  if (a.isa != b.isa) return differ("instruction set", a.isa, b.isa);
  if (a.name != b.name) return differ("device", a.name, b.name);
  return std::nullopt;
}

Status TimingCache::combine(const TimingCache& other, bool ignore_mismatch) {
  if (const auto difference = mismatch(device_, other.device_); difference && !ignore_mismatch)
    return invalid_argument("timing caches of different devices: {}", *difference);
  if (this == &other) return {};
  const std::vector<std::pair<TimingKey, Timing>> theirs = other.entries();  // no two locks at once
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, timing] : theirs) {
    Timing taken = timing;
    if (taken.pinned) {  // ours decide, where ours know the problem
      const auto problem = problems_.find(key.problem);
      taken.pinned = problem == problems_.end() || std::none_of(problem->second.begin(), problem->second.end(),
                                                                [](const auto& t) { return t.second.pinned; });
    }
    WOOTZ_RETURN_IF_ERROR(insert(key, taken, /*replace=*/false));
  }
  return {};
}

std::vector<TimingCache::ProblemId> TimingCache::problems() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<ProblemId> ids;
  for (const auto& [problem, tactics] : problems_)
    for (const auto& [tactic, timing] : tactics) {
      const ProblemId id = id_of(problem, tactic);  // tactics of one id stand together
      if (ids.empty() || ids.back() != id) ids.push_back(id);
    }
  return ids;
}

std::optional<TimingCache::Best> TimingCache::best(const ProblemId& id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::optional<Best> best;
  for (const auto& [problem, tactics] : problems_)
    for (const auto& [tactic, timing] : tactics) {
      if (!timing.refusal.empty() || id_of(problem, tactic) != id) continue;
      const Best here{number_of(tactic), timing.median_us};
      if (timing.pinned) return here;
      if (!best || here.us < best->us) best = here;
    }
  return best;
}

Status TimingCache::pin(const ProblemId& id, uint64_t number, double us) {
  if (!is_time(us)) return invalid_argument("timing cache: {} microseconds", us);
  const std::lock_guard<std::mutex> lock(mutex_);
  Timing* chosen = nullptr;
  std::vector<Timing*> others;
  for (auto& [problem, tactics] : problems_)
    for (auto& [tactic, timing] : tactics) {
      if (id_of(problem, tactic) != id) continue;
      if (number_of(tactic) == number)
        chosen = &timing;
      else
        others.push_back(&timing);
    }
  if (chosen == nullptr)
    return invalid_argument("timing cache: {} tactics are known for this problem, none is {:#x}", others.size(),
                            number);
  if (!chosen->refusal.empty())
    return invalid_argument("timing cache: tactic {:#x} was disqualified: {}", number, chosen->refusal);
  for (Timing* other : others) other->pinned = false;
  chosen->pinned = true;
  chosen->median_us = us;
  return {};
}

}  // namespace wootz
