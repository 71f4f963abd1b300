#include "base/library_folders.h"

#include <algorithm>
#include <mutex>

namespace wootz {
namespace {

struct Folders {
  std::mutex mutex;
  std::vector<std::string> list;
};

Folders& folders() {
  static Folders* const all = new Folders;  // outlives the libraries
  return *all;
}

}  // namespace

void add_library_folder(const std::string& folder) {
  const std::lock_guard<std::mutex> lock(folders().mutex);
  std::vector<std::string>& list = folders().list;
  if (std::find(list.begin(), list.end(), folder) == list.end()) list.push_back(folder);
}

std::vector<std::string> added_library_folders() {
  const std::lock_guard<std::mutex> lock(folders().mutex);
  return folders().list;
}

}  // namespace wootz
