#include "files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace wootz_cli {

bool is_special(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

void write_file(const std::string& path, const void* data, size_t size) {
  // What is no file (/dev/full, a pipe) is written to; a file is replaced as a whole, also where a link points to it.
  const bool special = is_special(path);
  std::error_code unresolved;
  std::string target = path;
  if (!special)
    if (const auto real = std::filesystem::weakly_canonical(path, unresolved); !unresolved) target = real.string();
  const std::string temporary = special ? path : target + ".part" + std::to_string(getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) throw Failure(path + ": cannot be written: " + std::strerror(errno));
  bool written = std::fwrite(data, 1, size, file) == size && std::fflush(file) == 0;
  written = written && (special || fsync(fileno(file)) == 0);
  const int reason = errno;
  if (std::fclose(file) != 0 || !written || (!special && std::rename(temporary.c_str(), target.c_str()) != 0)) {
    const int why = written ? errno : reason;
    if (!special) std::remove(temporary.c_str());
    throw Failure(path + ": cannot be written: " + std::strerror(why));
  }
}

std::vector<char> read_file(const std::string& path) {
  if (is_special(path)) throw Failure(path + ": is not a regular file");
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) throw Failure(path + ": cannot be opened: " + std::strerror(errno));
  const std::streamoff size = in.tellg();
  if (size < 0) throw Failure(path + ": is not a regular file");
  std::vector<char> bytes(static_cast<size_t>(size));
  in.seekg(0);
  if (!in.read(bytes.data(), size)) throw Failure(path + ": cannot be read");
  return bytes;
}

}  // namespace wootz_cli
