#include "plan/read.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

#include "backend/refit.h"
#include "plan/encode.h"
#include "plan/format.h"
#include "plan/runtime_files.h"
#include "plan/strip.h"
#include "plan/verify.h"

namespace wootz {
namespace {

struct Freed {
  void operator()(const void* memory) const { std::free(const_cast<void*>(memory)); }
};

// A copy aligned for blobs. Null: no memory.
std::shared_ptr<const std::byte> copy_of(std::span<const std::byte> bytes) {
  const size_t room = plan_format::align_up(bytes.size() + 1, plan_format::kBlobAlignment);
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(plan_format::kBlobAlignment, room));
  if (memory == nullptr) return nullptr;
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  return {memory, Freed()};
}

Status no_memory(size_t bytes) {
  return make_error(Code::kResourceExhausted, "plan: no memory for a copy of {} bytes", bytes);
}

Status damaged(const char* section) {
  return corrupt("plan: the {} section is damaged (its digest does not match)", section);
}

void keep_alive(const std::shared_ptr<const void>& owner, Program* program) {
  for (PlanConstant& c : program->constants) c.owner = owner;
  for (NativeCode& code : program->native) code.owner = owner;
  for (Program& body : program->bodies) keep_alive(owner, &body);
  if (program->refit == nullptr) return;
  auto recipe = std::make_shared<RefitRecipe>(*program->refit);
  for (RefitConstant& c : recipe->constants) c.owner = owner;
  program->refit = std::move(recipe);
}

Result<std::shared_ptr<const Program>> read_checked(std::span<const std::byte> bytes,
                                                    std::shared_ptr<const void> owner) {
  plan_format::Header header;
  WOOTZ_ASSIGN_OR_RETURN(const plan_format::Sections sections, plan_format::open_file(bytes, &header));
  // The metadata is copied first: what is checked is what is read, even if another process writes to the file.
  const std::shared_ptr<const std::byte> metadata = copy_of(sections.metadata);
  if (metadata == nullptr) return no_memory(sections.metadata.size());
  const std::span<const std::byte> copied(metadata.get(), sections.metadata.size());
  if (tree_digest(copied) != header.sections[0].digest) return damaged("metadata");

  std::span<const std::byte> weights = sections.weights;
  const bool aligned = reinterpret_cast<uintptr_t>(weights.data()) % plan_format::kBlobAlignment == 0;
  if (owner == nullptr || !aligned) {
    const std::shared_ptr<const std::byte> memory = copy_of(weights);
    if (memory == nullptr) return no_memory(weights.size());
    weights = {memory.get(), weights.size()};
    owner = memory;
  }
  if (tree_digest(weights) != header.sections[1].digest) return damaged("weights");
  if (!sections.runtime.empty()) {
    if (tree_digest(sections.runtime) != header.sections[2].digest) return damaged("runtime");
    WOOTZ_RETURN_IF_ERROR(unpack_runtime(sections.runtime).status());
    release_mapped(sections.runtime);
  }

  WOOTZ_ASSIGN_OR_RETURN(Program program, decode_program(copied, weights));
  keep_alive(owner, &program);
  if (program.stripped) WOOTZ_RETURN_IF_ERROR(give_zeros(&program));
  WOOTZ_RETURN_IF_ERROR(verify_program(program));
  return std::shared_ptr<const Program>(std::make_shared<Program>(std::move(program)));
}

Status io_error(const std::string& path, const char* what, int error) {
  return make_error(Code::kIo, "cannot {} plan '{}': {}", what, path, std::generic_category().message(error));
}

}  // namespace

Result<std::shared_ptr<const Program>> read_plan(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  try {
    return read_checked(bytes, std::move(owner));
  } catch (const std::bad_alloc&) {
    return make_error(Code::kResourceExhausted, "plan: no memory to read {} bytes", bytes.size());
  }
}

Result<MappedFile> map_plan_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // never waits for a pipe's writer
  if (fd < 0) return io_error(path, "open", errno);
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    return io_error(path, "open", error);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return invalid_argument("plan '{}' is no regular file", path);
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (size < sizeof(plan_format::Header)) {
    ::close(fd);
    return corrupt("'{}': plan: {} bytes, the header alone has {}", path, size, sizeof(plan_format::Header));
  }
  Result<MappedFile> file = map_file(fd, size);
  ::close(fd);
  if (!file.ok()) return file.status().with_prefix(fmt::format("plan '{}'", path));
  return file;
}

Result<std::shared_ptr<const Program>> read_plan_file(const std::string& path) {
  WOOTZ_ASSIGN_OR_RETURN(const MappedFile file, map_plan_file(path));
  Result<std::shared_ptr<const Program>> program = read_plan(file.bytes, file.owner);
  if (!program.ok()) return program.status().with_prefix(fmt::format("'{}'", path));
  return program;
}

}  // namespace wootz
