// A search for races in kernels on the emulator, by what happens before what: vector clocks of threads, and of what the
// hardware does for them on the side (asynchronous copies, products of wgmma, the unit for tensors), joined where
// barriers order them; and of each byte of shared and device memory who wrote and read it last. Accesses that nothing
// orders are a race in any order of the threads, so one order finds it, and so it does a wait for a turn of a barrier
// by its parity which nothing orders after the turn before. (Flanagan and Freund, "FastTrack: efficient and precise
// dynamic race detection", 2009.) What a wrong parity lets by depends on the order: threads take theirs at random, and
// copies by the unit for tensors arrive when no thread goes on without them, not always the oldest first. Kernels are
// compiled with -fsanitize=thread, whose calls come here.
#pragma once

#include <cstddef>
#include <string>

namespace wootz::cuda {

// What a kernel tells; kept in step with the enumeration that race_head() gives to kernels.
#define WOOTZ_RACE_EVENTS(X)                                                                                 \
  X(Read)          /* a bytes at p, by the instruction at b */                                               \
  X(Write)         /* the same */                                                                            \
  X(Block)         /* the barrier of a block */                                                              \
  X(Group)         /* of b threads, of which a - 1 such groups lie ahead in the block */                     \
  X(Warp)          /* a warp's lanes meet; a: memory is ordered, too */                                      \
  X(ClusterArrive) /* the barrier of a cluster, which orders nothing but that barriers are there */          \
  X(ClusterWait)                                                                                             \
  X(Copy)         /* a bytes to p are on their way, from b, 0: zeros */                                      \
  X(Commit)       /* copies until here are a group */                                                        \
  X(CopiesLeft)   /* all groups but the last a are there */                                                  \
  X(Products)     /* a: what is read from here on is read by products on their way; 0: no more */            \
  X(ProductsDone) /* products until here are a group */                                                      \
  X(ProductsLeft) /* all groups but the last a are done */                                                   \
  X(Fence)        /* what was written is there for products and the unit for tensors */                      \
  X(BarInit)      /* the barrier p in shared memory, of a arrivals */                                        \
  X(BarArrive)    /* and a bytes to come */                                                                  \
  X(BarWait)      /* until the turn of parity a is over */                                                   \
  X(Fetch)        /* 128 bytes to p, which barrier a waits for, from b on */                                 \
  X(Send)         /* a bytes to p, in another block of the cluster or this, which its barrier b waits for */ \
  X(Begin)        /* what the kernel ahead made is there */

struct RaceLaunch {
  const char* shared = nullptr;  // the kernels' static memory, their shared memory among it
  size_t shared_bytes = 0;
  unsigned block = 0, cluster = 1;  // threads, blocks
  bool waits = false;               // by itself for the kernel ahead
  std::string library;              // what it was compiled to, of which `base` is the address
  const char* base = nullptr;
};
// Of the kernel that runs next; then of each block, or cluster, of it.
void begin_race_launch(RaceLaunch launch);
void begin_race_block(unsigned x, unsigned y, unsigned z);
// What kernels call; `what` is of the list above.
void race_event(int what, const void* p, long a, long b);
// A thread has ended: barriers do not wait for it.
void end_race_thread();
// Goes up as long as threads go on; what they wait for where they do not.
unsigned long race_progress();
void report_hang();
// Where no thread goes on, copies by the unit for tensors arrive. False: none are on their way.
bool land_copies();

// What a kernel ahead is to have made, so that reading it before the wait for that kernel is a fault.
void mark_as_made(const void* begin, size_t bytes);
void forget_made(const void* begin);

// Races found since the last call, one a line. Empty: none.
std::string found_races();

}  // namespace wootz::cuda
