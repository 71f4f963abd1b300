// `wootz exec` from the engine on: inferences, their times, outputs and layers.
#include <chrono>
#include <cstdio>

#include "exec.h"
#include "layer_times.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using Clock = std::chrono::steady_clock;

// How idle threads of the engine's pool wait on the processor; of a device, the lanes see to it.
void set_spin(const Exec& e, Session& session) {
  if (!e.spin || session.on_device()) return;
  constexpr int kLong = 1000000;  // microseconds
  if (wootz_engine_set_thread_pool(&session.engine(), 0, *e.spin ? kLong : 0, nullptr, 0) != 0)
    throw Failure(std::string(*e.spin ? "--useSpinWait" : "--noSpinWait") +
                  ": the library that runs the engine does not set how its threads wait");
}

std::map<std::string, Array> read_inputs(Session& session, const Files& files, const Shapes& shapes) {
  std::map<std::string, Array> inputs;
  for (const auto& [name, path] : files) {
    if (session.engine().getTensorIOMode(name.c_str()) != nvinfer1::TensorIOMode::kINPUT)
      throw Failure("--loadInputs: the engine has no input '" + name + "'");
    inputs[name] = read_tensor(path, session.engine().getTensorDataType(name.c_str()), session.shape_of(name, shapes));
  }
  return inputs;
}

void limit_cache(Session& session, const Exec& e, Logger& logger) {
  if (e.cache_ratio == 0 || !session.on_device()) return;
  const size_t most = wootz_device_persisting_cache(&session.engine());
  const auto limit = static_cast<size_t>(e.cache_ratio * static_cast<double>(most));
  session.context().setPersistentCacheLimit(limit);
  if (session.context().getPersistentCacheLimit() != limit) fail("--persistentCacheRatio was refused", logger);
  std::printf("[I] Persistent cache: %zu of %zu bytes\n", limit, most);
}

// One inference in which what was marked is seen, before those that are timed.
void save_debug_tensors(Session& session, const Exec& e) {
  if (e.debug_tensors.empty() && e.all_debug_tensors.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, path] : e.debug_tensors) names.push_back(name);
  if (!e.all_debug_tensors.empty()) names.emplace_back("all");
  session.watch(names);
  session.run();
  write_debug_tensors(session.tapped(), e);
  session.context().setDebugListener(nullptr);
}

// Inferences of their own: as many as are timed without it, and for as long.
void profile_layers(Session& session, const Exec& e) {
  if (!e.dump_profile && e.export_profile.empty()) return;
  LayerTimes times, unused;
  session.context().setProfiler(&unused);
  unused.begin_run();
  session.run();  // what is made at first
  session.context().setProfiler(&times);
  const Clock::time_point start = Clock::now();
  int runs = 0;
  do {
    times.begin_run();
    session.run();
    ++runs;
  } while (runs < e.timing.iterations ||
           std::chrono::duration<double>(Clock::now() - start).count() < e.timing.seconds);
  session.context().setProfiler(nullptr);
  if (e.dump_profile) times.print();
  if (!e.export_profile.empty()) times.write(e.export_profile);
}

void show_outputs(const Session& session, const Exec& e) {
  if (!e.dump_output && !e.dump_raw && e.export_output.empty()) return;
  const std::map<std::string, Array> outputs = session.outputs();
  if (e.dump_output) print_outputs(outputs);
  if (!e.export_output.empty()) export_outputs(outputs, e.export_output);
  if (!e.dump_raw) return;
  write_raw(session.inputs(), "input");
  write_raw(outputs, "output");
}

// Each pair of inputs and outputs that belong together.
void check_references(Session& session, const Exec& e, const Shapes& shapes) {
  for (const auto& [number, pair] : e.references) {
    if (pair.outputs.empty()) continue;
    if (e.references.size() > 1) std::printf("[I] Reference pair %lld\n", static_cast<long long>(number));
    session.prepare(shapes, read_inputs(session, pair.inputs, shapes));
    session.run();
    compare_outputs(session.outputs(), pair, e.accuracy);
  }
}

}  // namespace

void run_inferences(std::unique_ptr<Session> first, const Exec& e, Logger& logger) {
  set_spin(e, *first);
  const Shapes shapes = parse_shapes(e.shapes, "--shapes");
  const std::map<std::string, Array> inputs = read_inputs(*first, e.load_inputs, shapes);
  std::vector<std::unique_ptr<Session>> sessions;
  sessions.push_back(std::move(first));
  while (sessions.size() < static_cast<size_t>(e.streams))
    sessions.push_back(std::make_unique<Session>(sessions[0]->loaded(), sessions[0]->options(), logger));
  std::vector<Session*> all;
  for (const auto& session : sessions) {
    session->prepare(shapes, inputs);
    limit_cache(*session, e, logger);
    all.push_back(session.get());
  }
  save_debug_tensors(*all[0], e);
  TimingOptions timing = e.timing;
  timing.sleeping_wait = e.spin == false;
  const Trace trace = trace_inferences(all, timing);
  print_trace(trace, e);
  if (!e.export_times.empty()) export_trace(trace, e.export_times);
  profile_layers(*all[0], e);
  show_outputs(*all[0], e);
  check_references(*all[0], e, shapes);
}

}  // namespace wootz_cli
