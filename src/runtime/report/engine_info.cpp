#include "runtime/report/engine_info.h"

#include <charconv>

#include "base/json.h"

namespace wootz {

namespace {

using Properties = std::map<std::string, std::string, std::less<>>;

SortedJson read_json(const Properties& properties, const char* name) {
  const auto found = properties.find(name);
  if (found == properties.end()) return {};
  return SortedJson::parse(found->second, nullptr, /*allow_exceptions=*/false);
}

int64_t end_of(const SymbolRange& range, ProfileEnd end) {
  return end == ProfileEnd::kMin ? range.min : end == ProfileEnd::kOpt ? range.opt : range.max;
}

}  // namespace

Dims dims_with_holes(const PlanTensor& tensor, const ShapeValues& shapes) {
  Dims dims;
  for (const ExpressionIndex e : tensor.dims) dims.push_back(shapes.known[e] ? shapes.values[e] : -1);
  return dims;
}

Result<std::shared_ptr<const EngineInfo>> EngineInfo::create(std::shared_ptr<EngineCore> core) {
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<EngineInfo> info, describe(std::move(core), nullptr));
  return std::shared_ptr<const EngineInfo>(info);
}

Result<std::shared_ptr<EngineInfo>> EngineInfo::describe(std::shared_ptr<EngineCore> core, const EngineInfo* whole) {
  std::shared_ptr<EngineInfo> info(new EngineInfo());
  info->core_ = std::move(core);
  if (whole != nullptr) info->whole_ = whole->core_;
  const Program& program = info->program();
  if (program.profiles.empty()) return make_error(Code::kCorrupt, "the plan has no profile");
  const auto add = [&](const std::vector<IoTensor>& list, bool is_input) {
    for (size_t i = 0; i < list.size(); ++i) {
      const PlanTensor& t = program.tensors[list[i].tensor];
      info->by_name_.emplace(t.name, info->ios_.size());
      info->ios_.push_back({t.name.c_str(), is_input, i, list[i].tensor, t.dtype, list[i].is_shape_tensor});
    }
  };
  add(program.inputs, true);
  add(program.outputs, false);
  if (info->by_name_.size() != info->ios_.size())
    return make_error(Code::kCorrupt, "two inputs or outputs of the plan have one name");
  WOOTZ_RETURN_IF_ERROR(info->add_bodies());
  info->read_properties();
  info->collect_profile_values();
  return info;
}

// The programs that profiles have of their own, and the memory of each profile.
Status EngineInfo::add_bodies() {
  const std::vector<PlanProfile>& profiles = program().profiles;
  for (size_t p = 0; p < profiles.size(); ++p) {
    // The far end of every range at once may be no shape at all; memory then grows with the shapes that come.
    Result<size_t> bytes = size_t{0};
    if (const int32_t body = profiles[p].body; body >= 0) {
      std::shared_ptr<const EngineInfo>& known = bodies_[body];
      if (known == nullptr) {
        const std::shared_ptr<EngineCore>& core = core_->bodies()[static_cast<size_t>(body)];
        WOOTZ_ASSIGN_OR_RETURN(known, describe(std::shared_ptr<EngineCore>(core_, core.get()), this));
      }
      bytes = known->memory(0);
    } else {
      bytes = core_->memory_for_profile(p);
    }
    memory_.push_back(bytes.ok() ? *bytes : 0);
    largest_memory_ = std::max(largest_memory_, memory_.back());
  }
  return Status();
}

std::shared_ptr<const EngineInfo> EngineInfo::of_profile(const std::shared_ptr<const EngineInfo>& info,
                                                         size_t profile) {
  const auto found = info->bodies_.find(info->program().profiles[profile].body);
  return found == info->bodies_.end() ? info : found->second;
}

std::vector<const EngineInfo*> EngineInfo::all() const {
  std::vector<const EngineInfo*> all{this};
  for (const auto& [number, info] : bodies_) all.push_back(info.get());
  return all;
}

Result<MemoryReport> EngineInfo::memory_report(size_t profile) const {
  const auto found = bodies_.find(program().profiles[profile].body);
  return found == bodies_.end() ? core_->memory_report(profile) : found->second->core().memory_report(0);
}

const Properties& EngineInfo::properties() const {
  return (whole_ == nullptr ? program() : whole_->program()).properties;
}

const IoInfo* EngineInfo::find(const char* name) const {
  if (name == nullptr) return nullptr;
  const auto it = by_name_.find(std::string_view(name));
  return it == by_name_.end() ? nullptr : &ios_[it->second];
}

Result<const IoInfo*> EngineInfo::get(const char* name) const {
  if (name == nullptr) return invalid_argument("the tensor name is null");
  if (const IoInfo* io = find(name)) return io;
  std::string known;
  for (const IoInfo& io : ios_) known += (known.empty() ? "" : ", ") + std::string(io.name);
  return invalid_argument("'{}' is no input or output; those are: {}", name, known);
}

int32_t EngineInfo::property_int(std::string_view name, int32_t fallback) const {
  const auto found = properties().find(name);
  if (found == properties().end()) return fallback;
  const std::string& text = found->second;
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : fallback;
}

void EngineInfo::read_properties() {
  if (const SortedJson formats = read_json(properties(), property::kFormats); formats.is_object())
    for (const auto& [name, number] : formats.items())
      if (number.is_number_integer()) formats_.emplace(name, number.get<int32_t>());
  const SortedJson names = read_json(properties(), property::kDebugTensors);
  if (!names.is_array()) return;
  for (const SortedJson& name : names) {
    if (!name.is_string()) continue;
    const IndexedVector<TensorIndex, PlanTensor>& tensors = program().tensors;
    for (const TensorIndex t : tensors.indices())
      if (tensors[t].name == name.get_ref<const std::string&>()) debug_tensors_.emplace(tensors[t].name, t);
  }
}

int32_t EngineInfo::format_number(const IoInfo& io) const {
  const auto found = formats_.find(io.name);
  return found == formats_.end() ? -1 : found->second;
}

// Values that no symbol stands for (nothing reads them) are known from the properties alone.
void EngineInfo::collect_profile_values() {
  const SortedJson stored = read_json(properties(), property::kProfileValues);
  for (const IoInfo& io : ios_) {
    if (!io.is_input || !io.shape_tensor) continue;
    const Result<Dims> shape = open_shape(io.tensor);
    const int64_t count = !shape.ok() ? -1 : shape->empty() ? 1 : (*shape)[0];
    if (count < 0 || count > limits::kMaxShapeValues) continue;
    for (size_t p = 0; p < program().profiles.size(); ++p) {
      for (int end = 0; end < 3; ++end) {
        std::vector<int64_t> values(static_cast<size_t>(count), 0);
        if (stored.is_object() && stored.contains(io.name)) {
          const SortedJson& all = stored[io.name];
          if (all.is_array() && p < all.size() && all[p].is_array() && all[p].size() == 3) {
            const SortedJson& list = all[p][static_cast<size_t>(end)];
            for (size_t i = 0; list.is_array() && i < list.size() && i < values.size(); ++i)
              if (list[i].is_number_integer()) values[i] = list[i].get<int64_t>();
          }
        }
        const IndexedVector<SymbolIndex, PlanSymbol>& symbols = program().symbols;
        for (const SymbolIndex s : symbols.indices()) {
          if (symbols[s].source != SymbolSource::kInputValue || symbols[s].tensor != io.tensor) continue;
          if (symbols[s].axis < 0 || symbols[s].axis >= count || !program().profiles[p].symbols.has(s)) continue;
          values[static_cast<size_t>(symbols[s].axis)] =
              end_of(program().profiles[p].symbols[s], static_cast<ProfileEnd>(end));
        }
        values_32_[{io.number, p, end}] = std::vector<int32_t>(values.begin(), values.end());
        values_[{io.number, p, end}] = std::move(values);
      }
    }
  }
}

std::vector<int64_t> EngineInfo::profile_symbols(size_t profile, ProfileEnd end) const {
  std::vector<int64_t> symbols;
  for (const SymbolRange& range : program().profiles[profile].symbols) symbols.push_back(end_of(range, end));
  symbols.resize(program().symbols.size(), -1);
  return symbols;
}

Result<Dims> EngineInfo::shape_under(TensorIndex tensor, const std::vector<int64_t>& symbols) const {
  ShapeValues shapes;
  WOOTZ_RETURN_IF_ERROR(evaluate_shapes(program(), symbols, &shapes));
  return dims_with_holes(program().tensors[tensor], shapes);
}

Result<Dims> EngineInfo::open_shape(TensorIndex tensor) const {
  return shape_under(tensor, std::vector<int64_t>(program().symbols.size(), -1));
}

const std::vector<int64_t>* EngineInfo::profile_values(const IoInfo& io, size_t profile, ProfileEnd end) const {
  const auto it = io.is_input ? values_.find({io.number, profile, static_cast<int>(end)}) : values_.end();
  return it == values_.end() ? nullptr : &it->second;
}

const std::vector<int32_t>* EngineInfo::profile_values_32(const IoInfo& io, size_t profile, ProfileEnd end) const {
  const auto it = io.is_input ? values_32_.find({io.number, profile, static_cast<int>(end)}) : values_32_.end();
  return it == values_32_.end() ? nullptr : &it->second;
}

size_t EngineInfo::weight_bytes() const { return constant_bytes(program()); }

}  // namespace wootz
