// oneDNN's parallel regions on our pool of threads.
#pragma once

namespace wootz::cpu::dnn {

// Hands our pool of threads to the oneDNN that ships with us. Repeating it costs nothing. Called before oneDNN is used.
void connect_threads();

}  // namespace wootz::cpu::dnn
