#include "tests/reference/config.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace etna::reference {
namespace {

// Looks up "ARCHITECTURE.NAME"; a key that is there but of the wrong type is an error, never the default.
class Keys {
public:
    Keys(const gguf::File& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

    Result<std::size_t> size(std::string_view name, std::optional<std::size_t> otherwise = {}) const {
        if (otherwise && file_.find(key(name)) == nullptr)
            return *otherwise;
        const auto value = file_.unsigned_integer(key(name));
        if (!value || *value == 0)
            return refuse(name);
        return static_cast<std::size_t>(*value);
    }

    /// A count that may be zero.
    Result<std::size_t> count(std::string_view name, std::size_t otherwise) const {
        if (file_.find(key(name)) == nullptr)
            return otherwise;
        const auto value = file_.unsigned_integer(key(name));
        return value ? Result<std::size_t>(static_cast<std::size_t>(*value)) : refuse(name);
    }

    Result<double> number(std::string_view name, std::optional<double> otherwise = {}) const {
        if (otherwise && file_.find(key(name)) == nullptr)
            return *otherwise;
        const auto value = file_.number(key(name));
        if (!value || !(*value > 0))
            return refuse(name);
        return *value;
    }

    /// A number for each layer; one number stands for all.
    Result<std::vector<std::size_t>> sizes(std::string_view name, std::size_t count) const {
        const gguf::Value* value = file_.find(key(name));
        const auto* list = value == nullptr ? nullptr : std::get_if<gguf::Array>(value);
        if (list == nullptr) {
            ETNA_TRY(const std::size_t one, size(name));
            return std::vector<std::size_t>(count, one);
        }
        std::vector<std::size_t> found;
        if (const auto* items = std::get_if<std::vector<int32_t>>(&list->items))
            found.assign(items->begin(), items->end());
        if (const auto* items = std::get_if<std::vector<uint32_t>>(&list->items))
            found.assign(items->begin(), items->end());
        if (found.size() != count)
            return refuse(name);
        return found;
    }

    [[nodiscard]] std::vector<bool> flags(std::string_view name) const {
        return std::get<std::vector<bool>>(std::get<gguf::Array>(*file_.find(key(name))).items);
    }
    [[nodiscard]] std::vector<float> floats(std::string_view name) const {
        return std::get<std::vector<float>>(std::get<gguf::Array>(*file_.find(key(name))).items);
    }
    [[nodiscard]] bool has(std::string_view name) const { return file_.find(key(name)) != nullptr; }
    [[nodiscard]] bool flag(std::string_view name, bool otherwise) const {
        const gguf::Value* value = file_.find(key(name));
        return value == nullptr ? otherwise : std::get<bool>(*value);
    }
    [[nodiscard]] std::optional<std::string_view> text(std::string_view name) const {
        return file_.text(key(name));
    }

private:
    [[nodiscard]] std::string key(std::string_view name) const { return prefix_ + "." + std::string(name); }
    [[nodiscard]] Error refuse(std::string_view name) const {
        return {.kind = ErrorKind::corrupt,
                .message = file_.name() + ": key `" + key(name) + "` is not a positive number"};
    }

    const gguf::File& file_;
    std::string prefix_;
};

bool is_one_of(std::string_view architecture, std::initializer_list<std::string_view> several) {
    return std::find(several.begin(), several.end(), architecture) != several.end();
}

Status read_scaling(const Keys& keys, RotaryOptions& rotary) {
    const std::string_view type = keys.text("rope.scaling.type").value_or("linear");
    if (type != "none" && type != "linear" && type != "yarn" && type != "longrope") {
        return Error{.kind = ErrorKind::unsupported,
                     .message = "rope scaling of type `" + std::string(type) + "` is not known here"};
    }
    ETNA_TRY(rotary.attention_factor, keys.number("rope.scaling.attn_factor", 1.0));
    if (type == "none" || type == "longrope") // longrope's divisors are tensors
        return {};
    ETNA_TRY(const double legacy_factor, keys.number("rope.scale_linear", 1.0));
    ETNA_TRY(rotary.factor, keys.number("rope.scaling.factor", legacy_factor));
    if (type == "linear")
        return {};

    Yarn yarn;
    ETNA_TRY(const std::size_t context_tokens, keys.size("context_length"));
    ETNA_TRY(const std::size_t original_tokens,
             keys.size("rope.scaling.original_context_length", context_tokens));
    yarn.original_context_tokens = static_cast<double>(original_tokens);
    ETNA_TRY(yarn.beta_fast, keys.number("rope.scaling.yarn_beta_fast", yarn.beta_fast));
    ETNA_TRY(yarn.beta_slow, keys.number("rope.scaling.yarn_beta_slow", yarn.beta_slow));
    ETNA_TRY(yarn.log_multiplier, keys.number("rope.scaling.yarn_log_multiplier", 0.0));
    rotary.yarn = yarn;
    return {};
}

double attention_scale(const Config& config) {
    // Gemma 3 27B, alone with 62 layers, and Gemma 2 27B, alone with 46, divide the width by the heads
    // instead (their published configurations have a query_pre_attn_scalar of 168 = 5376 / 32 and of 144 =
    // 4608 / 32); files have no key for it.
    if ((config.architecture == "gemma3" && config.layers == 62) ||
        (config.architecture == "gemma2" && config.layers == 46))
        return 1 / std::sqrt(static_cast<double>(config.width) / static_cast<double>(config.heads));
    return 1 / std::sqrt(static_cast<double>(config.head_length));
}

/// Windows of 4096 by default, in the first of every two layers; windows rotate as the others do.
Status read_gemma2(const Keys& keys, Config& config) {
    config.gate = GateKind::gelu;
    config.embedding_scale = std::sqrt(static_cast<double>(config.width));
    ETNA_TRY(config.attention_soft_cap, keys.number("attn_logit_softcapping", 50.0));
    ETNA_TRY(config.logit_soft_cap, keys.number("final_logit_softcapping", 30.0));
    ETNA_TRY(const std::size_t window, keys.size("attention.sliding_window", 4096));
    ETNA_TRY(const std::size_t period, keys.size("attention.sliding_window_pattern", 2));
    for (std::size_t layer = 0; layer < config.layers; ++layer) {
        if (layer % period + 1 < period)
            config.windows[layer] = window;
    }
    return {};
}

Status read_gemma3(const Keys& keys, Config& config) {
    config.gate = GateKind::gelu;
    config.embedding_scale = std::sqrt(static_cast<double>(config.width));
    ETNA_TRY(config.attention_soft_cap, keys.number("attn_logit_softcapping", 0.0));
    ETNA_TRY(config.logit_soft_cap, keys.number("final_logit_softcapping", 0.0));
    ETNA_TRY(const std::size_t window, keys.size("attention.sliding_window"));
    ETNA_TRY(const std::size_t period, keys.size("attention.sliding_window_pattern", 6));
    for (std::size_t layer = 0; layer < config.layers; ++layer)
        config.windows[layer] = (layer + 1) % period == 0 ? 0 : window;
    RotaryOptions local{.rotated = config.rotary.rotated};
    ETNA_TRY(local.base, keys.number("rope.freq_base_swa", 10000.0));
    config.window_rotary = local;
    return {};
}

/// The last layers read the keys of the last layer before them that has a window as they have, or none as
/// they have; the gates of the first layers are sparse.
Status read_gemma3n(const Keys& keys, Config& config) {
    config.gate = GateKind::gelu;
    config.embedding_scale = std::sqrt(static_cast<double>(config.width));
    config.attention_scale = 1;
    ETNA_TRY(config.logit_soft_cap, keys.number("final_logit_softcapping", 30.0));
    ETNA_TRY(const std::size_t window, keys.size("attention.sliding_window"));
    ETNA_TRY(const auto widths, keys.sizes("feed_forward_length", config.layers));
    ETNA_TRY(config.per_layer_width, keys.size("embedding_length_per_layer_input"));
    ETNA_TRY(config.streams, keys.size("altup.num_inputs"));
    ETNA_TRY(const std::size_t shared, keys.count("attention.shared_kv_layers", 0));
    const std::vector<bool> has_window = keys.flags("attention.sliding_window_pattern");
    const std::vector<float> deviations = keys.floats("activation_sparsity_scale");
    for (std::size_t layer = 0; layer < config.layers; ++layer) {
        config.windows[layer] = has_window[layer] ? window : 0;
        Config::Layer shape{
            .kv_heads = config.kv_heads, .head_length = config.head_length, .feed_forward = widths[layer]};
        if (std::isfinite(deviations[layer]))
            shape.deviations = deviations[layer];
        if (layer >= config.layers - shared) {
            std::size_t source = config.layers - shared - 1;
            while (has_window[source] != has_window[layer])
                --source;
            shape.keys_of = source;
        }
        config.shapes.push_back(shape);
    }
    RotaryOptions local{.rotated = config.rotary.rotated};
    ETNA_TRY(local.base, keys.number("rope.freq_base_swa", 10000.0));
    config.window_rotary = local;
    return {};
}

/// Windows rotate by their own base and have their own head length; the last layers read the keys of the last
/// layer before them that has a window as they have, or none as they have.
Status read_gemma4(const Keys& keys, Config& config) {
    config.gate = GateKind::gelu;
    config.embedding_scale = std::sqrt(static_cast<double>(config.width));
    config.attention_scale = 1;
    ETNA_TRY(config.logit_soft_cap, keys.number("final_logit_softcapping", 0.0));
    ETNA_TRY(const std::size_t window, keys.size("attention.sliding_window"));
    ETNA_TRY(const std::size_t window_length, keys.size("attention.key_length_swa", config.head_length));
    ETNA_TRY(const auto kv_heads, keys.sizes("attention.head_count_kv", config.layers));
    ETNA_TRY(const auto widths, keys.sizes("feed_forward_length", config.layers));
    ETNA_TRY(config.per_layer_width, keys.count("embedding_length_per_layer_input", 0));
    ETNA_TRY(const std::size_t shared, keys.count("attention.shared_kv_layers", 0));
    const std::vector<bool> has_window = keys.flags("attention.sliding_window_pattern");
    for (std::size_t layer = 0; layer < config.layers; ++layer) {
        config.windows[layer] = has_window[layer] ? window : 0;
        Config::Layer shape{.kv_heads = kv_heads[layer],
                            .head_length = has_window[layer] ? window_length : config.head_length,
                            .feed_forward = widths[layer]};
        if (layer >= config.layers - shared) {
            std::size_t source = config.layers - shared - 1;
            while (has_window[source] != has_window[layer])
                --source;
            shape.keys_of = source;
        }
        config.shapes.push_back(shape);
    }
    RotaryOptions local;
    ETNA_TRY(local.rotated, keys.size("rope.dimension_count_swa", window_length));
    ETNA_TRY(local.base, keys.number("rope.freq_base_swa", config.rotary.base));
    config.window_rotary = local;
    ETNA_TRY(config.experts, keys.count("expert_count", 0));
    if (config.experts == 0)
        return {};
    ETNA_TRY(config.experts_used, keys.size("expert_used_count"));
    ETNA_TRY(config.expert_feed_forward, keys.size("expert_feed_forward_length"));
    return {};
}

/// Gated delta nets, but for every fourth layer; value heads of qwen35 are reordered so that head h reads key
/// head h % key heads.
Status read_delta_nets(const Keys& keys, Config& config) {
    ETNA_TRY(config.convolution_width, keys.size("ssm.conv_kernel"));
    ETNA_TRY(config.delta_heads.key_length, keys.size("ssm.state_size"));
    ETNA_TRY(config.delta_heads.key_heads, keys.size("ssm.group_count"));
    ETNA_TRY(config.delta_heads.value_heads, keys.size("ssm.time_step_rank"));
    ETNA_TRY(const std::size_t inner, keys.size("ssm.inner_size"));
    ETNA_TRY(const std::size_t period, keys.size("full_attention_interval", 4));
    config.delta_heads.value_length = inner / config.delta_heads.value_heads;
    config.delta_heads.is_tiled = config.architecture != "qwen3next";
    for (std::size_t layer = 0; layer < config.layers; ++layer)
        config.recurrent.push_back((layer + 1) % period != 0);
    return {};
}

/// Short convolutions, but for the layers with key/value heads.
Status read_lfm2(const Keys& keys, Config& config) {
    ETNA_TRY(config.convolution_width, keys.size("shortconv.l_cache"));
    ETNA_TRY(const std::vector<std::size_t> heads, keys.sizes("attention.head_count_kv", config.layers));
    for (const std::size_t count : heads)
        config.recurrent.push_back(count == 0);
    return {};
}

/// Mamba 2 in layers without key/value heads and, in nemotron_h, without feed-forward length.
Status read_mamba(const Keys& keys, Config& config) {
    ETNA_TRY(config.convolution_width, keys.size("ssm.conv_kernel"));
    ETNA_TRY(config.mamba_heads.state_length, keys.size("ssm.state_size"));
    ETNA_TRY(config.mamba_heads.groups, keys.size("ssm.group_count"));
    ETNA_TRY(config.mamba_heads.heads, keys.size("ssm.time_step_rank"));
    ETNA_TRY(const std::size_t inner, keys.size("ssm.inner_size"));
    config.mamba_heads.head_length = inner / config.mamba_heads.heads;
    if (is_one_of(config.architecture, {"falcon-h1", "mamba2"})) { // in every layer
        config.recurrent.assign(config.layers, true);
        const bool has_others = config.architecture == "falcon-h1"; // attention, a feed-forward block
        config.has_feed_forward.assign(config.layers, has_others);
        config.rotates.assign(config.layers, has_others);
        return {};
    }
    ETNA_TRY(const std::size_t stored, keys.size("block_count")); // with those that predict further tokens
    ETNA_TRY(const std::vector<std::size_t> heads, keys.sizes("attention.head_count_kv", stored));
    ETNA_TRY(const std::vector<std::size_t> lengths, keys.sizes("feed_forward_length", stored));
    config.recurrent.clear();
    for (std::size_t layer = 0; layer < config.layers; ++layer) {
        const bool feeds = is_nemotron(config) && lengths[layer] > 0;
        config.recurrent.push_back(heads[layer] == 0 && !feeds);
        if (is_nemotron(config)) {
            config.has_mixer[layer] = !feeds;
            config.has_feed_forward[layer] = feeds;
            config.rotates[layer] = false;
        }
    }
    return {};
}

Status read_experts(const Keys& keys, Config& config) {
    ETNA_TRY(config.experts, keys.size("expert_count"));
    ETNA_TRY(config.experts_used, keys.size("expert_used_count"));
    if (is_one_of(config.architecture, {"llama", "mistral3", "granitemoe", "granitehybrid"})) {
        config.expert_feed_forward = config.feed_forward;
        ETNA_TRY(config.shared_feed_forward, keys.size("expert_shared_feed_forward_length", 0));
        return {};
    }
    ETNA_TRY(config.expert_feed_forward,
             keys.size("expert_feed_forward_length", config.feed_forward / config.experts_used));
    config.routing.is_normalised =
        keys.flag("expert_weights_norm", !is_one_of(config.architecture, {"deepseek2", "qwen2moe"}));
    ETNA_TRY(config.routing.scale, keys.number("expert_weights_scale", 1.0));
    if (is_one_of(config.architecture, {"glm4moe", "lfm2moe", "nemotron_h_moe"})) {
        config.routing.is_sigmoid = true;
        ETNA_TRY(config.dense_layers, keys.count("leading_dense_block_count", 0));
    }
    if (config.architecture == "deepseek2") {
        ETNA_TRY(const std::size_t gating, keys.size("expert_gating_func", 1));
        config.routing.is_sigmoid = gating == 2;
        ETNA_TRY(config.dense_layers, keys.count("leading_dense_block_count", 0));
    }
    if (is_one_of(config.architecture, {"deepseek2", "glm4moe"})) {
        ETNA_TRY(config.routing.groups, keys.size("expert_group_count", 1));
        ETNA_TRY(config.routing.groups_used, keys.size("expert_group_used_count", config.routing.groups));
        ETNA_TRY(const std::size_t shared, keys.count("expert_shared_count", 0));
        config.shared_feed_forward = shared * config.expert_feed_forward;
    }
    if (is_one_of(config.architecture, {"nemotron_h_moe", "qwen2moe", "qwen3next", "qwen35moe"})) {
        ETNA_TRY(config.shared_feed_forward,
                 keys.size("expert_shared_feed_forward_length", config.feed_forward));
    }
    return {};
}

/// transformers, modeling_deepseek_v3.py: with mscale_all_dim (files store it times 0.1), the magnitude of
/// YaRN is squared and multiplies the scores, and mscale, which is equal to it, leaves the rotation without
/// one.
void take_yarn_magnitude(Config& config) {
    if (!config.rotary.yarn || config.rotary.factor <= 1 || config.rotary.yarn->log_multiplier == 0)
        return;
    const double mscale = config.rotary.yarn->log_multiplier / 0.1;
    config.attention_scale *= std::pow(0.1 * mscale * std::log(config.rotary.factor) + 1, 2);
    config.rotary.yarn->log_multiplier = 1;
}

/// Heads as they are before absorption.
Status read_latent(const Keys& keys, Config& config) {
    LatentShape& latent = config.latent;
    ETNA_TRY(latent.rank, keys.size("attention.kv_lora_rank"));
    ETNA_TRY(latent.query_rank, keys.count("attention.q_lora_rank", 0));
    ETNA_TRY(config.head_length, keys.size("attention.key_length_mla"));
    ETNA_TRY(latent.value_length, keys.size("attention.value_length_mla"));
    ETNA_TRY(latent.rotated, keys.size("rope.dimension_count"));
    latent.unrotated = config.head_length - latent.rotated;
    config.kv_heads = config.heads;
    return {};
}

Status read_own_keys(const Keys& keys, Config& config) {
    ETNA_TRY(const std::size_t predicting, keys.size("nextn_predict_layers", 0));
    config.layers -= predicting;
    config.windows.assign(config.layers, 0);
    config.attention_scale = attention_scale(config);
    config.rotates.assign(config.layers, true);
    config.has_mixer.assign(config.layers, true);
    config.has_feed_forward.assign(config.layers, true);
    if (is_one_of(config.architecture, {"deepseek2", "glm4moe", "lfm2moe", "nemotron_h_moe", "qwen2moe",
                                        "qwen3moe", "qwen3vlmoe", "gpt-oss", "qwen3next", "qwen35moe"}) ||
        (is_one_of(config.architecture, {"llama", "mistral3", "granitemoe", "granitehybrid"}) &&
         keys.has("expert_count")))
        ETNA_CHECK(read_experts(keys, config));
    if (has_delta_nets(config))
        return read_delta_nets(keys, config);
    if (is_lfm2(config))
        return read_lfm2(keys, config);
    config.recurrent.assign(config.layers, false);
    if (has_mamba(config))
        ETNA_CHECK(read_mamba(keys, config));
    if (config.latent.rank > 0)
        take_yarn_magnitude(config);
    if (config.architecture == "gemma2")
        return read_gemma2(keys, config);
    if (config.architecture == "gemma3")
        return read_gemma3(keys, config);
    if (config.architecture == "gemma3n")
        return read_gemma3n(keys, config);
    if (config.architecture == "gemma4")
        return read_gemma4(keys, config);
    if (config.architecture == "phi3") {
        ETNA_TRY(const std::size_t window, keys.size("attention.sliding_window", 0));
        config.windows.assign(config.layers, window);
    }
    if (config.architecture == "smollm3") {
        for (std::size_t layer = 3; layer < config.layers; layer += 4)
            config.rotates[layer] = false;
    }
    if (is_one_of(config.architecture, {"granite", "granitemoe", "granitehybrid"})) {
        ETNA_TRY(config.residual_scale, keys.number("residual_scale", 1.0));
        ETNA_TRY(config.embedding_scale, keys.number("embedding_scale", 1.0));
        ETNA_TRY(config.attention_scale, keys.number("attention.scale", config.attention_scale));
        ETNA_TRY(config.logit_divisor, keys.number("logit_scale"));
        config.rotates.assign(config.layers, keys.flag("rope.scaling.finetuned", true));
    }
    if (config.architecture == "mistral3") {
        ETNA_TRY(config.temperature_scale, keys.number("attention.temperature_scale", 0.0));
        config.temperature_tokens = static_cast<std::size_t>(config.original_context_tokens);
    }
    if (config.architecture == "gpt-oss") {
        config.gate = GateKind::clamped_silu;
        ETNA_TRY(const std::size_t window, keys.size("attention.sliding_window"));
        for (std::size_t layer = 0; layer < config.layers; layer += 2)
            config.windows[layer] = window;
    }
    return {};
}

bool has_draft_head(const gguf::File& file, const Config& config) {
    return !is_one_of(config.architecture, {"glm4"}) &&
           file.find_tensor("blk." + std::to_string(config.layers) + ".nextn.eh_proj.weight") != nullptr;
}

/// A layer with attention and, in a mixture, with experts.
void add_draft_head(Config& config) {
    config.has_draft_head = true;
    config.windows.push_back(0);
    config.rotates.push_back(config.rotates.back());
    config.recurrent.push_back(false);
    config.has_mixer.push_back(true);
    config.has_feed_forward.push_back(true);
    config.shapes.push_back({.kv_heads = config.kv_heads,
                             .head_length = config.head_length,
                             .feed_forward = config.feed_forward});
}

Status check(const Config& config) {
    if (config.heads % config.kv_heads != 0)
        return Error{.kind = ErrorKind::corrupt, .message = "kv heads do not divide heads"};
    if (config.rotary.rotated % 2 != 0 || config.rotary.rotated > config.head_length) {
        return Error{.kind = ErrorKind::corrupt,
                     .message = "rotated elements are odd or more than a head has"};
    }
    if (config.rotary.base <= 1)
        return Error{.kind = ErrorKind::corrupt, .message = "the rotary base is not above 1"};
    return {};
}

} // namespace

bool is_nemotron(const Config& config) {
    return is_one_of(config.architecture, {"nemotron_h", "nemotron_h_moe"});
}

bool has_mamba(const Config& config) {
    return is_one_of(config.architecture, {"falcon-h1", "granitehybrid", "mamba2"}) || is_nemotron(config);
}

bool is_lfm2(const Config& config) {
    return is_one_of(config.architecture, {"lfm2", "lfm2moe"});
}

bool has_delta_nets(const Config& config) {
    return is_one_of(config.architecture, {"qwen3next", "qwen35", "qwen35moe"});
}

namespace {

/// Of attention, and the widths of feed-forward blocks.
Status read_heads(const Keys& keys, const gguf::File& file, Config& config) {
    if (config.architecture == "mamba2") { // has neither; the numbers are only valid
        config.feed_forward = config.heads = config.kv_heads = 1;
        config.head_length = 2;
        return {};
    }
    ETNA_TRY(const auto lengths, keys.sizes("feed_forward_length", config.layers));
    config.feed_forward = *std::max_element(lengths.begin(), lengths.end());
    ETNA_TRY(config.heads, keys.size("attention.head_count"));
    config.kv_heads = config.heads;
    if (keys.has("attention.head_count_kv")) {
        ETNA_TRY(const auto heads, keys.sizes("attention.head_count_kv", config.layers));
        config.kv_heads = *std::max_element(heads.begin(), heads.end());
    }
    ETNA_TRY(config.head_length, keys.size("attention.key_length", config.width / config.heads));
    ETNA_TRY(const std::size_t value_length, keys.size("attention.value_length", config.head_length));
    if (config.architecture == "deepseek2")
        return read_latent(keys, config);
    if (value_length != config.head_length) {
        return Error{.kind = ErrorKind::unsupported,
                     .message = file.name() + ": values and keys differ in length"};
    }
    return {};
}

} // namespace

Result<Config> read_config(const gguf::File& file) {
    Config config;
    config.architecture = file.text("general.architecture").value_or("");
    if (!is_one_of(config.architecture,
                   {"llama",      "mistral3",  "smollm3", "granite",       "granitemoe", "glm4",
                    "glm4moe",    "lfm2",      "lfm2moe", "granitehybrid", "nemotron_h", "nemotron_h_moe",
                    "qwen2",      "qwen2moe",  "qwen2vl", "qwen3",         "qwen3moe",   "qwen3vl",
                    "qwen3vlmoe", "qwen3next", "qwen35",  "qwen35moe",     "phi3",       "gemma2",
                    "gemma3",     "gemma3n",   "gemma4",  "gpt-oss",       "deepseek2",  "falcon-h1",
                    "mamba2"})) {
        return Error{.kind = ErrorKind::unsupported,
                     .message =
                         file.name() + ": architecture `" + config.architecture + "` has no reference"};
    }
    const Keys keys(file, config.architecture);
    const bool is_adjacent = is_one_of(config.architecture, {"llama", "mistral3", "smollm3", "granite",
                                                             "granitemoe", "granitehybrid", "deepseek2"}) ||
                             (config.architecture == "glm4" && !keys.has("rope.dimension_sections"));
    config.pairing = is_adjacent ? Pairing::adjacent : Pairing::half_split;

    ETNA_TRY(config.layers, keys.size("block_count"));
    ETNA_TRY(config.width, keys.size("embedding_length"));
    ETNA_CHECK(read_heads(keys, file, config));
    ETNA_TRY(config.epsilon, keys.number("attention.layer_norm_rms_epsilon"));
    ETNA_TRY(config.context_tokens, keys.size("context_length"));
    ETNA_TRY(const std::size_t original,
             keys.size("rope.scaling.original_context_length", config.context_tokens));
    config.original_context_tokens = static_cast<double>(original);
    ETNA_TRY(config.rotary.rotated, keys.size("rope.dimension_count", config.head_length));
    ETNA_TRY(config.rotary.base, keys.number("rope.freq_base", config.rotary.base));
    ETNA_CHECK(read_scaling(keys, config.rotary));
    ETNA_CHECK(read_own_keys(keys, config));
    config.shapes.resize(config.layers, {.kv_heads = config.kv_heads,
                                         .head_length = config.head_length,
                                         .feed_forward = config.feed_forward});
    if (has_draft_head(file, config))
        add_draft_head(config);
    ETNA_CHECK(check(config));
    return config;
}

} // namespace etna::reference
