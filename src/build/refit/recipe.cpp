#include "build/refit/recipe.h"

#include <charconv>
#include <unordered_map>

#include "base/json.h"
#include "base/limits.h"
#include "build/refit/constants.h"
#include "ir/text.h"
#include "ops/registry.h"

namespace wootz {
namespace {

constexpr const char* kPlugins = "plugins";  // among the settings

RefitConstant constant_of(const HostTensor& tensor) {
  auto owner = std::make_shared<const HostTensor>(tensor);
  return {tensor.dtype(), tensor.dims(), tensor.bytes(), owner, owner->data()};
}

std::vector<int64_t> list_of(const Dims& dims) { return {dims.begin(), dims.end()}; }

SortedJson profile_json(const BuildProfile& profile) {
  SortedJson json{{"dims", SortedJson::object()}, {"values", SortedJson::object()}};
  for (const auto& [name, r] : profile.dims) json["dims"][name] = {list_of(r.min), list_of(r.opt), list_of(r.max)};
  for (const auto& [name, r] : profile.values) json["values"][name] = {r.min, r.opt, r.max};
  return json;
}

BuildProfile profile_from(const SortedJson& json) {
  const auto dims = [](const SortedJson& list) {
    Dims made;
    for (const int64_t d : list.get<std::vector<int64_t>>()) made.push_back(d);
    return made;
  };
  BuildProfile profile;
  for (const auto& [name, r] : json.at("dims").items())
    profile.dims[name] = {dims(r.at(0)), dims(r.at(1)), dims(r.at(2))};
  for (const auto& [name, r] : json.at("values").items())
    profile.values[name] = {r.at(0).get<std::vector<int64_t>>(), r.at(1).get<std::vector<int64_t>>(),
                            r.at(2).get<std::vector<int64_t>>()};
  return profile;
}

SortedJson layer_types_json(const std::vector<AskedType>& types) {
  SortedJson json = SortedJson::array();
  for (const AskedType& type : types) json.push_back({type.layer, type.origins, dtype_name(type.type)});
  return json;
}

std::vector<AskedType> layer_types_from(const SortedJson& json) {
  std::vector<AskedType> types;
  for (const SortedJson& entry : json) {
    AskedType type{entry.at(0).get<std::string>(), entry.at(1).get<std::vector<std::string>>(), DType::kInvalid};
    type.type = dtype_from_name(entry.at(2).get<std::string>());
    types.push_back(std::move(type));
  }
  return types;
}

SortedJson border_json(const std::vector<BorderWish>& wishes) {
  SortedJson json = SortedJson::array();
  for (const BorderWish& wish : wishes) {
    SortedJson layouts = SortedJson::array();
    for (const Layout layout : wish.allowed) layouts.push_back(layout_name(layout));
    json.push_back({wish.tensor, layouts});
  }
  return json;
}

std::vector<BorderWish> border_from(const SortedJson& json) {
  std::vector<BorderWish> wishes;
  for (const SortedJson& entry : json) {
    BorderWish wish{entry.at(0).get<std::string>(), {}, false};
    for (const SortedJson& name : entry.at(1))
      if (Layout layout; layout_from_name(name.get<std::string>(), &layout)) wish.allowed.push_back(layout);
    wishes.push_back(std::move(wish));
  }
  return wishes;
}

// All that passes, lowering and kernels go by; what is about choosing is settled by the choices.
std::string settings_json(const BuildSettings& s) {
  SortedJson json{{"backend", s.backend},
                  {"threads", s.threads},
                  {"workspace", s.workspace},
                  {"isa", s.isa_cap},
                  {"unordered", s.allow_unordered},
                  {"tf32", s.tf32},
                  {"fp16", s.fp16},
                  {"bf16", s.bf16},
                  {"int8", s.int8},
                  {"scales", s.scales},
                  {"host_steps", s.host_steps},
                  {"border", border_json(s.border)},
                  {"left_out", s.left_out},
                  {"layer_types", layer_types_json(s.layer_types)},
                  {"disabled_passes", s.disabled_passes},
                  {"debug_tensors", s.debug_tensors},
                  {"tuned_profiles", why_one_program(s) == nullptr},
                  {"profiles", SortedJson::array()}};
  for (const BuildProfile& profile : s.profiles) json["profiles"].push_back(profile_json(profile));
  if (s.sparse_weights) json["sparse_weights"] = true;
  return json.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
}

BuildSettings settings_from(const SortedJson& json) {
  BuildSettings s;
  json.at("backend").get_to(s.backend);
  json.at("threads").get_to(s.threads);
  json.at("workspace").get_to(s.workspace);
  json.at("isa").get_to(s.isa_cap);
  json.at("unordered").get_to(s.allow_unordered);
  json.at("tf32").get_to(s.tf32);
  json.at("fp16").get_to(s.fp16);
  json.at("bf16").get_to(s.bf16);
  json.at("host_steps").get_to(s.host_steps);
  s.int8 = json.value("int8", false);
  s.sparse_weights = json.value("sparse_weights", false);
  if (json.contains("scales"))
    for (const auto& [name, scale] : json.at("scales").items()) s.scales[name] = scale.get<float>();
  if (json.contains("border")) s.border = border_from(json.at("border"));
  if (json.contains("left_out"))
    for (const std::string& name : json.at("left_out").get<std::vector<std::string>>()) s.left_out.insert(name);
  if (json.contains("layer_types")) s.layer_types = layer_types_from(json.at("layer_types"));
  for (const std::string& pass : json.at("disabled_passes").get<std::vector<std::string>>())
    s.disabled_passes.insert(pass);
  for (const std::string& name : json.at("debug_tensors").get<std::vector<std::string>>()) s.debug_tensors.insert(name);
  for (const SortedJson& profile : json.at("profiles")) s.profiles.push_back(profile_from(profile));
  s.one_program = !json.value("tuned_profiles", false);
  s.measure = false;
  return s;
}

}  // namespace

Result<std::shared_ptr<RefitRecipe>> make_recipe(const Graph& graph, const BuildSettings& settings,
                                                 PluginRecorder* plugins) {
  auto recipe = std::make_shared<RefitRecipe>();
  std::unordered_map<const HostTensor*, int32_t> number_of;
  PrintOptions options;
  options.elide_bytes = 0;
  options.store = [&](const HostTensor& tensor) {
    const auto number = static_cast<int32_t>(recipe->constants.size());
    number_of[&tensor] = number;
    recipe->constants.push_back(constant_of(tensor));
    return std::to_string(number);
  };
  options.custom = [&](const std::shared_ptr<const CustomOp>& op) { return plugins->name_of(op); };
  recipe->graph = print_graph(graph, options);
  recipe->settings = settings_json(settings);
  recipe->identical = settings.refit->identical;
  std::unordered_map<std::string, int32_t> by_value;
  for (const NamedConstant& constant : named_constants(graph))
    if (const auto found = number_of.find(&constant.value->constant()); found != number_of.end())
      by_value.emplace(constant.name, found->second);
  for (const NamedWeight& weight : settings.refit->weights) {
    const auto found = by_value.find(weight.value);
    if (found == by_value.end()) continue;  // no output depends on it
    const bool refittable =
        !weight.fixed && (!settings.refit->marked || settings.refit->marked->count(weight.name) != 0);
    recipe->weights.push_back({weight.name, weight.layer, weight.role, found->second, refittable});
  }
  return recipe;
}

namespace {

void set_recipe(const char* key, SortedJson value, RefitRecipe* recipe) {
  SortedJson json = SortedJson::parse(recipe->settings);
  json[key] = std::move(value);
  recipe->settings = json.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
}

Result<std::unique_ptr<Graph>> graph_with(const RefitRecipe& recipe, const CustomLoader& plugins) {
  const auto constant = [&](const std::string& name, DType, const Dims&) -> Result<HostTensor> {
    size_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size() || number >= recipe.constants.size())
      return corrupt("refit: there is no constant '{}'", name.substr(0, 64));
    if (recipe.constants[number].stripped)
      return make_error(Code::kInvalidState, "constant {} of the network is missing", number);
    return tensor_of(recipe.constants[number]);
  };
  return parse_graph(recipe.graph, find_op, constant, plugins);
}

}  // namespace

void set_recipe_scales(const TensorScales& scales, RefitRecipe* recipe) {
  if (!scales.empty()) set_recipe("scales", scales, recipe);
}

void set_recipe_plugins(const PluginRecorder& plugins, RefitRecipe* recipe) {
  if (!plugins.empty()) set_recipe(kPlugins, plugins.to_json(), recipe);
}

Result<std::unique_ptr<Graph>> recipe_graph(const RefitRecipe& recipe, const PluginRecorder& plugins) {
  return graph_with(recipe, [&](const std::string& name) { return plugins.find(name); });
}

Result<std::unique_ptr<Graph>> recipe_graph(const RefitRecipe& recipe) {
  ReplayedOps plugins;
  try {
    const SortedJson settings = SortedJson::parse(recipe.settings);
    if (settings.contains(kPlugins)) plugins = replayed_ops(settings.at(kPlugins));
  } catch (const SortedJson::exception& e) {
    return corrupt("refit: what the plugins answered cannot be read: {}", e.what());
  }
  return graph_with(recipe, [&](const std::string& name) { return find_replayed(plugins, name); });
}

Result<BuildSettings> recipe_settings(const RefitRecipe& recipe) {
  constexpr int kMostThreads = 4096;
  try {
    BuildSettings settings = settings_from(SortedJson::parse(recipe.settings));
    if (settings.threads < 0 || settings.threads > kMostThreads) return corrupt("refit: {} threads", settings.threads);
    if (settings.profiles.size() > size_t{limits::kMaxProfiles})
      return corrupt("refit: {} profiles", settings.profiles.size());
    return settings;
  } catch (const SortedJson::exception& e) {
    return corrupt("refit: the settings of the build cannot be read: {}", e.what());
  }
}

}  // namespace wootz
