#include "core/kernels/operations/gated_rms_norm.hpp"

#include "tests/bench/operations/cases.hpp"

namespace etna::bench {

/// Qwen3.5-35B-A3B's layer.
void add_gated_rms_norm_cases(Cases& cases, const PlanTarget&) {
    constexpr uint32_t heads = 32;
    constexpr uint32_t head_dim = 128;
    cases.push_back({"gated_rms_norm", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         gated_rms_norm({library, recorder}, {.values = activations(space, heads * head_dim),
                                                              .gate = activations(space, heads * head_dim),
                                                              .weight = space.take(),
                                                              .head_dim = head_dim,
                                                              .count = 1});
                     }});
}

} // namespace etna::bench
