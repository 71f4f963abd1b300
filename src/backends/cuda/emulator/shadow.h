// Of each byte of memory that a kernel's threads share: who wrote and read it last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace wootz::cuda {

struct Access {
  uint32_t time = 0;  // 0: none
  uint16_t actor = 0;
  uint32_t place = 0;  // of the instruction in its library
};

struct Cell {
  static constexpr int kReads = 3;                 // that are kept; others may push them out
  uint32_t block = 0;                              // whose accesses these are, by number
  bool others_read = false, others_wrote = false;  // other blocks
  Access write, reads[kReads];
  // Before an access of that block.
  void move_on(uint32_t to_block);
  // `is_before`: whether an access is ordered ahead of this one.
  template <class IsBefore>
  void note_read(const Access& access, const IsBefore& is_before) {
    int at = -1;
    for (int i = 0; i < kReads && at < 0; ++i)
      if (reads[i].time == 0 || reads[i].actor == access.actor || is_before(reads[i])) at = i;
    reads[at < 0 ? access.actor % kReads : at] = access;
  }
};

// Four bytes, of which no thread has used a part by itself; afterwards each.
struct Word {
  Cell whole;
  std::unique_ptr<std::array<Cell, 4>> bytes;
};

class Shadow {
 public:
  // visit(cell) of all that the bytes have.
  template <class Visit>
  void each(uintptr_t from, size_t bytes, const Visit& visit) {
    const uintptr_t end = from + bytes;
    while (from < end) {
      Word& word = at(from);
      const bool is_whole = from % 4 == 0 && end - from >= 4;
      if (is_whole && word.bytes == nullptr) {
        visit(word.whole);
        from += 4;
        continue;
      }
      if (word.bytes == nullptr) {
        word.bytes = std::make_unique<std::array<Cell, 4>>();
        word.bytes->fill(word.whole);
      }
      do visit((*word.bytes)[from % 4]);
      while (++from < end && from % 4 != 0);
    }
  }
  void clear() { pages_.clear(), last_ = nullptr; }

 private:
  static constexpr uintptr_t kPage = 256;  // words
  struct Page {
    Word words[kPage];
  };
  Word& at(uintptr_t address);
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages_;
  Page* last_ = nullptr;
  uintptr_t last_number_ = 0;
};

}  // namespace wootz::cuda
