#include "tuner/measure/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <utility>

namespace wootz {
namespace {

constexpr auto kAskEvery = std::chrono::milliseconds(20);

// Never through a link that another user has put there, and never a device or a pipe. A file of another user's need not
// be written to be locked.
int open_file(const std::string& path) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int file = ::open(path.c_str(), O_RDONLY | kFlags);
  if (file < 0) file = ::open(path.c_str(), O_RDONLY | O_CREAT | kFlags, 0644);
  struct stat info {};
  if (file >= 0 && (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode))) {
    ::close(file);
    return -1;
  }
  return file;
}

}  // namespace

// Not the folder of a variable: all processes of a machine must mean the same.
std::string DeviceLock::path(const std::string& name) { return "/tmp/wootz-" + name + ".lock"; }

DeviceLock::~DeviceLock() {
  if (file_ >= 0) ::close(file_);  // and with it the lock
}

DeviceLock::DeviceLock(DeviceLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

DeviceLock& DeviceLock::operator=(DeviceLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

DeviceLock DeviceLock::take(const std::string& name, FunctionRef<void(News)> tell, FunctionRef<bool()> go_on,
                            std::chrono::milliseconds longest) {
  if (name.empty()) return {};
  DeviceLock lock(open_file(path(name)));
  if (!lock.held()) return {};
  const auto begin = std::chrono::steady_clock::now();
  for (bool said = false; ::flock(lock.file_, LOCK_EX | LOCK_NB) != 0; said = true) {
    if (errno != EWOULDBLOCK && errno != EINTR) return {};  // a file system without locks
    if (!said) tell(News::kWaits);
    if (!go_on()) return {};
    if (std::chrono::steady_clock::now() - begin > longest) {
      tell(News::kGivesUp);
      return {};
    }
    std::this_thread::sleep_for(kAskEvery);
  }
  return lock;
}

}  // namespace wootz
