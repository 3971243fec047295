#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

// Phi 3, 3.5 and 4 (arXiv 2404.14219): fused QKV, fused gate and up; NeoX-style RoPE, with LongRoPE's
// divisors if the file has them; every layer may have a window.
namespace etna::model {
namespace {

Result<Config> read_phi3(const gguf::File& file) {
    MetadataReader reader(file, "phi3");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    refuse_experts(reader);
    CacheGroup& group = config.cache_groups[0];
    group.window_tokens = read_window(reader, 0);
    ETNA_CHECK(reader.status());
    // These files do not name the scaling: it follows from the tensors.
    const bool has_factors =
        file.find_tensor(rotary_short_name) != nullptr || file.find_tensor(rotary_long_name) != nullptr;
    if (has_factors && group.rotary.scaling == RotaryScaling::none)
        group.rotary.scaling = RotaryScaling::longrope;
    return config;
}

TensorTable declare_phi3(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    declare_rotary(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.storage = Storage::fused});
        declare_feed_forward(table, config, layer, {.storage = Storage::fused});
    }
    return table;
}

} // namespace

const Architecture phi3_architecture{.name = "phi3",
                                     .read_config = read_phi3,
                                     .declare = declare_phi3,
                                     .assemble = assemble_decoder,
                                     .models = "Phi 3, 3.5, 4",
                                     .peer = "9.6e-06 (5 files)",
                                     .definition = "arXiv 2404.14219, 2402.13753",
                                     .checks = "sliding windows, LongRoPE"};

} // namespace etna::model
