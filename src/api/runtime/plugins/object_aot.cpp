#include "api/runtime/plugins/object_aot.h"

#include <algorithm>
#include <limits>

#include "api/runtime/plugins/host_function.h"
#include "backend/device.h"
#include "backend/kernel_image.h"

namespace wootz::api {
namespace {

// "kernel ahead of time 1", the length of the JSON in digits, a line's end, the JSON, the code.
constexpr std::string_view kMagic = "kernel ahead of time 1\n";

struct Image {
  AotKernel kernel;
  KernelImage image;
  std::shared_ptr<HostFunction> function;  // of the host
};

class ContextAot final : public PluginContext {
 public:
  explicit ContextAot(std::shared_ptr<Image> image) : image_(std::move(image)) {}

  Status prepare(const PluginTensors& tensors) override {
    const AotKernel& kernel = image_->kernel;
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> values, kernel.expressions.values(tensors));
    const auto take = [&](int32_t expression, int64_t otherwise, unsigned* to) -> Status {
      const int64_t value = expression < 0 ? otherwise : values[static_cast<size_t>(expression)];
      if (value < otherwise || value > std::numeric_limits<int32_t>::max())
        return invalid_argument("kernel '{}': an extent of {} in its launch", kernel.name, value);
      *to = static_cast<unsigned>(value);
      return Status();
    };
    for (size_t a = 0; a < 3; ++a) {
      WOOTZ_RETURN_IF_ERROR(take(kernel.grid[a], 1, &launch_.grid[a]));
      WOOTZ_RETURN_IF_ERROR(take(kernel.block[a], 1, &launch_.block[a]));
    }
    WOOTZ_RETURN_IF_ERROR(take(kernel.shared, 0, &launch_.shared));
    extras_.clear();
    for (const AotKernel::Extra& extra : kernel.extras) {
      const int64_t value = values[static_cast<size_t>(extra.expression)];
      const int bits = 8 << static_cast<int>(extra.type);
      if (value < -(int64_t{1} << (bits - 1)) || value >= int64_t{1} << (bits - 1))
        return invalid_argument("kernel '{}': {} is no argument of {} bits", kernel.name, value, bits);
      extras_.push_back(value);
    }
    return Status();
  }

  Status run(const PluginTensors& tensors, const void* const* inputs, void* const* outputs, void*,
             Stream* stream) override {
    auto* const launcher = dynamic_cast<KernelLauncher*>(stream);
    if (image_->function != nullptr) return run_on_host(tensors, inputs, outputs, launcher != nullptr);
    if (launcher == nullptr)
      return unsupported("kernel '{}' was compiled for a GPU, and the engine is not on one", image_->kernel.name);
    addresses_.assign(inputs, inputs + tensors.inputs.size());
    addresses_.insert(addresses_.end(), outputs, outputs + tensors.outputs.size());
    arguments_.clear();
    for (size_t i = 0; i < tensors.inputs.size(); ++i) arguments_.push_back(&addresses_[i]);
    for (int64_t& extra : extras_) arguments_.push_back(&extra);
    for (size_t o = tensors.inputs.size(); o < addresses_.size(); ++o) arguments_.push_back(&addresses_[o]);
    launch_.arguments = arguments_.data();
    return launcher->launch(image_->image, launch_);
  }

 private:
  Status run_on_host(const PluginTensors& tensors, const void* const* inputs, void* const* outputs, bool device) {
    if (device)
      return unsupported("function '{}' was compiled for the host, and the engine is on a GPU", image_->kernel.name);
    values_.clear();
    const auto add = [&](const void* address) { values_.push_back(reinterpret_cast<uintptr_t>(address)); };
    std::for_each(inputs, inputs + tensors.inputs.size(), add);
    for (const int64_t extra : extras_) values_.push_back(static_cast<uint64_t>(extra));
    std::for_each(outputs, outputs + tensors.outputs.size(), add);
    if (values_.size() > HostFunction::kMostArguments)
      return unsupported("function '{}' has {} arguments, {} at most are passed", image_->kernel.name, values_.size(),
                         HostFunction::kMostArguments);
    image_->function->call(values_);
    return Status();
  }

  std::shared_ptr<Image> image_;
  KernelLaunch launch_;
  std::vector<int64_t> extras_;
  std::vector<uint64_t> values_;
  std::vector<const void*> addresses_;
  std::vector<void*> arguments_;
};

class ObjectAot final : public PluginObject {
 public:
  explicit ObjectAot(std::shared_ptr<Image> image) : image_(std::move(image)) {}
  Result<std::unique_ptr<PluginContext>> attach(const ContextServices*) override {
    return std::unique_ptr<PluginContext>(std::make_unique<ContextAot>(image_));
  }
  Result<size_t> workspace(const PluginTensors&) override { return size_t{0}; }
  Result<std::string> serialize() override { return write_aot(image_->kernel); }

 private:
  std::shared_ptr<Image> image_;
};

Result<int32_t> expression_in(const OrderedJson& json, const LaunchExpressions& expressions, int32_t least) {
  const int64_t number = json.is_number_integer() ? json.get<int64_t>() : INT64_MIN;
  if (number < least || number >= static_cast<int64_t>(expressions.size()))
    return corrupt("a kernel's launch that names no expression");
  return static_cast<int32_t>(number);
}

}  // namespace

std::string write_aot(const AotKernel& kernel) {
  OrderedJson json = {{"name", kernel.name},     {"expressions", kernel.expressions.to_json()},
                      {"grid", kernel.grid},     {"block", kernel.block},
                      {"shared", kernel.shared}, {"extras", OrderedJson::array()}};
  for (const AotKernel::Extra& extra : kernel.extras)
    json["extras"].push_back(OrderedJson::array({extra.expression, static_cast<int32_t>(extra.type)}));
  if (kernel.host) json["host"] = true;
  const std::string text = json.dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
  return fmt::format("{}{}\n{}{}", kMagic, text.size(), text, kernel.code);
}

bool is_aot(std::string_view data) { return data.starts_with(kMagic); }

Result<AotKernel> read_aot(std::string_view data) {
  const std::string_view rest = data.substr(std::min(data.size(), kMagic.size()));
  const size_t end = rest.find('\n');
  size_t length = 0;
  if (end == std::string_view::npos || end == 0 || end > 9) return corrupt("a kernel without a description");
  for (const char c : rest.substr(0, end)) {
    if (c < '0' || c > '9') return corrupt("a kernel without a description");
    length = length * 10 + static_cast<size_t>(c - '0');
  }
  if (length > rest.size() - end - 1) return corrupt("a kernel whose description is cut short");
  const OrderedJson json = OrderedJson::parse(rest.substr(end + 1, length), nullptr, false);
  const auto list = [&](const char* key, size_t least, size_t most) {
    return json.is_object() && json.contains(key) && json[key].is_array() && json[key].size() >= least &&
           json[key].size() <= most;
  };
  constexpr size_t kMostExtras = 256;
  if (!list("expressions", 0, SIZE_MAX) || !list("grid", 3, 3) || !list("block", 3, 3) ||
      !list("extras", 0, kMostExtras) || !json.contains("shared") || !json.contains("name") ||
      !json["name"].is_string())
    return corrupt("a kernel whose description is of another form");
  AotKernel kernel;
  kernel.name = json["name"].get<std::string>();
  kernel.code = std::string(rest.substr(end + 1 + length));
  kernel.host = json.contains("host") && json["host"] == true;
  WOOTZ_ASSIGN_OR_RETURN(kernel.expressions, LaunchExpressions::from_json(json["expressions"]));
  for (size_t a = 0; a < 3; ++a) {
    WOOTZ_ASSIGN_OR_RETURN(kernel.grid[a], expression_in(json["grid"][a], kernel.expressions, -1));
    WOOTZ_ASSIGN_OR_RETURN(kernel.block[a], expression_in(json["block"][a], kernel.expressions, -1));
  }
  WOOTZ_ASSIGN_OR_RETURN(kernel.shared, expression_in(json["shared"], kernel.expressions, -1));
  for (const OrderedJson& each : json["extras"]) {
    if (!each.is_array() || each.size() != 2 || !each[1].is_number_integer() || each[1].get<int64_t>() < 0 ||
        each[1].get<int64_t>() > static_cast<int64_t>(nvinfer1::PluginArgDataType::kINT32))
      return corrupt("a kernel with an argument of another form");
    WOOTZ_ASSIGN_OR_RETURN(const int32_t expression, expression_in(each[0], kernel.expressions, 0));
    kernel.extras.push_back({expression, static_cast<nvinfer1::PluginArgDataType>(each[1].get<int32_t>())});
  }
  return kernel;
}

Result<std::shared_ptr<PluginObject>> make_object_aot(AotKernel kernel) {
  auto image = std::make_shared<Image>();
  if (kernel.host) {
    WOOTZ_ASSIGN_OR_RETURN(image->function, HostFunction::open(kernel.name, kernel.code));
  }
  image->image.name = kernel.name;
  image->image.code = kernel.code;
  image->kernel = std::move(kernel);
  return std::shared_ptr<PluginObject>(std::make_shared<ObjectAot>(std::move(image)));
}

}  // namespace wootz::api
