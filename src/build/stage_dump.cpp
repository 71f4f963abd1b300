#include "build/stage_dump.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "ir/text.h"
#include "ops/registry.h"
#include "plan/digest.h"
#include "plan/parse_program.h"
#include "plan/program_text.h"

namespace wootz {
namespace {

namespace fs = std::filesystem;

constexpr size_t kInlineBytes = 256;  // constants up to this are written into the text
constexpr const char* kConstants = "constants";

fs::path constant_file(const fs::path& folder, const std::string& name) {
  return folder / kConstants / (name + ".bin");
}

Status write_file(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file ? Status() : make_error(Code::kIo, "cannot write '{}'", path.string());
}

Result<HostTensor> read_constant(const fs::path& folder, const std::string& name, DType dtype, const Dims& dims) {
  if (name.find_first_not_of("0123456789abcdef") != std::string::npos)
    return invalid_argument("'{}' is no name of a constant", name);
  std::ifstream file(constant_file(folder, name), std::ios::binary);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(dtype, dims));
  file.read(static_cast<char*>(tensor.mutable_data()), static_cast<std::streamsize>(tensor.bytes()));
  if (!file || file.peek() != std::ifstream::traits_type::eof())
    return make_error(Code::kIo, "constant '{}' is not there, or is not of {} bytes", name, tensor.bytes());
  return tensor;
}

Result<std::string> read_text(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return make_error(Code::kIo, "cannot open '{}'", file);
  return std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

std::string StageDump::store(std::span<const std::byte> bytes) {
  std::string name;
  for (const std::byte b : tree_digest(bytes)) name += fmt::format("{:02x}", static_cast<unsigned>(b));
  if (constants_.insert(name).second && stored_.ok()) stored_ = write_file(constant_file(folder_, name), bytes);
  return name;
}

Status StageDump::write(const std::string& stage, const char* kind, const std::string& text, std::string* last) {
  WOOTZ_RETURN_IF_ERROR(stored_);
  if (text == *last) return Status();
  *last = text;
  std::string name = fmt::format("{:02}.{}.{}.txt", files_.size(), stage, kind);
  WOOTZ_RETURN_IF_ERROR(write_file(folder_ / name, bytes_of(text)));
  files_.push_back({{"stage", stage}, {"file", std::move(name)}});
  return Status();
}

Status StageDump::graph(const std::string& stage, const Graph& graph) {
  if (!wanted()) return Status();
  std::error_code error;
  fs::create_directories(folder_ / kConstants, error);
  if (error) return make_error(Code::kIo, "cannot make the folder '{}': {}", folder_.string(), error.message());
  PrintOptions options;
  options.elide_bytes = kInlineBytes;
  options.store = [this](const HostTensor& tensor) {
    return store({static_cast<const std::byte*>(tensor.data()), tensor.bytes()});
  };
  return write(stage, "graph", print_graph(graph, options) + '\n', &last_graph_);
}

Status StageDump::program(const std::string& stage, const Program& program) {
  if (!wanted()) return Status();
  const auto digest = [this](const PlanConstant& constant) {
    RawBytes scratch;  // of a packed weight, which is made here and dropped
    const Result<std::span<const std::byte>> bytes = wootz::bytes_of(constant, &scratch);
    if (!bytes.ok() && stored_.ok()) stored_ = bytes.status();
    return bytes.ok() ? store(*bytes) : std::string();
  };
  return write(stage, "program", print_program(program, digest), &last_program_);
}

Status StageDump::finish(const std::vector<StageTime>& stages) {
  if (!wanted()) return Status();
  OrderedJson json{{"stages", OrderedJson::array()}, {"files", files_}};
  for (const StageTime& stage : stages) json["stages"].push_back({{"name", stage.name}, {"ms", stage.ms}});
  const std::string text = json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
  return write_file(folder_ / "stages.json", bytes_of(text));
}

Result<std::unique_ptr<Graph>> read_dumped_graph(const std::string& file) {
  WOOTZ_ASSIGN_OR_RETURN(const std::string text, read_text(file));
  const fs::path folder = fs::path(file).parent_path();
  return parse_graph(text, find_op, [&](const std::string& name, DType dtype, const Dims& dims) {
    return read_constant(folder, name, dtype, dims);
  });
}

Result<Program> read_dumped_program(const std::string& file) {
  WOOTZ_ASSIGN_OR_RETURN(const std::string text, read_text(file));
  const fs::path folder = fs::path(file).parent_path();
  return parse_program(text, [&](std::string_view name, PlanConstant* constant) -> Status {
    const Dims bytes{static_cast<int64_t>(std::min<size_t>(constant->bytes, INT64_MAX))};
    WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, read_constant(folder, std::string(name), DType::kU8, bytes));
    const auto owner = std::make_shared<HostTensor>(std::move(tensor));
    constant->data = owner->data();
    constant->owner = owner;
    return Status();
  });
}

}  // namespace wootz
