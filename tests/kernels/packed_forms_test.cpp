// The bytes that kernels make of constants are what plans hold: those of one version of a form never change.
// packed.forms says what they are, problem by problem:
//
//   === the problem, as Problem::key() writes it, with \n for the ends of lines in it
//   1 v0 0123456789abcdef gemm_a gemm_b     of operand 1, form version 0, the bytes' digest: what these kernels make
//
// Where a kernel makes other bytes, its PackedForm::version is raised, and WOOTZ_WRITE_PACKED_FORMS=1 adds the lines of
// the new version. It adds lines for new kernels, too, and never replaces one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "backend/operand_dims.h"
#include "backend/problem_text.h"
#include "backend/sparsity.h"
#include "backends/cuda/cublaslt/fp8.h"
#include "backends/cuda/cudnn/describe.h"
#include "backends/cuda/generate/kernels.h"
#include "base/testing.h"
#include "base/two_of_four.h"
#include "conformance/run_graph_on.h"
#include "kernels/library.h"
#include "kernels/lines.h"
#include "kernels/problem_files.h"
#include "plan/digest.h"

namespace wootz::kernels {
namespace {

struct FormKey {
  size_t input = 0;
  uint32_t version = 0;
  std::string kernel;
  auto operator<=>(const FormKey&) const = default;
};
using Forms = std::map<FormKey, std::string>;  // digests
struct File {
  std::vector<std::string> problems;  // keys, in the file's order
  std::map<std::string, Forms> forms;
};

std::string path() { return problems_folder() + "/../packed.forms"; }
bool writing() { return std::getenv("WOOTZ_WRITE_PACKED_FORMS") != nullptr; }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

File read_file() {
  constexpr std::string_view kHead = "=== ";
  File file;
  std::ifstream in(path());
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(kHead, 0) == 0) {
      file.problems.push_back(replaced(line.substr(kHead.size()), "\\n", "\n"));
      continue;
    }
    std::istringstream words(line);
    FormKey key;
    char v = 0;
    std::string digest;
    words >> key.input >> v >> key.version >> digest;
    while (words >> key.kernel) file.forms[file.problems.back()][key] = digest;
  }
  return file;
}

void write_file(const File& file) {
  std::ofstream out(path());
  for (const std::string& problem : file.problems) {
    out << "=== " << replaced(problem, "\n", "\\n") << "\n";
    std::map<std::tuple<size_t, uint32_t, std::string>, std::string> lines;
    for (const auto& [key, digest] : file.forms.at(problem))
      lines[{key.input, key.version, digest}] += " " + key.kernel;
    for (const auto& [head, names] : lines)
      out << fmt::format("{} v{} {}{}\n", std::get<0>(head), std::get<1>(head), std::get<2>(head), names);
  }
}

// Small integers, which every float type has exactly and no rounding moves; anything in types of fewer than 8 bits.
HostTensor fixed_values(const TensorDesc& desc) {
  Result<HostTensor> made = HostTensor::allocate(desc.dtype, desc.dims);
  if (!made.ok()) return {};
  HostTensor t = std::move(made).value();
  uint32_t state = 12345;
  const auto next = [&state] { return (state = state * 1664525 + 1013904223) >> 16; };
  if (dtype_bits(desc.dtype) < 8) {
    for (size_t i = 0; i < t.bytes(); ++i) static_cast<uint8_t*>(t.mutable_data())[i] = static_cast<uint8_t>(next());
    return t;
  }
  for (int64_t i = 0; i < t.volume(); ++i) {
    const auto value = static_cast<int64_t>(next() % 17) - (dtype_info(desc.dtype).is_signed ? 8 : 0);
    is_float(desc.dtype) ? t.set_f64(i, static_cast<double>(value)) : t.set_i64(i, value);
  }
  return t;
}

using Pack = std::function<Result<std::optional<PackedForm>>(int input, std::span<const HostTensor> sources)>;

std::string hex(const Digest& digest) {
  std::string text;
  for (size_t i = 0; i < 8; ++i) text += fmt::format("{:02x}", std::to_integer<int>(digest[i]));
  return text;
}

void add_forms(const Problem& p, const std::string& kernel, const Pack& pack, Forms* forms) {
  std::vector<HostTensor> sources, shapes;
  for (const TensorDesc& t : p.inputs) {
    const bool constant = t.constant && t.dtype != DType::kInvalid;
    sources.push_back(constant ? fixed_values(t) : HostTensor());
    shapes.push_back(constant ? HostTensor::wrap(t.dtype, t.dims, nullptr, nullptr) : HostTensor());
  }
  for (const SummedWeights& w : summed_weights(p))
    if (w.sparse) zero_two_of_four(&sources[w.input], w.axis, 1);
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].valid()) continue;
    const auto form = pack(static_cast<int>(i), sources), known = pack(static_cast<int>(i), shapes);
    ASSERT_TRUE(form.ok() && known.ok()) << kernel << " " << p.key() << ": " << form.status().to_string();
    ASSERT_EQ(form->has_value(), known->has_value()) << kernel << " " << p.key();
    if (!form->has_value()) continue;
    EXPECT_TRUE((*form)->bytes == (*known)->bytes && (*form)->version == (*known)->version) << kernel << " " << p.key();
    const Result<RawBytes> bytes = make_bytes(**form);
    ASSERT_TRUE(bytes.ok()) << kernel << " " << p.key() << ": " << bytes.status().to_string();
    const std::string digest = hex(tree_digest(*bytes));
    // Whatever the layouts of the activations are.
    const auto [at, added] = forms->try_emplace({i, (*form)->version, kernel}, digest);
    EXPECT_EQ(at->second, digest) << kernel << " makes other bytes for another layout of " << p.key();
  }
}

// What libraries read; they need not be there.
void add_library_forms(const Problem& p, Forms* forms) {
  if (cuda::is_fp8_product(p) && cuda::describe_fp8(p, operand_dims(p.inputs), p.outputs[0].dims).ok())
    add_forms(
        p, "fp8_cublaslt", [&](int i, const auto& s) { return cuda::pack_fp8(p, i, s[static_cast<size_t>(i)]); },
        forms);
  const auto* const gemm = p.as_if<GemmParams>();
  const auto* const conv = p.as_if<ConvParams>();
  const bool scaled = (gemm != nullptr && !gemm->x_scale.empty()) || (conv != nullptr && !conv->x_scale.empty());
  if (!scaled || p.inputs[1].dtype != DType::kI8 || !p.inputs[1].constant) return;
  const auto pack = [&](int i, std::span<const HostTensor> s) -> Result<std::optional<PackedForm>> {
    if (i != 1) return std::optional<PackedForm>{};
    Result<PackedForm> form = cuda::pack_int8_for_cudnn(p, s[1]);
    return form.ok() ? std::optional(std::move(form).value()) : std::optional<PackedForm>{};
  };
  add_forms(p, "int8_cudnn", pack, forms);
}

bool in_a_table(const KernelLine& line) {
  return !line.library() && (line.isa == Isa::kNone || usable_isa() >= line.isa);
}

Forms forms_of(const KernelLine& line, const Problem& problem) {
  Forms forms;
  for (const Candidate& candidate : candidates_of(line, problem)) {
    const Problem p = filled(problem, candidate);
    const Result<std::unique_ptr<Kernel>> kernel = line.provider->create(candidate.tactic, p, limits_of(line));
    if (!kernel.ok()) continue;
    add_forms(
        p, line.kernel, [&](int i, const auto& sources) { return (*kernel)->pack_among(i, sources); }, &forms);
  }
  return forms;
}

Forms forms_of(const Problem& problem) {
  Forms forms;
  for (const KernelLine& line : kernel_lines())
    if (in_a_table(line)) forms.merge(forms_of(line, problem));
  add_library_forms(problem, &forms);
  return forms;
}

// A problem for each kernel and type of a constant that the file has none for.
void add_problems(File* file) {
  std::set<std::string> covered;
  const auto kinds_of = [](const Problem& p, const Forms& forms) {
    std::vector<std::string> kinds;
    for (const auto& [key, digest] : forms)
      kinds.push_back(fmt::format("{} {} {}", key.kernel, key.input, dtype_name(p.inputs[key.input].dtype)));
    return kinds;
  };
  for (const std::string& key : file->problems) {
    const Problem p = parse_problem(key).value();
    for (const std::string& kind : kinds_of(p, file->forms[key])) covered.insert(kind);
  }
  for (const char* backend : {"cpu", "cuda"})
    for (const KernelCase& c : library(backend).cases.cases()) {
      const auto constant = [](const TensorDesc& t) { return t.constant; };
      if (!c.written || std::none_of(c.problem.inputs.begin(), c.problem.inputs.end(), constant)) continue;
      Forms forms = forms_of(c.problem);
      bool any = false;
      for (const std::string& kind : kinds_of(c.problem, forms)) any = covered.insert(kind).second || any;
      if (!any) continue;
      file->problems.push_back(c.problem.key());
      file->forms[c.problem.key()] = std::move(forms);
    }
}

std::set<std::string> kernels_of(const File& file) {
  std::set<std::string> found;
  for (const auto& [problem, forms] : file.forms)
    for (const auto& [form, digest] : forms) found.insert(form.kernel);
  return found;
}

TEST(PackedForms, BytesOfAVersionNeverChange) {
  ASSERT_TRUE(conformance::open_cuda().ok());
  File file = read_file();
  std::set<std::string> unknown;
  const std::set<std::string> known = kernels_of(file);
  for (const std::string& key : file.problems) {
    const Result<Problem> problem = parse_problem(key);
    ASSERT_TRUE(problem.ok()) << key << ": " << problem.status().to_string();
    for (const auto& [form, digest] : forms_of(*problem)) {
      if (!writing() && known.count(form.kernel) == 0) {  // of instructions that no machine which wrote the file had
        unknown.insert(form.kernel);
        continue;
      }
      const std::string what = fmt::format("{} packs operand {} of {}", form.kernel, form.input, key);
      const auto [at, added] = file.forms[key].try_emplace(form, digest);
      EXPECT_EQ(at->second, digest) << what
                                    << " into other bytes than before: raise PackedForm::version, so that plans "
                                    << "which hold the bytes as they were are refused";
      EXPECT_TRUE(!added || writing()) << what << " in form version " << form.version
                                       << ", which packed.forms does not "
                                       << "have: WOOTZ_WRITE_PACKED_FORMS=1 adds it";
    }
  }
  for (const std::string& kernel : unknown)
    std::printf("NOT TESTED, packed.forms has nothing of %s: WOOTZ_WRITE_PACKED_FORMS=1 adds it\n", kernel.c_str());
  if (!writing() || HasFailure()) return;
  add_problems(&file);
  write_file(file);
}

// Every kernel of the GPU's table that packs is in the file.
TEST(PackedForms, NoKernelIsLeftOut) {
  const std::set<std::string> found = kernels_of(read_file());
  for (const cuda::KernelEntry& entry : cuda::kernel_table())
    EXPECT_TRUE(entry.pack == nullptr || found.count(entry.name) != 0)
        << entry.name << " packs constants: write a problem that it is for into tests/kernels/problems/, "
        << "and WOOTZ_WRITE_PACKED_FORMS=1 takes it into packed.forms";
}

}  // namespace
}  // namespace wootz::kernels
