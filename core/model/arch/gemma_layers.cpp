#include "core/model/arch/gemma_layers.hpp"

#include <set>
#include <string_view>

#include <fmt/format.h>

namespace etna::model {
namespace {

constexpr std::string_view kv_heads_key = "attention.head_count_kv";

void check_widths(MetadataReader& reader, std::string_view key, const std::set<uint32_t>& widths) {
    const auto has_packed = [](uint32_t width) { return width % kernels::tile_columns == 0; };
    for (const uint32_t width : widths) {
        if (widths.size() > 1 &&
            (width % kernels::column_padding != 0 || has_packed(width) != has_packed(*widths.begin()))) {
            reader.fail(
                ErrorKind::unsupported, key,
                fmt::format("one layer has rows of {} elements, others have another length: all lengths must "
                            "be multiples of {}",
                            width, kernels::tile_columns));
        }
    }
}

} // namespace

void share_keys(MetadataReader& reader, Config& config) {
    constexpr std::string_view key = "attention.shared_kv_layers";
    const uint32_t layers = config.layer_count();
    const uint32_t first = layers - reader.integer(key, {.min = 0, .max = layers - 1}, 0);
    for (uint32_t layer = first; layer < layers; ++layer) {
        auto& attention = *config.layers[layer].attention();
        for (uint32_t earlier = 0; earlier < first; ++earlier) {
            if (config.layers[earlier].attention()->group == attention.group)
                attention.keys_of = earlier;
        }
        if (!attention.keys_of) {
            reader.fail(ErrorKind::corrupt, key, "no earlier layer has the same window");
        } else if (config.layers[*attention.keys_of].attention()->kv_heads != attention.kv_heads) {
            reader.fail(ErrorKind::corrupt, kv_heads_key, "differs between layers that share keys");
        }
    }
}

void check_layer_widths(MetadataReader& reader, const Config& config) {
    std::set<uint32_t> q_widths;
    std::set<uint32_t> kv_widths;
    std::set<uint32_t> feed_forward;
    for (const LayerConfig& layer : config.layers) {
        q_widths.insert(layer.attention()->q_width());
        kv_widths.insert(layer.attention()->kv_width());
        feed_forward.insert(layer.feed_forward);
    }
    check_widths(reader, "attention.key_length", q_widths);
    check_widths(reader, kv_heads_key, kv_widths);
    check_widths(reader, "feed_forward_length", feed_forward);
}

} // namespace etna::model
