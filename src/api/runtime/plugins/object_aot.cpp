#include "api/runtime/plugins/object_aot.h"

#include <limits>

#include "backend/device.h"
#include "backend/kernel_image.h"

namespace wootz::api {
namespace {

// "kernel ahead of time 1", the length of the JSON in digits, a line's end, the JSON, the code.
constexpr std::string_view kMagic = "kernel ahead of time 1\n";

struct Image {
  AotKernel kernel;
  KernelImage image;
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
  std::shared_ptr<Image> image_;
  KernelLaunch launch_;
  std::vector<int64_t> extras_;
  std::vector<const void*> addresses_;
  std::vector<void*> arguments_;
};

class ObjectAot final : public PluginObject {
 public:
  explicit ObjectAot(AotKernel kernel) : image_(std::make_shared<Image>()) {
    image_->image.name = kernel.name;
    image_->image.code = kernel.code;
    image_->kernel = std::move(kernel);
  }
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

std::shared_ptr<PluginObject> make_object_aot(AotKernel kernel) {
  return std::make_shared<ObjectAot>(std::move(kernel));
}

}  // namespace wootz::api
