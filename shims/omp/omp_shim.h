// libwootz_omp.so.1 stands where oneDNN's GNU OpenMP build expects libgomp, under names of its own (wootz_...), so that
// oneDNN's parallel regions run on our pool and an application's OpenMP is never touched. The build renames the
// symbols that a private copy of libdnnl.so.3 imports (cmake/onednn.cmake).
//
// Until set_pool is called, and in a process without it, every region runs on its caller alone.
#pragma once

extern "C" {

struct wootz_omp_pool {
  // Lets n-1 threads run f(context, index, n), index 1..; returns the real n. The caller does index 0, then finish(n).
  int (*start)(int n, void (*f)(void* context, int index, int n), void* context);
  void (*finish)(int n);
  int (*max_threads)();
};

// `pool` must stay valid for the life of the process. Call before the first use of oneDNN. Null: regions run serially.
__attribute__((visibility("default"))) void wootz_omp_set_pool(const struct wootz_omp_pool* pool);

}  // extern "C"
