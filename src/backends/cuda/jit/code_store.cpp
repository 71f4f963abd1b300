#include "backends/cuda/jit/code_store.h"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

namespace wootz::cuda {
namespace {

struct Offered {
  std::weak_ptr<const void> owner;
  std::span<const std::byte> bytes;
};
struct Store {
  std::mutex mutex;
  std::map<std::string, std::vector<Offered>> offered;
};
Store& store() {
  static auto* all = new Store;  // outlives engines that static objects hold
  return *all;
}

std::string cache_folder() {
  if (const char* path = std::getenv("WOOTZ_CUDA_CACHE")) return path;
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return "";
  const std::string parent = std::string(home) + "/.cache";
  ::mkdir(parent.c_str(), 0700);
  return parent + "/wootz";
}

std::string path_of(const std::string& folder, const std::string& key) {
  return folder + "/" + digest_text(key) + ".code";
}

}  // namespace

std::string digest_text(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

void offer_native(const std::vector<NativeCode>& code) {
  Store& s = store();
  const std::lock_guard<std::mutex> lock(s.mutex);
  for (auto it = s.offered.begin(); it != s.offered.end();) {  // of plans that are gone
    std::erase_if(it->second, [](const Offered& o) { return o.owner.expired(); });
    it = it->second.empty() ? s.offered.erase(it) : std::next(it);
  }
  for (const NativeCode& c : code)
    if (c.owner != nullptr) s.offered[c.key].push_back({c.owner, c.bytes});
}

std::optional<std::vector<char>> find_offered(const std::string& key) {
  Store& s = store();
  const std::lock_guard<std::mutex> lock(s.mutex);
  const auto found = s.offered.find(key);
  if (found == s.offered.end()) return std::nullopt;
  for (const Offered& o : found->second) {
    const std::shared_ptr<const void> owner = o.owner.lock();
    if (owner == nullptr) continue;
    const auto* bytes = reinterpret_cast<const char*>(o.bytes.data());
    return std::vector<char>(bytes, bytes + o.bytes.size());
  }
  return std::nullopt;
}

std::optional<std::vector<char>> find_kept(const std::string& key) {
  const std::string folder = KeptCodeScope::allowed() ? cache_folder() : "";
  if (folder.empty()) return std::nullopt;
  const std::string path = path_of(folder, key);
  struct stat info {};
  // What is in it will be run: the file's owner must be this user.
  if (::stat(path.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (bytes.size() <= 64) return std::nullopt;
  return bytes;
}

void keep(const std::string& key, const std::vector<char>& code) {
  static std::atomic<unsigned> counter{0};
  const std::string folder = KeptCodeScope::allowed() ? cache_folder() : "";
  if (folder.empty()) return;
  ::mkdir(folder.c_str(), 0700);
  const std::string path = path_of(folder, key);
  const std::string part = fmt::format("{}.{}-{}", path, ::getpid(), counter.fetch_add(1));
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) return;
  const bool written = std::fwrite(code.data(), 1, code.size(), file) == code.size();
  if (std::fclose(file) != 0 || !written || std::rename(part.c_str(), path.c_str()) != 0) std::remove(part.c_str());
}

NativeCode make_native(std::string key, std::vector<char> code) {
  const auto owner = std::make_shared<const std::vector<char>>(std::move(code));
  return {std::move(key), std::as_bytes(std::span(*owner)), owner};
}

}  // namespace wootz::cuda
