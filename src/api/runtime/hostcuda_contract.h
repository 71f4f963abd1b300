/* What libwootz_hostcuda (shims/hostcuda) offers to the runtime beyond CUDA's functions: the symbol wootz_hostcuda_v2,
 * a constant of this type, looked up at run time. Nothing links against it, and neither library needs the other.
 * Streams are CUDA's handles, null is the default stream; functions answer a CUDA error, 0 for none. */
#pragma once

#include <stddef.h>

typedef struct {
  /* Does the work: each time that the stream, or a graph that it was captured into, gets there. Not 0: it failed, of
   * which the next one to wait for the stream gets cudaErrorLaunchFailure, once. */
  int (*run)(void* data);
  /* Ends it: once, after the last run, or without any. */
  void (*release)(void* data);
  void* data;
} wootz_hostcuda_work;

typedef struct {
  size_t size; /* of this table, with what later versions append */
  /* Puts work into a stream, after what is there. On an error `release` is not called; one of them is that the stream
   * is being captured. Work may call CUDA's functions: what it puts on its own stream is done at once. */
  int (*enqueue)(void* stream, const wootz_hostcuda_work* work);
  /* 1: the stream is being captured. */
  int (*capturing)(void* stream);
  /* Makes work a node of the graph that a stream is captured into. On an error `release` is not called. */
  int (*capture)(void* stream, const wootz_hostcuda_work* work);
  /* cudaStreamSynchronize. */
  int (*synchronize)(void* stream);
} wootz_hostcuda_table;
