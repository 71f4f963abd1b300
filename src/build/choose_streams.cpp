#include "build/choose_streams.h"

#include <algorithm>
#include <chrono>

#include "backend/collective.h"
#include "plan/digest.h"
#include "runtime/create_engine.h"
#include "runtime/executor.h"
#include "runtime/liveness.h"
#include "tuner/measure/random_data.h"
#include "tuner/measure/run_timer.h"

namespace wootz {
namespace {

constexpr int kUsualAux = 3;
constexpr int kRounds = 21;

// What every timing of the same network has in common: its steps, without their streams.
std::string network_key(const Program& program, const StepNeeds& needs) {
  std::string text;
  for (const StepIndex s : program.steps.indices()) {
    text += problem_key(program.steps[s].problem) + program.steps[s].tactic.to_string() + ':';
    for (const StepIndex need : needs[s]) text += fmt::format("{},", need);
    text += '\n';
  }
  const Digest digest = plain_digest(std::as_bytes(std::span(text)));
  std::string key = "streams of network ";
  for (const std::byte b : digest) key += fmt::format("{:02x}", static_cast<unsigned>(b));
  return key;
}

// "0x12 1x2 0x3": how many steps in a row are on which stream.
std::string to_text(const StepStreams& streams) {
  std::string text;
  for (StepIndex s(0); streams.has(s);) {
    StepIndex end = s;
    while (streams.has(end) && streams[end] == streams[s]) ++end;
    text += fmt::format("{}{}x{}", text.empty() ? "" : " ", streams[s], end.position() - s.position());
    s = end;
  }
  return text;
}

// An executor and what it runs with.
struct BoundExecutor {
  explicit BoundExecutor(const std::shared_ptr<const EngineCore>& engine) : bindings(engine), executor(engine) {}
  Bindings bindings;
  Executor executor;
};

// A network with random inputs in memory of its own, run by whatever engine of it.
class Bench {
 public:
  explicit Bench(Device& device) : device_(device) {}
  ~Bench() {
    for (void* memory : memory_) device_.free(memory);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Status prepare(const Program& program, const ShapeValues& shapes) {
    WOOTZ_ASSIGN_OR_RETURN(stream_, device_.create_stream());
    uint64_t seed = 1;
    for (const IoTensor& io : program.inputs) {
      const PlanTensor& tensor = program.tensors[io.tensor];
      WOOTZ_ASSIGN_OR_RETURN(const HostTensor values,
                             random_tensor(tensor.dtype, *tensor_dims(tensor, shapes), seed++));
      WOOTZ_ASSIGN_OR_RETURN(void* const memory, room(values.bytes()));
      WOOTZ_RETURN_IF_ERROR(device_.copy(memory, values.data(), values.bytes(), nullptr));
      dims_.push_back(values.dims());
      inputs_.push_back(memory);
    }
    for (const IoTensor& io : program.outputs) {
      const PlanTensor& tensor = program.tensors[io.tensor];
      bytes_.push_back(tensor_bytes(tensor, *tensor_dims(tensor, shapes)));
      WOOTZ_ASSIGN_OR_RETURN(void* const memory, room(bytes_.back()));
      outputs_.push_back(memory);
    }
    return Status();
  }
  Result<std::unique_ptr<BoundExecutor>> executor(std::shared_ptr<const EngineCore> engine) {
    auto executor = std::make_unique<BoundExecutor>(std::move(engine));
    Bindings& bindings = executor->bindings;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      WOOTZ_RETURN_IF_ERROR(bindings.set_input_dims(i, dims_[i]));
      bindings.set_input_address(i, inputs_[i]);
    }
    for (size_t o = 0; o < outputs_.size(); ++o) bindings.set_output_address(o, outputs_[o]);
    return executor;
  }
  Result<double> batch_us(BoundExecutor& executor, int times) {
    using Clock = std::chrono::steady_clock;
    WOOTZ_RETURN_IF_ERROR(stream_->synchronize());
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < times; ++i) WOOTZ_RETURN_IF_ERROR(executor.executor.run(executor.bindings, stream_.get()));
    WOOTZ_RETURN_IF_ERROR(stream_->synchronize());
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / times;
  }
  // The bytes of all outputs after one run.
  Result<std::vector<std::byte>> results(BoundExecutor& executor) {
    WOOTZ_RETURN_IF_ERROR(batch_us(executor, 1).status());
    std::vector<std::byte> all;
    for (size_t o = 0; o < outputs_.size(); ++o) {
      const size_t at = all.size();
      all.resize(at + bytes_[o]);
      if (bytes_[o] != 0) WOOTZ_RETURN_IF_ERROR(device_.copy(all.data() + at, outputs_[o], bytes_[o], nullptr));
    }
    return all;
  }

 private:
  Result<void*> room(size_t bytes) {
    WOOTZ_ASSIGN_OR_RETURN(void* const memory, device_.allocate(bytes, 256));
    memory_.push_back(memory);
    return memory;
  }

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::vector<void*> memory_, inputs_, outputs_;
  std::vector<Dims> dims_;
  std::vector<size_t> bytes_;
};

struct StreamAssignment {
  StepStreams streams;
  std::string text;
  double us = -1;  // of an inference; below 0: not known
};

// Times every assignment, in turns. The first is one stream; one that computes other bits is dropped, with a warning.
Status measure(const std::shared_ptr<Program>& program, const ShapeValues& shapes, const StreamOptions& options,
               std::vector<StreamAssignment>* assignments) {
  EngineOptions engine_options;
  engine_options.threads = options.kernels->limits().threads;
  WOOTZ_ASSIGN_OR_RETURN(
      const std::shared_ptr<EngineCore> engine,
      create_engine(program, options.device, options.kernels->providers(), engine_options, options.kernels));
  Bench bench(*options.device);
  WOOTZ_RETURN_IF_ERROR(bench.prepare(*program, shapes));
  std::vector<std::unique_ptr<BoundExecutor>> executors;
  std::vector<std::byte> want;
  for (StreamAssignment& assignment : *assignments) {
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<BoundExecutor> executor,
                           bench.executor(EngineCore::with_streams(engine, assignment.streams)));
    WOOTZ_ASSIGN_OR_RETURN(std::vector<std::byte> have, bench.results(*executor));
    if (executors.empty()) want = have;
    if (have != want) {
      options.log->warning(
          fmt::format("auxiliary streams ({}) gave other results than one stream: not used", assignment.text));
      assignment.streams.clear();
    }
    executors.push_back(std::move(executor));
  }
  constexpr double kBatchUs = 3000;
  WOOTZ_ASSIGN_OR_RETURN(const double once, bench.batch_us(*executors[0], 3));
  const int times = std::clamp(static_cast<int>(kBatchUs / std::max(once, 1.0)), 1, 200);
  std::vector<std::vector<double>> us(assignments->size());
  for (int round = 0; round < kRounds; ++round)
    for (size_t w = 0; w < assignments->size(); ++w) {
      if ((*assignments)[w].streams.empty()) continue;
      WOOTZ_ASSIGN_OR_RETURN(const double took, bench.batch_us(*executors[w], times));
      us[w].push_back(took);
    }
  for (size_t w = 0; w < assignments->size(); ++w) {
    std::sort(us[w].begin(), us[w].end());
    if (!us[w].empty()) (*assignments)[w].us = quantile(us[w], 0.5);
  }
  return Status();
}

TimingKey key_of(const std::string& network, const StreamAssignment& assignment, const StreamOptions& options) {
  return {network, "wootz", "1", assignment.text, options.isa, std::max(1, options.kernels->limits().threads)};
}

bool recall(const std::string& network, const StreamOptions& options, std::vector<StreamAssignment>* assignments) {
  if (options.cache == nullptr) return false;
  for (StreamAssignment& assignment : *assignments) {
    const std::optional<Timing> timing = options.cache->query(key_of(network, assignment, options));
    if (!timing) return false;
    if (timing->refusal.empty())
      assignment.us = timing->median_us;
    else
      assignment.streams.clear();
  }
  return true;
}

Status remember(const std::string& network, const StreamOptions& options,
                const std::vector<StreamAssignment>& assignments) {
  if (options.cache == nullptr) return Status();
  for (const StreamAssignment& assignment : assignments) {
    Timing timing;
    timing.median_us = std::max(assignment.us, 0.0);
    timing.runs = kRounds;
    if (assignment.streams.empty()) timing.refusal = "other results than one stream";
    WOOTZ_RETURN_IF_ERROR(options.cache->update(key_of(network, assignment, options), timing));
  }
  return Status();
}

// Extents at the optimum of the first profile. False: not all are known before the run, the host decides some, or other
// devices take part: all ranks put what they compute together on one stream, in one order.
bool extents_known(const Program& program, ShapeValues* shapes) {
  if (program.profiles.empty()) return false;
  std::vector<int64_t> symbols;
  for (const SymbolRange& range : program.profiles[0].symbols) symbols.push_back(range.opt);
  if (!evaluate_shapes(program, symbols, shapes).ok()) return false;
  if (std::any_of(program.inputs.begin(), program.inputs.end(), [](const IoTensor& io) { return io.is_shape_tensor; }))
    return false;
  if (std::any_of(program.steps.begin(), program.steps.end(),
                  [](const Step& step) { return step.tactic.provider == "host" || spans_devices(step.problem); }))
    return false;
  return std::all_of(program.tensors.begin(), program.tensors.end(),
                     [&](const PlanTensor& tensor) { return tensor_dims(tensor, *shapes).has_value(); });
}

// One stream, unless another assignment is faster by more than a measurement errs.
size_t fastest(const std::vector<StreamAssignment>& assignments, const Log& log) {
  constexpr double kWorth = 0.995;  // of the time on one stream
  size_t best = 0;
  for (size_t w = 1; w < assignments.size(); ++w)
    if (!assignments[w].streams.empty() && assignments[w].us < assignments[best].us &&
        assignments[w].us < kWorth * assignments[0].us)
      best = w;
  for (const StreamAssignment& assignment : assignments)
    if (!assignment.streams.empty())
      log.verbose(fmt::format("streams {}: {:.1f} us an inference{}", assignment.text, assignment.us,
                              &assignment == &assignments[best] ? ", chosen" : ""));
  return best;
}

// Where nothing is measured: streams by the steps' estimates, if much of the time goes away by these; else one.
StepStreams estimated_streams(const StepNeeds& needs, const StreamOptions& options, size_t most) {
  constexpr double kWorth = 0.87;  // of the time on one stream
  double all = 0, done = 0;
  for (const double us : options.us) all += us;
  StepStreams streams = propose_streams(needs, options.us, most, StreamCosts{3, 4}, &done);
  const bool worth = done < kWorth * all;
  options.log->verbose(fmt::format("streams {}: {:.1f} us of {:.1f} by estimates, not measured{}", to_text(streams),
                                   done, all, worth ? ", chosen" : ""));
  if (!worth) streams.assign(needs.size(), 0);
  return streams;
}

}  // namespace

StepStreams propose_streams(const StepNeeds& needs, const IndexedVector<StepIndex, double>& us, size_t most,
                            const StreamCosts& costs, double* done_us) {
  StepStreams stream(needs.size(), 0);
  IndexedVector<StepIndex, double> end(needs.size(), 0);
  std::vector<double> free(most, 0);
  for (const StepIndex s : needs.indices()) {
    uint8_t home = 0;
    double last = -1;
    for (const StepIndex need : needs[s]) {
      if (end[need] > last) home = stream[need];
      last = std::max(last, end[need]);
    }
    const auto begin = [&](size_t k) {
      double at = free[k];
      for (const StepIndex need : needs[s]) at = std::max(at, end[need] + (stream[need] == k ? 0 : costs.wait_us));
      return k != 0 && at == 0 ? costs.wait_us : at;  // it waits for the beginning
    };
    size_t best = home;
    for (size_t k = 0; k < most; ++k)
      if (begin(k) < begin(best)) best = k;
    if (begin(home) - begin(best) < costs.gain_us) best = home;
    stream[s] = static_cast<uint8_t>(best);
    end[s] = begin(best) + us[s];
    free[best] = end[s];
  }
  if (done_us != nullptr) *done_us = *std::max_element(free.begin(), free.end());
  return stream;
}

Status choose_streams(const std::shared_ptr<Program>& program, const StreamOptions& options) {
  ShapeValues shapes;
  if (options.most == 0 || program->steps.size() < 3 || !extents_known(*program, &shapes)) return Status();
  IndexedVector<TensorIndex, Dims> dims;
  for (const PlanTensor& tensor : program->tensors) dims.push_back(*tensor_dims(tensor, shapes));
  WOOTZ_ASSIGN_OR_RETURN(
      const Storage storage,
      find_storage(*program, shapes, dims, IndexedVector<TensorIndex, uint8_t>(dims.size(), 1), true));
  const StepNeeds needs = step_needs(*program, storage);
  const int aux = std::min<int>(options.most < 0 ? kUsualAux : options.most, kMostStreams - 1);
  std::vector<StreamAssignment> assignments = {{StepStreams(program->steps.size(), 0), "", -1}};
  for (const StreamCosts& costs : {StreamCosts{}, StreamCosts{3, 4}, StreamCosts{5, 10}}) {
    for (const int most : {aux, 1}) {
      StepStreams streams = propose_streams(needs, options.us, static_cast<size_t>(most) + 1, costs);
      const bool known = std::any_of(assignments.begin(), assignments.end(),
                                     [&](const StreamAssignment& w) { return w.streams == streams; });
      if (!known) assignments.push_back({std::move(streams), "", -1});
    }
  }
  if (assignments.size() == 1) return Status();  // no two steps can run concurrently
  for (StreamAssignment& assignment : assignments) assignment.text = to_text(assignment.streams);
  size_t best = 0;
  const std::string network = options.measure ? network_key(*program, needs) : std::string();
  const bool known = options.measure && recall(network, options, &assignments);
  if (!known && (!options.measure || options.device == nullptr)) {
    if (options.most < 0) assignments[0].streams = estimated_streams(needs, options, static_cast<size_t>(aux) + 1);
    best = options.most < 0 ? 0 : 1;
  } else {
    if (!known) {
      if (options.before) WOOTZ_RETURN_IF_ERROR(options.before());
      if (const Status measured = measure(program, shapes, options, &assignments); !measured.ok()) {
        options.log->verbose("auxiliary streams could not be measured: " + measured.to_string());
        return Status();
      }
      WOOTZ_RETURN_IF_ERROR(remember(network, options, assignments));
    }
    best = fastest(assignments, *options.log);
  }
  for (const StepIndex s : program->steps.indices()) program->steps[s].stream = assignments[best].streams[s];
  return Status();
}

}  // namespace wootz
