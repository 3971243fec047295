#include "core/model/config.hpp"

#include "core/kernels/operations/short_convolution.hpp"
#include "core/model/tensor_table.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace etna::model {
namespace {

void read_scaling(MetadataReader& reader, const Config& config, RotaryConfig& rotary) {
    constexpr double stretch_max = 1e6;
    // Files older than rope.scaling.* have only rope.scale_linear; a factor without a type means linear.
    double factor = reader.number("rope.scale_linear", {.min = 0, .max = stretch_max}, 1);
    // Some converters write a factor of 0 for "no scaling".
    if (reader.has("rope.scaling.factor")) {
        factor = reader.number("rope.scaling.factor",
                               {.min = 0, .max = stretch_max, .lower = LowerBound::inclusive}, 1);
    }
    rotary.factor = factor <= 0 ? 1 : factor;
    rotary.attention_factor = reader.number("rope.scaling.attn_factor", {.min = 0, .max = 100}, 1);
    rotary.original_context = reader.integer("rope.scaling.original_context_length",
                                             {.min = 1, .max = context_max}, config.context);

    const std::string type = reader.text("rope.scaling.type", rotary.factor == 1 ? "none" : "linear");
    if (type == "linear") {
        rotary.scaling = RotaryScaling::linear;
    } else if (type == "yarn") {
        rotary.scaling = RotaryScaling::yarn;
        rotary.extrapolation = reader.number("rope.scaling.yarn_ext_factor",
                                             {.min = 0, .max = 1, .lower = LowerBound::inclusive}, 1);
        rotary.beta_fast = reader.number("rope.scaling.yarn_beta_fast", {.min = 0, .max = 1e4}, 32);
        rotary.beta_slow = reader.number("rope.scaling.yarn_beta_slow", {.min = 0, .max = 1e4}, 1);
        rotary.log_multiplier = reader.number("rope.scaling.yarn_log_multiplier",
                                              {.min = 0, .max = 100, .lower = LowerBound::inclusive}, 0);
    } else if (type == "longrope") {
        rotary.scaling = RotaryScaling::longrope;
    } else if (type != "none") {
        reader.fail(ErrorKind::unsupported, "rope.scaling.type", "must be none, linear, yarn or longrope");
    }
}

void read_rotary(MetadataReader& reader, const Config& config, uint32_t head_dim, RotaryConfig& rotary) {
    rotary.dims = reader.integer("rope.dimension_count", {.min = 2, .max = kernels::head_dim_max}, head_dim);
    if (rotary.dims % 2 != 0)
        reader.fail(ErrorKind::corrupt, "rope.dimension_count", "must be even");
    if (rotary.dims > head_dim) {
        reader.fail(ErrorKind::corrupt, "rope.dimension_count",
                    fmt::format("above the head size {}", head_dim));
    }
    rotary.base = reader.number("rope.freq_base", {.min = 1, .max = 1e12}, 10000);
    read_scaling(reader, config, rotary);
}

void check_kv_heads(MetadataReader& reader, const AttentionConfig& layer) {
    if (layer.q_heads % layer.kv_heads != 0) {
        reader.fail(ErrorKind::corrupt, "attention.head_count_kv",
                    fmt::format("does not divide head_count {}", layer.q_heads));
    }
}

void read_heads(MetadataReader& reader, const Config& config, uint32_t kv_heads, AttentionConfig& layer) {
    layer.q_heads = reader.integer("attention.head_count", {.min = 1, .max = heads_max});
    layer.kv_heads =
        kv_heads == 0 ? reader.integer("attention.head_count_kv", {.min = 1, .max = heads_max}, layer.q_heads)
                      : kv_heads;
    check_kv_heads(reader, layer);

    const IntegerBounds sizes{.min = 2, .max = kernels::head_dim_max};
    if (!reader.has("attention.key_length") &&
        (config.width % layer.q_heads != 0 || config.width / layer.q_heads > sizes.max)) {
        reader.fail(
            ErrorKind::corrupt, "attention.head_count",
            fmt::format("does not split embedding_length {} into heads of 2 to {}", config.width, sizes.max));
    }
    layer.head_dim = reader.integer("attention.key_length", sizes, config.width / layer.q_heads);
    if (layer.head_dim < sizes.min || layer.head_dim % 2 != 0) {
        reader.fail(ErrorKind::unsupported, "attention.key_length",
                    fmt::format("heads of {} elements: the size must be even", layer.head_dim));
    }
    if (reader.integer("attention.value_length", sizes, layer.head_dim) != layer.head_dim) {
        reader.fail(ErrorKind::unsupported, "attention.value_length",
                    fmt::format("must equal the key length {}", layer.head_dim));
    }
}

/// An integer for each layer, or one for all: zero, or the same in every other layer.
std::vector<uint32_t> read_list_with_zeros(MetadataReader& reader, std::string_view key, uint32_t layers,
                                           uint32_t max) {
    const std::vector<uint32_t> list = reader.integers(key, layers, {.min = 0, .max = max});
    const uint32_t largest = std::ranges::max(list);
    if (std::ranges::any_of(list, [&](uint32_t one) { return one != 0 && one != largest; }))
        reader.fail(ErrorKind::unsupported, key, "values above 0 that differ are not supported");
    return list;
}

/// Of each layer.
std::vector<uint32_t> read_feed_forward(MetadataReader& reader, uint32_t layers, LayerLists lists) {
    constexpr std::string_view key = "feed_forward_length";
    if (lists == LayerLists::none)
        return std::vector<uint32_t>(layers);
    if (lists == LayerLists::with_zeros && reader.has(key))
        return read_list_with_zeros(reader, key, layers, width_max);
    if (lists == LayerLists::differing)
        return reader.integers(key, layers, {.min = 1, .max = width_max});
    // With experts, the width of a dense layer is optional, because no layer is dense.
    const auto fallback = reader.has("expert_feed_forward_length") ? std::optional(1U) : std::nullopt;
    return std::vector<uint32_t>(layers, reader.integer(key, {.min = 1, .max = width_max}, fallback));
}

/// Of each layer; empty: all layers are alike.
std::vector<uint32_t> read_kv_heads(MetadataReader& reader, uint32_t layers, LayerLists lists) {
    constexpr std::string_view key = "attention.head_count_kv";
    if (lists == LayerLists::alike || !reader.has(key))
        return {};
    if (lists == LayerLists::differing)
        return reader.integers(key, layers, {.min = 1, .max = heads_max});
    std::vector<uint32_t> heads = read_list_with_zeros(reader, key, layers, heads_max);
    if (std::ranges::max(heads) == 0)
        reader.fail(ErrorKind::unsupported, key, "0 in every layer is not supported");
    return heads;
}

uint32_t read_vocabulary(MetadataReader& reader) {
    // The embedding bounds token ids; its other dimension is checked with the tensors.
    const gguf::Tensor* embedding = reader.file().find_tensor("token_embd.weight");
    std::optional<uint32_t> rows;
    if (embedding != nullptr && embedding->shape[1] > 0 && embedding->shape[1] <= vocabulary_max)
        rows = static_cast<uint32_t>(embedding->shape[1]);
    return reader.integer("vocab_size", {.min = 1, .max = vocabulary_max}, rows);
}

/// The length of a part of latent attention's heads.
uint32_t read_part(MetadataReader& reader, std::string_view key, uint32_t max) {
    const uint32_t length = reader.integer(key, {.min = 1, .max = max});
    if (length % kernels::column_padding != 0) {
        reader.fail(ErrorKind::unsupported, key,
                    fmt::format("must be a multiple of {}", kernels::column_padding));
    }
    return length;
}

/// YaRN's magnitude as latent attention has it: of scores, not of their rotated part alone.
void take_yarn_magnitude(RotaryConfig& rotary, float& attention_scale) {
    constexpr double converters_factor = 0.1;
    const double multiplier = rotary.log_multiplier / converters_factor;
    if (rotary.scaling != RotaryScaling::yarn || rotary.factor <= 1 || multiplier == 0)
        return;
    const double magnitude = 1 + 0.1 * multiplier * std::log(rotary.factor);
    attention_scale *= static_cast<float>(magnitude * magnitude);
    rotary.log_multiplier = 1; // which leaves the rotation without a magnitude
}

/// Ids outside the vocabulary have no effect, as in llama.cpp.
std::vector<uint32_t> read_suppressed_tokens(MetadataReader& reader, uint32_t vocabulary) {
    const gguf::Value* value = reader.file().find(suppressed_tokens_key);
    if (value == nullptr)
        return {};
    std::vector<uint32_t> ids;
    const auto take = [&](const auto& items) {
        using Item = typename std::decay_t<decltype(items)>::value_type;
        if constexpr (std::is_integral_v<Item> && !std::is_same_v<Item, bool>) {
            for (const Item id : items) {
                if (std::cmp_greater_equal(id, 0) && std::cmp_less(id, vocabulary))
                    ids.push_back(static_cast<uint32_t>(id));
            }
            return true;
        }
        return false;
    };
    const auto* list = std::get_if<gguf::Array>(value);
    if (list == nullptr || !std::visit(take, list->items))
        reader.fail_at(ErrorKind::corrupt, std::string(suppressed_tokens_key), "must be a list of token ids");
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    if (ids.size() == vocabulary)
        reader.fail_at(ErrorKind::corrupt, std::string(suppressed_tokens_key), "leaves no token");
    return ids;
}

/// By layer, whether it has a window.
std::vector<bool> read_window_pattern(MetadataReader& reader, uint32_t layers, uint32_t default_period) {
    constexpr std::string_view key = "attention.sliding_window_pattern";
    const gguf::Value* value = reader.file().find(reader.architecture() + "." + std::string(key));
    if (value != nullptr && std::holds_alternative<gguf::Array>(*value))
        return read_layer_flags(reader, key, layers);
    const uint32_t period = reader.integer(key, {.min = 1, .max = layers_max}, default_period);
    std::vector<bool> windowed(layers);
    for (uint32_t layer = 0; layer < layers; ++layer)
        windowed[layer] = (layer + 1) % period != 0;
    return windowed;
}

} // namespace

bool Config::is_recurrent() const {
    return std::any_of(layers.begin(), layers.end(), [](const LayerConfig& layer) {
        return layer.attention() == nullptr && !layer.mixer.empty();
    });
}

uint32_t Config::rotary_dims_max() const {
    uint32_t dims = 0;
    for (const CacheGroup& group : cache_groups)
        dims = std::max(dims, group.rotary.dims);
    return dims;
}

namespace {

/// Sizes of the model and of its feed-forward blocks; layers without a mixer.
Config read_sizes(MetadataReader& reader, LayerLists lists, NormKind norms = NormKind::rms) {
    Config config;
    config.architecture = reader.architecture();
    const uint32_t layers = reader.integer("block_count", {.min = 1, .max = layers_max});
    config.width = reader.integer("embedding_length", {.min = 1, .max = width_max});
    for (const uint32_t feed_forward : read_feed_forward(reader, layers, lists))
        config.layers.push_back({.mixer = {}, .feed_forward = feed_forward});
    config.context = reader.integer("context_length", {.min = 1, .max = context_max});
    config.vocabulary = read_vocabulary(reader);
    config.suppressed_tokens = read_suppressed_tokens(reader, config.vocabulary);
    config.rms_epsilon = static_cast<float>(reader.number(
        norms == NormKind::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
        {.min = 0, .max = 0.1}));
    config.has_layer_norms = norms == NormKind::layer;
    return config;
}

} // namespace

Config read_common(MetadataReader& reader, kernels::RotaryPairs pairs, LayerLists lists, NormKind norms) {
    Config config = read_sizes(reader, lists, norms);
    if (lists == LayerLists::none) {
        config.cache_groups = {CacheGroup{}};
        return config;
    }
    const uint32_t layers = config.layer_count();
    AttentionConfig attention;
    const std::vector<uint32_t> kv_heads = read_kv_heads(reader, layers, lists);
    read_heads(reader, config, kv_heads.empty() ? 0 : std::ranges::max(kv_heads), attention);
    config.attention_scale = 1 / std::sqrt(static_cast<float>(attention.head_dim));
    RotaryConfig rotary;
    rotary.pairs = pairs;
    read_rotary(reader, config, attention.head_dim, rotary);
    config.cache_groups = {CacheGroup{.window_tokens = 0, .rotary = rotary}};
    for (std::size_t i = 0; i < layers; ++i) {
        if (kv_heads.empty()) {
            config.layers[i].mixer = attention;
        } else if (kv_heads[i] > 0) {
            attention.kv_heads = kv_heads[i];
            check_kv_heads(reader, attention);
            config.layers[i].mixer = attention;
        }
    }
    return config;
}

Config read_latent_common(MetadataReader& reader, kernels::RotaryPairs pairs) {
    Config config = read_sizes(reader, LayerLists::alike);
    LatentConfig latent;
    latent.rank =
        read_part(reader, "attention.kv_lora_rank", kernels::latent_key_max - kernels::column_padding);
    latent.query_rank = reader.integer("attention.q_lora_rank", {.min = 0, .max = width_max}, 0);
    const uint32_t query_dim = read_part(reader, "attention.key_length_mla", kernels::latent_key_max);
    latent.value_dim = read_part(reader, "attention.value_length_mla", kernels::latent_key_max);
    RotaryConfig rotary;
    rotary.pairs = pairs;
    read_rotary(reader, config, query_dim, rotary);
    latent.rotated = read_part(reader, "rope.dimension_count", kernels::latent_key_max - latent.rank);
    if (latent.rotated >= query_dim) {
        reader.fail(ErrorKind::corrupt, "rope.dimension_count",
                    fmt::format("not below key_length_mla {}", query_dim));
    }
    latent.unrotated = query_dim - latent.rotated;
    config.attention_scale = 1 / std::sqrt(static_cast<float>(query_dim));
    take_yarn_magnitude(rotary, config.attention_scale);
    config.cache_groups = {CacheGroup{.window_tokens = 0, .rotary = rotary}};
    AttentionConfig attention;
    attention.q_heads = reader.integer("attention.head_count", {.min = 1, .max = heads_max});
    attention.kv_heads = reader.integer("attention.head_count_kv", {.min = 1, .max = heads_max}, 1);
    if (attention.kv_heads != 1) {
        reader.fail(ErrorKind::unsupported, "attention.head_count_kv",
                    "must be 1: all heads attend to one latent");
    }
    attention.head_dim = latent.rank + latent.rotated;
    attention.latent = latent;
    for (LayerConfig& layer : config.layers)
        layer.mixer = attention;
    return config;
}

uint32_t read_window(MetadataReader& reader, std::optional<uint32_t> fallback) {
    return reader.integer("attention.sliding_window", {.min = 0, .max = context_max}, fallback);
}

void add_windowed_layers(MetadataReader& reader, Config& config, WindowPattern pattern) {
    if (pattern.window_tokens == 0)
        return;
    pattern.rotary.base = reader.number("rope.freq_base_swa", {.min = 1, .max = 1e12}, pattern.rotary.base);
    const std::vector<bool> windowed = read_window_pattern(reader, config.layer_count(), pattern.period);
    const auto group = static_cast<uint32_t>(config.cache_groups.size());
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        AttentionConfig* const attention = config.layers[layer].attention();
        if (attention != nullptr && windowed[layer])
            attention->group = group;
    }
    CacheGroup windows{.rotary = std::move(pattern.rotary)};
    if (pattern.sides == WindowSides::both) {
        windows.reach = pattern.window_tokens / 2;
    } else {
        windows.window_tokens = pattern.window_tokens;
    }
    config.cache_groups.push_back(std::move(windows));
}

std::vector<bool> read_layer_flags(MetadataReader& reader, std::string_view key, uint32_t layers) {
    const gguf::Value* value = reader.file().find(reader.architecture() + "." + std::string(key));
    if (value == nullptr)
        return {};
    const auto* list = std::get_if<gguf::Array>(value);
    const auto* flags = list == nullptr ? nullptr : std::get_if<std::vector<bool>>(&list->items);
    if (flags != nullptr && flags->size() == layers)
        return *flags;
    reader.fail(ErrorKind::corrupt, key, fmt::format("must hold {} truth values", layers));
    return std::vector<bool>(layers);
}

float read_softcap(MetadataReader& reader, std::string_view key, double fallback) {
    return static_cast<float>(
        reader.number(key, {.min = 0, .max = 1e6, .lower = LowerBound::inclusive}, fallback));
}

void refuse_experts(MetadataReader& reader) {
    if (reader.integer("expert_count", {.min = 0, .max = width_max}, 0) > 0)
        reader.fail(ErrorKind::unsupported, "expert_count", "mixtures of experts are not supported");
}

ExpertConfig read_experts(MetadataReader& reader, const Config& config) {
    ExpertConfig experts;
    experts.count = reader.integer("expert_count", {.min = 1, .max = kernels::experts_max});
    experts.experts_per_token =
        reader.integer("expert_used_count", {.min = 1, .max = kernels::experts_per_token_max});
    if (experts.experts_per_token > experts.count) {
        reader.fail(ErrorKind::corrupt, "expert_used_count",
                    fmt::format("above expert_count {}", experts.count));
    }
    const double scale =
        reader.number("expert_weights_scale", {.min = 0, .max = 1e6, .lower = LowerBound::inclusive}, 0);
    experts.scale = scale == 0 ? 1 : static_cast<float>(scale);
    const uint32_t shared_out = std::max(1U, config.layers[0].feed_forward / experts.experts_per_token);
    experts.feed_forward =
        reader.integer("expert_feed_forward_length", {.min = 1, .max = width_max}, shared_out);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) { // leading layers may be dense
        experts.fused_gate_up =
            experts.fused_gate_up ||
            reader.file().find_tensor(tensor_name(layer, "ffn_gate_up_exps.weight")) != nullptr;
    }
    return experts;
}

ExpertConfig read_optional_experts(MetadataReader& reader, const Config& config) {
    if (reader.integer("expert_count", {.min = 0, .max = kernels::experts_max}, 0) == 0)
        return {};
    ExpertConfig experts = read_experts(reader, config);
    experts.feed_forward = config.layers[0].feed_forward;
    return experts;
}

ExpertConfig read_biased_experts(MetadataReader& reader, const Config& config) {
    ExpertConfig experts = read_experts(reader, config);
    experts.selection_bias = true;
    experts.dense_layers =
        reader.integer("leading_dense_block_count", {.min = 0, .max = config.layer_count()}, 0);
    constexpr uint32_t sigmoid = 2;
    if (reader.integer("expert_gating_func", {.min = 0, .max = width_max}, sigmoid) != sigmoid)
        reader.fail(ErrorKind::unsupported, "expert_gating_func", "only sigmoid (2) is supported");
    experts.scores = kernels::RoutingRule::Scores::sigmoid;
    experts.normalised = reader.flag("expert_weights_norm", true);
    read_expert_groups(reader, experts);
    return experts;
}

void read_expert_groups(MetadataReader& reader, ExpertConfig& experts) {
    constexpr std::string_view key = "expert_group_count";
    constexpr std::string_view used_key = "expert_group_used_count";
    experts.groups = std::max(1U, reader.integer(key, {.min = 0, .max = kernels::expert_groups_max}, 1));
    if (experts.count % experts.groups != 0)
        reader.fail(ErrorKind::corrupt, key, fmt::format("does not divide expert_count {}", experts.count));
    // Some converters write 0 for models without groups.
    const uint32_t used =
        experts.groups > 1 ? reader.integer(used_key, {.min = 0, .max = experts.groups}) : 1;
    experts.groups_used = used == 0 ? experts.groups : used;
    if (experts.groups_used * (experts.count / experts.groups) < experts.experts_per_token) {
        reader.fail(
            ErrorKind::corrupt, used_key,
            fmt::format("groups with fewer experts than expert_used_count {}", experts.experts_per_token));
    }
}

void read_shared_count(MetadataReader& reader, ExpertConfig& experts) {
    const uint32_t shared = reader.integer("expert_shared_count", {.min = 0, .max = kernels::experts_max});
    if (uint64_t{shared} * experts.feed_forward > width_max)
        reader.fail(ErrorKind::corrupt, "expert_shared_count", "the shared experts are too wide");
    experts.shared_feed_forward = shared * experts.feed_forward;
}

ExpertConfig read_experts_and_shared(MetadataReader& reader, const Config& config) {
    ExpertConfig experts = read_experts(reader, config);
    experts.shared_feed_forward = reader.integer("expert_shared_feed_forward_length",
                                                 {.min = 1, .max = width_max}, config.layers[0].feed_forward);
    experts.shared_row_gate = true;
    return experts;
}

Result<Config> read_config(const gguf::File& file, std::string_view architecture,
                           kernels::RotaryPairs pairs) {
    MetadataReader reader(file, architecture);
    Config config = read_common(reader, pairs);
    refuse_experts(reader);
    ETNA_CHECK(reader.status());
    return config;
}

} // namespace etna::model
