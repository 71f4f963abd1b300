// How a recurrent layer is divided among threads. Directions and groups of sequences need nothing of each other; the
// units of one group do after every step, so that threads that share them (a team) meet there. That is fast where each
// has a processor of its own, and very slow where others want it: which is the case is for measurements to say.
#pragma once

#include "backend/recurrence.h"
#include "base/cpu_info.h"

namespace wootz::cpu {

struct RnnSplit {
  int team = 1;        // threads that share the units of a group
  int64_t groups = 1;  // of sequences
  int threads = 1;
  double us = 0;  // expected
};
RnnSplit split_layer(const Recurrence& r, Isa isa, int threads, bool teams);

}  // namespace wootz::cpu
