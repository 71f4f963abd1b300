#include "backends/cuda/emulator/races.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/cuda/emulator/clocks.h"
#include "backends/cuda/emulator/fibers.h"
#include "backends/cuda/emulator/memory.h"
#include "backends/cuda/emulator/race_report.h"
#include "backends/cuda/emulator/race_state.h"
#include "backends/cuda/emulator/shadow.h"

namespace wootz::cuda {
namespace {

constexpr long kLine = 128;  // bytes, that the unit for tensors writes at once

// One access, as it is checked.
struct Request {
  const char* to;
  long bytes;
  bool writes;
  unsigned actor;
  uint32_t time;
  bool fenced;  // sees writes of others after a fence alone
  const void* instruction;
};

class Search {
 public:
  void begin_launch(RaceLaunch launch) {
    launch_ = std::move(launch);
    actors_ = Actors(launch_.block * launch_.cluster);
    shadow_.clear();
  }
  void begin_block(unsigned x, unsigned y, unsigned z) {
    ++block_number_;
    block_ = {x, y, z};
    threads_.assign(actors_.threads(), Thread{});
    for (Thread& t : threads_) t.known.own[0] = 1, t.made = !launch_.waits;
    ended_ = 0;
    groups_.clear();
    bars_.clear();
    copies_.clear();
    cluster_ = Turn{};
  }
  void event(int what, const void* p, long a, long b, const void* instruction);
  void end_thread();
  bool land();
  void hang();
  unsigned long progress() const { return progress_; }
  void mark(const void* begin, size_t bytes) { made_[reinterpret_cast<uintptr_t>(begin)] = bytes; }
  void forget(const void* begin) { made_.erase(reinterpret_cast<uintptr_t>(begin)); }
  RaceReport report;

 private:
  // The first thread, how many, and whether memory is ordered: lanes that only exchange values have a barrier of their
  // own.
  using Key = std::tuple<unsigned, unsigned, bool>;
  Thread& self() { return threads_[current_fiber()]; }
  unsigned first_of_block() const { return current_fiber() / launch_.block * launch_.block; }

  void gather(unsigned first, unsigned count, bool orders);
  bool all_there(unsigned first, unsigned count, const Turn& turn) const;
  void tick() { ++self().known.own[0]; }
  void fetch(const void* to, const void* bar, const void* from, const void* instruction);
  void send(const void* to, long bytes, const void* bar, const void* instruction);
  void arrive(const void* bar, long bytes);
  void wait(const void* bar, unsigned parity, const void* instruction);
  void complete(Bar* bar);
  void cluster_arrive();
  void cluster_wait();
  void read_or_write(const void* p, long bytes, bool writes, const void* instruction);
  void check(const Request& request);
  void check_cell(const Request& request, Cell* cell, bool device);
  bool is_before(const Access& access) const;
  void say(std::string_view what, const Request& request, const Access* other);
  void say(std::string_view what, const void* instruction, const Access* other = nullptr);
  void say_of(const Copies::OfBar& copies, std::string_view to);
  Access access_of(const Request& r) const {
    return {r.time, static_cast<uint16_t>(r.actor), static_cast<uint32_t>(place_of(r.instruction))};
  }
  long place_of(const void* instruction) const { return static_cast<const char*>(instruction) - launch_.base; }

  RaceLaunch launch_;
  Actors actors_;
  std::vector<Thread> threads_;
  std::map<Key, Turn> groups_;
  std::map<const void*, Bar> bars_;
  Copies copies_;
  Turn cluster_;
  Shadow shadow_;
  std::map<uintptr_t, size_t> made_;
  std::array<unsigned, 3> block_{};
  uint32_t block_number_ = 0;
  unsigned long progress_ = 0;
  unsigned ended_ = 0;  // threads
};

Search& search() {
  static auto* one = new Search;
  return *one;
}

void Search::say(std::string_view what, const void* instruction, const Access* other) {
  std::vector<long> places{place_of(instruction)};
  if (other != nullptr) places.push_back(other->place);
  report.add(launch_.library, places,
             fmt::format("thread {} of block ({}, {}, {}) {}", current_fiber(), block_[0], block_[1], block_[2], what));
}

void Search::say(std::string_view what, const Request& request, const Access* other) {
  constexpr const char* kBy[] = {"", "by an asynchronous copy ", "by a product ", "by the unit for tensors "};
  const unsigned kind = std::min(request.actor / actors_.threads(), 3u);
  say(fmt::format("{}{} {} bytes {}", kBy[kind], request.writes ? "writes" : "reads", request.bytes, what),
      request.instruction, other);
}

// ---- barriers

bool Search::all_there(unsigned first, unsigned count, const Turn& turn) const {
  if (turn.arrived == count || ended_ == 0) return turn.arrived == count;
  unsigned ended = 0;
  for (unsigned t = first; t < first + count; ++t) ended += threads_[t].ended;
  return turn.arrived != 0 && turn.arrived + ended >= count;
}

void Search::gather(unsigned first, unsigned count, bool orders) {
  Turn& turn = groups_[{first, count, orders}];
  const unsigned long number = turn.number;
  if (orders) {
    turn.arrive(actors_, current_fiber(), self());
    tick();
  } else {
    ++turn.arrived;
  }
  if (all_there(first, count, turn)) {
    turn.end();
    ++progress_;
  }
  while (turn.number == number) meet_fibers();
  if (orders) turn.give(&self());
}

void Search::end_thread() {
  self().ended = true;
  ++ended_;
  ++progress_;
  for (auto& [key, turn] : groups_)
    if (all_there(std::get<0>(key), std::get<1>(key), turn)) turn.end();
  if (ended_ == actors_.threads() && !copies_.empty()) say_of(copies_.take(), "a block that has ended");
}

void Search::cluster_arrive() {
  self().cluster_turn = cluster_.number;
  ++cluster_.arrived;
  if (!all_there(0, actors_.threads(), cluster_)) return;
  cluster_.end();
  ++progress_;
}

void Search::cluster_wait() {
  while (cluster_.number == self().cluster_turn) meet_fibers();
}

void Search::complete(Bar* bar) {
  if (!bar->complete()) return;
  ++progress_;
  if (const auto* const late = copies_.find(bar); late != nullptr)
    say_of(*late, "a turn of their barrier that is over");
}

void Search::arrive(const void* p, long bytes) {
  Bar& bar = bars_[p];
  bar.meeting.arrive(actors_, current_fiber(), self());
  tick();
  bar.pending += bytes;
  --bar.left;
  complete(&bar);
}

// A parity tells a turn from the one before it alone. A thread that does not know that the one before is over could
// have come by earlier, and taken the turn ahead of that for the one it waits for: a fault in any order of the threads.
void Search::wait(const void* p, unsigned parity, const void* instruction) {
  Bar& bar = bars_[p];
  while (!bar.is_over(parity)) meet_fibers();
  const unsigned t = current_fiber();
  if (self().known.of(actors_, t, bar.actor) + 1 < bar.meeting.number)
    say("waits for a turn by its parity, and nothing tells that the turn before it is over", instruction);
  if (bar.meeting.number != 0) bar.meeting.give(&self());
}

void Search::fetch(const void* to, const void* p, const void* from, const void* instruction) {
  Bar& bar = bars_[p];
  if (from != nullptr) read_or_write(from, 1, false, instruction);
  check({static_cast<const char*>(to), kLine, true, bar.actor, bar.time(), true, instruction});
  copies_.add({&bar, kLine, instruction});
}

// A barrier that another block makes is there once the cluster has met, which the order of the threads shows alone.
void Search::send(const void* to, long bytes, const void* p, const void* instruction) {
  Bar& bar = bars_[p];
  if (bar.all == 0) say("sends to a barrier that is not there", instruction);
  check({static_cast<const char*>(to), bytes, true, bar.actor, bar.time(), false, instruction});
  copies_.add({&bar, bytes, instruction});
}

void Search::say_of(const Copies::OfBar& copies, std::string_view to) {
  report.add(launch_.library, {place_of(copies.instruction)},
             fmt::format("{} bytes that block ({}, {}, {}) asked for come to {}", copies.bytes, block_[0], block_[1],
                         block_[2], to));
}

bool Search::land() {
  if (copies_.empty()) return false;
  const Copies::OfBar copies = copies_.take();
  copies.bar->pending -= copies.bytes;
  complete(copies.bar);
  return true;
}

// ---- memory

bool Search::is_before(const Access& access) const {
  const unsigned t = current_fiber();
  return access.time <= threads_[t].known.of(actors_, t, access.actor);
}

void Search::check_cell(const Request& request, Cell* cell, bool device) {
  const auto before = [&](const Access& access) { return is_before(access); };
  cell->move_on(block_number_);
  if (device && (cell->others_wrote || (request.writes && cell->others_read)))
    say(cell->others_wrote ? "that another block of the launch writes" : "that another block of the launch reads",
        request, nullptr);
  const Access& write = cell->write;
  if (write.time != 0 && !before(write)) say("that nothing orders after the write", request, &write);
  if (write.time != 0 && request.fenced && actors_.needs_fence(write.actor) && before(write)) {
    const unsigned t = current_fiber();
    if (write.time > threads_[t].fenced.of(actors_, t, write.actor))
      say("without a fence after the write", request, &write);
  }
  if (!request.writes) return cell->note_read(access_of(request), before);
  for (Access& read : cell->reads) {
    if (read.time != 0 && !before(read)) say("that nothing orders after the read", request, &read);
    read = Access{};
  }
  cell->write = access_of(request);
}

void Search::check(const Request& request) {
  const bool is_shared = static_cast<size_t>(request.to - launch_.shared) < launch_.shared_bytes;
  if (!is_shared && !is_device_memory(request.to)) return;
  shadow_.each(reinterpret_cast<uintptr_t>(request.to), static_cast<size_t>(request.bytes),
               [&](Cell& cell) { check_cell(request, &cell, !is_shared); });
}

void Search::read_or_write(const void* p, long bytes, bool writes, const void* instruction) {
  const unsigned t = current_fiber();
  Thread& own = threads_[t];
  if (!own.made) {
    const auto next = made_.upper_bound(reinterpret_cast<uintptr_t>(p));
    const bool is_made =
        next != made_.begin() && reinterpret_cast<uintptr_t>(p) - std::prev(next)->first < std::prev(next)->second;
    if (is_made || (writes && is_device_memory(p)))
      say(writes ? "writes memory before the kernel ahead has ended"
                 : "reads what the kernel ahead makes before it has ended",
          instruction);
  }
  const bool by_products = own.by_products && !writes;
  check({static_cast<const char*>(p), bytes, writes, by_products ? actors_.products(t) : actors_.thread(t),
         by_products ? own.products : own.known.own[0], by_products, instruction});
}

void Search::event(int what, const void* p, long a, long b, const void* instruction) {
  enum Event {
#define X(name) k##name,
    WOOTZ_RACE_EVENTS(X)
#undef X
  };
  const unsigned t = current_fiber();
  Thread& own = threads_[t];
  const auto address = [](long number) { return reinterpret_cast<const void*>(number); };
  const auto left = [](uint32_t now, long groups, uint32_t* done) {
    if (now > 1 + groups) *done = std::max(*done, static_cast<uint32_t>(now - 1 - groups));
  };
  switch (what) {
    case kRead: return read_or_write(p, a, false, address(b));
    case kWrite: return read_or_write(p, a, true, address(b));
    case kBlock: return gather(first_of_block(), launch_.block, true);
    case kGroup: {
      const unsigned first = first_of_block() + static_cast<unsigned>(a * b);
      if (t < first || t >= first + b) say("meets a group that it is not of", instruction);
      return gather(first, static_cast<unsigned>(b), true);
    }
    case kWarp: {
      const unsigned first = t & ~31u, end = first_of_block() + launch_.block;
      return gather(first, std::min(32u, end - first), a != 0);
    }
    case kClusterArrive: return cluster_arrive();
    case kClusterWait: return cluster_wait();
    case kCopy:
      if (b != 0) read_or_write(address(b), a, false, instruction);
      return check({static_cast<const char*>(p), a, true, actors_.copies(t), own.copies, false, instruction});
    case kCommit: ++own.copies; return;
    case kCopiesLeft: return left(own.copies, a, &own.known.own[1]);
    case kProducts: own.by_products = a != 0; return;
    case kProductsDone: ++own.products; return;
    case kProductsLeft: return left(own.products, a, &own.known.own[2]);
    case kFence: own.fenced = own.known; return;
    case kBarInit: {
      const auto number = static_cast<unsigned>(bars_.size());
      Bar& bar = bars_[p];
      bar = Bar{};
      bar.actor = actors_.barrier(number);
      bar.all = bar.left = static_cast<unsigned>(a);
      return;
    }
    case kBarArrive: return arrive(p, a);
    case kBarWait: return wait(p, static_cast<unsigned>(a), instruction);
    case kFetch: return fetch(p, address(a), address(b), instruction);
    case kSend: return send(p, a, address(b), instruction);
    case kBegin: own.made = true; return;
    default: return;
  }
}

void Search::hang() {
  const auto waiting = std::count_if(threads_.begin(), threads_.end(), [](const Thread& t) { return !t.ended; });
  report.add(launch_.library, {},
             fmt::format("{} of {} threads of block ({}, {}, {}) wait at barriers for ever", waiting, threads_.size(),
                         block_[0], block_[1], block_[2]));
}

}  // namespace

void begin_race_launch(RaceLaunch launch) { search().begin_launch(std::move(launch)); }
void begin_race_block(unsigned x, unsigned y, unsigned z) { search().begin_block(x, y, z); }
void race_event(int what, const void* p, long a, long b) { search().event(what, p, a, b, __builtin_return_address(0)); }
void end_race_thread() { search().end_thread(); }
bool land_copies() { return search().land(); }
unsigned long race_progress() { return search().progress(); }
void report_hang() { search().hang(); }
void mark_as_made(const void* begin, size_t bytes) { search().mark(begin, bytes); }
void forget_made(const void* begin) { search().forget(begin); }
std::string found_races() { return search().report.take(); }

}  // namespace wootz::cuda
