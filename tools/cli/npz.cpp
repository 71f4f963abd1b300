#include "npz.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace wootz_cli {
namespace {

// Signatures, sizes and offsets are of the ZIP format's records; numbers are little-endian.
constexpr uint32_t kEnd = 0x06054b50, kEnd64At = 0x07064b50, kEnd64 = 0x06064b50, kMember = 0x02014b50,
                   kLocal = 0x04034b50;
constexpr size_t kEndBytes = 22, kEnd64AtBytes = 20, kEnd64Bytes = 56, kMemberBytes = 46, kLocalBytes = 30;
constexpr uint64_t kMostEntryBytes = 1U << 26;  // of all records of members together
constexpr uint64_t kElsewhere = 0xffffffff;     // a size or offset that is in the extra field
constexpr uint16_t kExtra64 = 1;

class Archive {
 public:
  explicit Archive(const std::string& path) : path_(path), in_(path, std::ios::binary) {
    if (!in_) bad("cannot be opened");
    size_ = static_cast<uint64_t>(in_.seekg(0, std::ios::end).tellg());
  }

  std::map<std::string, Array> arrays() {
    std::map<std::string, Array> all;
    const std::string records = directory();
    for (size_t at = 0; at + kMemberBytes <= records.size();) {
      const Member member = read_member(records, &at);
      if (!all.emplace(member.array_name(), read_array(member)).second) bad("has '" + member.name + "' twice");
    }
    if (all.empty()) bad("holds no array");
    return all;
  }

 private:
  struct Member {
    std::string name;
    uint16_t method = 0;
    uint64_t packed = 0, bytes = 0, at = 0;
    std::string array_name() const {
      const bool npy = name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0;
      return npy ? name.substr(0, name.size() - 4) : name;
    }
  };

  [[noreturn]] void bad(const std::string& why) const { throw std::runtime_error(path_ + ": " + why); }

  template <typename T>
  T number(const std::string& bytes, size_t at) const {
    if (at + sizeof(T) > bytes.size()) bad("has a record that ends early");
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
  }

  std::string bytes_at(uint64_t at, uint64_t count) {
    if (at > size_ || count > size_ - at) bad("ends early: it is no whole .npz file");
    std::string bytes(count, '\0');
    in_.seekg(static_cast<std::streamoff>(at));
    if (!in_.read(bytes.data(), static_cast<std::streamsize>(count))) bad("cannot be read");
    return bytes;
  }

  // The records of the members, which the last one of the file tells the place of.
  std::string directory() {
    constexpr uint64_t kLongest = kEndBytes + 0xffff;
    const uint64_t from = size_ - std::min(size_, kLongest);
    const std::string tail = bytes_at(from, size_ - from);
    const size_t end = tail.rfind(std::string_view("PK\x05\x06", 4));
    if (end == std::string::npos) bad("is not a .npz file");
    uint64_t bytes = number<uint32_t>(tail, end + 12), at = number<uint32_t>(tail, end + 16);
    if (bytes == kElsewhere || at == kElsewhere || number<uint16_t>(tail, end + 10) == 0xffff) {
      if (end < kEnd64AtBytes || number<uint32_t>(tail, end - kEnd64AtBytes) != kEnd64At)
        bad("has no whole end record");
      const std::string wide = bytes_at(number<uint64_t>(tail, end - kEnd64AtBytes + 8), kEnd64Bytes);
      if (number<uint32_t>(wide, 0) != kEnd64) bad("has no whole end record");
      bytes = number<uint64_t>(wide, 40), at = number<uint64_t>(wide, 48);
    }
    if (bytes > kMostEntryBytes) bad("has too many members");
    return bytes_at(at, bytes);
  }

  Member read_member(const std::string& records, size_t* at) const {
    const size_t start = *at;
    if (number<uint32_t>(records, start) != kMember) bad("has a member's record of another form");
    Member member;
    member.method = number<uint16_t>(records, start + 10);
    member.packed = number<uint32_t>(records, start + 20);
    member.bytes = number<uint32_t>(records, start + 24);
    member.at = number<uint32_t>(records, start + 42);
    const size_t name = number<uint16_t>(records, start + 28), extra = number<uint16_t>(records, start + 30);
    *at = start + kMemberBytes + name + extra + number<uint16_t>(records, start + 32);
    if (*at > records.size()) bad("has a record that ends early");
    member.name = records.substr(start + kMemberBytes, name);
    widen(records.substr(start + kMemberBytes + name, extra), &member);
    return member;
  }

  // Those that are too large for their fields follow each other in an extra field.
  void widen(const std::string& extra, Member* member) const {
    for (size_t at = 0; at + 4 <= extra.size(); at += 4 + number<uint16_t>(extra, at + 2)) {
      if (number<uint16_t>(extra, at) != kExtra64) continue;
      size_t next = at + 4;
      for (uint64_t* each : {&member->bytes, &member->packed, &member->at}) {
        if (*each != kElsewhere) continue;
        *each = number<uint64_t>(extra, next);
        next += 8;
      }
      return;
    }
  }

  Array read_array(const Member& member) {
    const std::string what = path_ + ": '" + member.name + "'";
    if (member.method != 0)
      throw std::runtime_error(what + " is compressed: write it with numpy.savez in place of savez_compressed");
    if (member.packed != member.bytes) throw std::runtime_error(what + " has two sizes");
    const std::string local = bytes_at(member.at, kLocalBytes);
    if (number<uint32_t>(local, 0) != kLocal) throw std::runtime_error(what + " is not where the archive says");
    const uint64_t from = member.at + kLocalBytes + number<uint16_t>(local, 26) + number<uint16_t>(local, 28);
    if (from > size_ || member.bytes > size_ - from) throw std::runtime_error(what + " ends early");
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(from));
    return read_npy(in_, static_cast<int64_t>(from + member.bytes), what);
  }

  std::string path_;
  std::ifstream in_;
  uint64_t size_ = 0;
};

}  // namespace

std::map<std::string, Array> read_npz(const std::string& path) { return Archive(path).arrays(); }

}  // namespace wootz_cli
