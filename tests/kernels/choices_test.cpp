// What a parameter may be, by families.def, is tried on some backend.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "backend/families.h"
#include "conformance/run_graph_on.h"
#include "kernels/library.h"

namespace wootz::kernels {
namespace {

// Values of a parameter that is a choice or a flag: those that some problem has, and all that there are.
struct Occurring {
  std::set<std::string> seen, all;
};

void note(const ParamField& field, const void* params, Occurring* o) {
  const ParamRef ref = read_ref(field, params);
  const auto names = [&](std::string_view list) {
    for (size_t i = 0; i < choice_count(list); ++i) o->all.emplace(choice_name(list, i));
  };
  if (const auto* const flag = std::get_if<bool*>(&ref)) {
    o->all = {"0", "1"};
    o->seen.insert(**flag ? "1" : "0");
  }
  if (const auto* const choice = std::get_if<ChoiceRef>(&ref)) {
    names(choice->names);
    o->seen.emplace(choice_name(choice->names, *choice->value));
  }
  if (const auto* const list = std::get_if<ChoicesRef>(&ref)) {
    names(list->names);
    for (size_t i = 0; i < list->size(list->list); ++i)
      o->seen.emplace(choice_name(list->names, list->at(list->list, i)));
  }
}

// Slow: the problems of both backends.
TEST(ChoicesSlow, EveryValueOfAParameterOccurs) {
  ASSERT_TRUE(conformance::open_cuda().ok());
  std::map<std::string, Occurring> found;
  for (const char* backend : {"cpu", "cuda"})
    for (const KernelCase& c : library(backend).cases.cases()) {
      const Family family = c.problem.family();
      for (const ParamField& field : family_table(family).fields)
        note(field, params_address(c.problem.params), &found[fmt::format("{}.{}", family_name(family), field.name)]);
    }
  for (const auto& [parameter, values] : found)
    for (const std::string& value : values.all)
      EXPECT_TRUE(values.seen.count(value) != 0)
          << "no problem has " << parameter << " = " << value << ": write one into tests/kernels/problems/";
}

}  // namespace
}  // namespace wootz::kernels
