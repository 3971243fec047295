#include "tests/reference/config.hpp"

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

    Result<double> number(std::string_view name, std::optional<double> otherwise = {}) const {
        if (otherwise && file_.find(key(name)) == nullptr)
            return *otherwise;
        const auto value = file_.number(key(name));
        if (!value || !(*value > 0))
            return refuse(name);
        return *value;
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

Status read_scaling(const Keys& keys, RotaryOptions& rotary) {
    const std::string_view type = keys.text("rope.scaling.type").value_or("linear");
    if (type != "none" && type != "linear" && type != "yarn") {
        return Error{.kind = ErrorKind::unsupported,
                     .message = "rope scaling of type `" + std::string(type) + "` is not known here"};
    }
    ETNA_TRY(rotary.attention_factor, keys.number("rope.scaling.attn_factor", 1.0));
    if (type == "none")
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
    rotary.yarn = yarn;
    return {};
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

Result<Config> read_config(const gguf::File& file) {
    Config config;
    config.architecture = file.text("general.architecture").value_or("");
    if (config.architecture != "llama" && config.architecture != "qwen3") {
        return Error{.kind = ErrorKind::unsupported,
                     .message =
                         file.name() + ": architecture `" + config.architecture + "` has no reference"};
    }
    config.pairing = config.architecture == "llama" ? Pairing::adjacent : Pairing::half_split;

    const Keys keys(file, config.architecture);
    ETNA_TRY(config.layers, keys.size("block_count"));
    ETNA_TRY(config.width, keys.size("embedding_length"));
    ETNA_TRY(config.feed_forward, keys.size("feed_forward_length"));
    ETNA_TRY(config.heads, keys.size("attention.head_count"));
    ETNA_TRY(config.kv_heads, keys.size("attention.head_count_kv", config.heads));
    ETNA_TRY(config.head_length, keys.size("attention.key_length", config.width / config.heads));
    ETNA_TRY(const std::size_t value_length, keys.size("attention.value_length", config.head_length));
    if (value_length != config.head_length) {
        return Error{.kind = ErrorKind::unsupported,
                     .message = file.name() + ": values and keys differ in length"};
    }
    ETNA_TRY(config.epsilon, keys.number("attention.layer_norm_rms_epsilon"));
    ETNA_TRY(config.rotary.rotated, keys.size("rope.dimension_count", config.head_length));
    ETNA_TRY(config.rotary.base, keys.number("rope.freq_base", config.rotary.base));
    ETNA_CHECK(read_scaling(keys, config.rotary));
    ETNA_CHECK(check(config));
    return config;
}

} // namespace etna::reference
