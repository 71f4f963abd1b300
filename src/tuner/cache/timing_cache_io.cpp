// Bytes of a timing cache: a header of 32 bytes (magic, version, digest of the rest), then FlatBuffers
// (timing_cache.fbs).
#include <xxhash.h>

#include <cstring>

#include "base/json.h"
#include "tuner/cache/timing_cache.h"
#include "tuner/timing_cache_generated.h"

namespace wootz {
namespace {

using flatbuffers::Offset;

constexpr char kMagic[8] = {'W', 'O', 'O', 'T', 'Z', 'T', 'M', 'C'};
constexpr uint32_t kVersion = 2;
constexpr size_t kMaxBytes = size_t{1} << 30;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  XXH128_canonical_t digest;  // of version, reserved and everything after the header
};
static_assert(sizeof(Header) == 32);

XXH128_canonical_t digest_of(const Header& header, std::span<const std::byte> body) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, &header.version, sizeof(header.version) + sizeof(header.reserved));
  XXH3_128bits_update(&state, body.data(), body.size());
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(&state));
  return bytes;
}

std::string text(const flatbuffers::String* s) { return s == nullptr ? std::string() : s->str(); }

// What repeated references to one text would unfold to, bounded by the size of the file.
class Budget {
 public:
  explicit Budget(size_t bytes) : left_(bytes) {}
  bool take(std::initializer_list<const flatbuffers::String*> texts) {
    for (const auto* t : texts) {
      const size_t size = t == nullptr ? 0 : t->size();
      if (size > left_) return false;
      left_ -= size;
    }
    return true;
  }

 private:
  size_t left_;
};

Status read_timings(const fb::Timings& from, size_t bytes, TimingCache* cache) {
  Budget budget(bytes);
  const auto repeats = [] {
    return make_error(Code::kResourceExhausted,
                      "timing cache: its parts repeat each other beyond the size of the file");
  };
  for (uint32_t p = 0; from.problems() != nullptr && p < from.problems()->size(); ++p) {
    const fb::TimedProblem& problem = *from.problems()->Get(p);
    for (uint32_t i = 0; problem.timings() != nullptr && i < problem.timings()->size(); ++i) {
      const fb::Timing& t = *problem.timings()->Get(i);
      if (!budget.take({t.provider(), t.version(), t.tactic(), t.isa(), t.refusal()})) return repeats();
      const TimingKey key{text(problem.key()), text(t.provider()), text(t.version()),
                          text(t.tactic()),    text(t.isa()),      t.threads()};
      const Timing timing{t.median_us(), t.spread(), t.runs(), t.error(), text(t.refusal()), t.pinned()};
      if (cache->query(key)) return corrupt("timing cache: '{}' is timed twice", key.tactic.substr(0, 200));
      if (Status status = cache->update(key, timing); !status.ok())
        return corrupt("timing cache: {}", status.message());
    }
    if (!budget.take({problem.key()})) return repeats();
    if (Status status = check_problem_key(text(problem.key())); !status.ok()) return status.with_prefix("timing cache");
  }
  return {};
}

}  // namespace

std::vector<std::byte> TimingCache::serialize() const {
  flatbuffers::FlatBufferBuilder b;
  const auto words = [&](const std::string& s) { return b.CreateString(s); };
  std::vector<Offset<fb::TimedProblem>> problems;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, tactics] : problems_) {
      std::vector<Offset<fb::Timing>> timings;
      for (const auto& [t, timing] : tactics) {
        const auto provider = words(t.provider), version = words(t.version), tactic = words(t.tactic),
                   isa = words(t.isa), refusal = words(timing.refusal);
        timings.push_back(fb::CreateTiming(b, provider, version, tactic, isa, t.threads, timing.median_us,
                                           timing.spread, timing.runs, timing.error, refusal, timing.pinned));
      }
      const auto name = words(key);
      problems.push_back(fb::CreateTimedProblem(b, name, b.CreateVector(timings)));
    }
  }
  const auto backend = words(device_.backend), name = words(device_.name), isa = words(device_.isa);
  const auto device = fb::CreateTimingDevice(b, backend, name, isa);
  fb::FinishTimingsBuffer(b, fb::CreateTimings(b, device, b.CreateVector(problems)));

  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  const std::span<const std::byte> body(reinterpret_cast<const std::byte*>(b.GetBufferPointer()), b.GetSize());
  header.digest = digest_of(header, body);
  std::vector<std::byte> bytes(sizeof(header) + body.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), body.data(), body.size());
  return bytes;
}

Result<std::unique_ptr<TimingCache>> TimingCache::deserialize(std::span<const std::byte> bytes) {
  Header header;
  if (bytes.size() < sizeof(header) + 16 || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0)
    return corrupt("these {} bytes are no timing cache", bytes.size());
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != kVersion)
    return unsupported("timing cache format {}, this build reads {}", header.version, kVersion);
  const std::span<const std::byte> body = bytes.subspan(sizeof(header));
  if (body.size() > kMaxBytes)
    return make_error(Code::kResourceExhausted, "a timing cache of {} bytes, the limit is {}", body.size(), kMaxBytes);
  const XXH128_canonical_t digest = digest_of(header, body);
  if (std::memcmp(&digest, &header.digest, sizeof(digest)) != 0)
    return corrupt("the timing cache is damaged (its digest does not match)");
  const std::vector<std::byte> aligned(body.begin(), body.end());
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(data, aligned.size(), /*max_depth=*/64,
                                 static_cast<flatbuffers::uoffset_t>(aligned.size() / 8 + 1));
  if (!fb::TimingsBufferHasIdentifier(data) || !fb::VerifyTimingsBuffer(verifier))
    return corrupt("the timing cache does not hold together");
  const fb::Timings& timings = *fb::GetTimings(data);
  DeviceDescription device;
  if (const fb::TimingDevice* d = timings.device()) {
    device.backend = text(d->backend());
    device.name = text(d->name());
    device.isa = text(d->isa());
  }
  auto cache = std::make_unique<TimingCache>(std::move(device));
  WOOTZ_RETURN_IF_ERROR(read_timings(timings, aligned.size(), cache.get()));
  return cache;
}

std::string TimingCache::to_json() const {
  using Json = OrderedJson;
  Json json = {{"device", {{"backend", device_.backend}, {"name", device_.name}, {"isa", device_.isa}}},
               {"timings", Json::array()}};
  for (const auto& [key, timing] : entries()) {
    Json entry = {
        {"problem", key.problem}, {"provider", key.provider}, {"version", key.version}, {"tactic", key.tactic},
        {"isa", key.isa},         {"threads", key.threads},   {"runs", timing.runs},    {"median_us", timing.median_us},
        {"spread", timing.spread}};
    if (timing.error >= 0) entry["error"] = timing.error;
    if (!timing.refusal.empty()) entry["refusal"] = timing.refusal;
    if (timing.pinned) entry["pinned"] = true;
    json["timings"].push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace wootz
