#include "core/generate/defaults.hpp"

#include "core/base/log.hpp"
#include "core/store/generation_config.hpp"

#include <fmt/format.h>

namespace etna::generate {
namespace {

/// Reads the model's generation_config.json. It holds recommendations only, so errors in it do not fail the
/// load.
void read_generation_config(const store::ModelSource& source, SamplingOverrides& overrides,
                            SpeculationOverrides& speculation) {
    if (source.path.empty())
        return;
    if (const auto config = store::generation_config_beside(source.path)) {
        apply(*config, overrides);
        speculation = over(recommended_speculation(*config), speculation);
    } else {
        log(LogLevel::warning, fmt::format("ignoring {}", config.error().message));
    }
}

} // namespace

void add_recommendations(Defaults& defaults, const gguf::File& file, const store::ModelSource& source) {
    SamplingOverrides recommended = recommended_sampling(file);
    read_generation_config(source, recommended, defaults.speculation);
    defaults.recommended_sampling = over(defaults.recommended_sampling, recommended);
    defaults.sampling = with_overrides({}, defaults.recommended_sampling);
}

} // namespace etna::generate
