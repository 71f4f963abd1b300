// oneDNN takes memory from the heap in each execution: maps of its arguments, and in some products memory for packed
// operands, which large enough goes to the system and back every time. A run of a shape seen before is to take nothing,
// so the build hands oneDNN allocation functions of its own (renames.txt): inside a scope, blocks of up to 32 MiB come
// from lists that the thread keeps; outside it, and beyond that, from the ordinary heap.
//
// A block may be given back by any thread, inside a scope or not. Blocks never reach anyone but oneDNN.
#pragma once

extern "C" {
// From begin to end, on the calling thread; may be nested.
__attribute__((visibility("default"))) void wootz_block_cache_begin();
__attribute__((visibility("default"))) void wootz_block_cache_end();
// Is the calling thread inside? Parallel regions carry it over to their workers.
bool wootz_block_cache_active();
}
