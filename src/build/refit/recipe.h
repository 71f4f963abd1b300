// The build of a refittable plan as data (backend/refit.h), and back.
#pragma once

#include <memory>

#include "backend/refit.h"
#include "build/refit/recorded_plugins.h"
#include "build/settings.h"
#include "ir/graph.h"

namespace wootz {

// Of a graph as a build is handed it. Constants are shared, not copied. What the build chose is still missing. The
// graph's plugins are given to the recorder.
Result<std::shared_ptr<RefitRecipe>> make_recipe(const Graph& graph, const BuildSettings& settings,
                                                 PluginRecorder* plugins);

// The scales that the build found: builds with other weights take them as they are.
void set_recipe_scales(const TensorScales& scales, RefitRecipe* recipe);
// What the plugins were asked in the build, and answered.
void set_recipe_plugins(const PluginRecorder& plugins, RefitRecipe* recipe);

// The graph with the recipe's constants, and the settings that its passes and kernels go by, for the device that it was
// built for. Plugins are those of the recorder, or answer as they did. Errors: texts that make_recipe() does not write.
Result<std::unique_ptr<Graph>> recipe_graph(const RefitRecipe& recipe, const PluginRecorder& plugins);
Result<std::unique_ptr<Graph>> recipe_graph(const RefitRecipe& recipe);
Result<BuildSettings> recipe_settings(const RefitRecipe& recipe);

inline HostTensor tensor_of(const RefitConstant& c) { return HostTensor::wrap(c.dtype, c.dims, c.data, c.owner); }

}  // namespace wootz
