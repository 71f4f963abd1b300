// The backend "cpu": this machine's processor and its memory.
#pragma once

#include "backend/device.h"

namespace wootz {

const Backend& cpu_backend();

namespace cpu {

// The queue of a host stream: one thread that runs work in order. After a failure, work queued until the next
// synchronize() is dropped and synchronize() tells why.
Result<std::unique_ptr<Stream>> make_host_stream();

// Hands our pool of threads to the oneDNN that ships with us. Repeating it costs nothing. Called before oneDNN is used.
void connect_onednn_threads();

}  // namespace cpu
}  // namespace wootz
