// write_model SHAPE FORMAT FILE: a GGUF model of a known model's shape with random weights, for measurements
// of speed and comparisons with other programs. The same arguments give the same bytes everywhere.
#include "tests/support/random_encoder.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/random_reranker.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace {

using namespace etna::test;

const std::map<std::string, RandomModelOptions> shapes = {
    {"smollm-135m",
     {.architecture = RandomArchitecture::llama,
      .layers = 30,
      .embedding = 576,
      .heads = 9,
      .kv_heads = 3,
      .head_dim = 64,
      .feed_forward = 1536,
      .vocabulary = 49152,
      .context = 8192,
      .rope_base = 1e5F,
      .head = HeadKind::tied}},
    {"qwen3-0.6b",
     {.architecture = RandomArchitecture::qwen3,
      .layers = 28,
      .embedding = 1024,
      .heads = 16,
      .kv_heads = 8,
      .head_dim = 128,
      .feed_forward = 3072,
      .vocabulary = 151936,
      .context = 40960,
      .norm_epsilon = 1e-6F,
      .rope_base = 1e6F,
      .head = HeadKind::tied}},
    {"qwen2.5-1.5b",
     {.architecture = RandomArchitecture::qwen2,
      .layers = 28,
      .embedding = 1536,
      .heads = 12,
      .kv_heads = 2,
      .head_dim = 128,
      .feed_forward = 8960,
      .vocabulary = 151936,
      .context = 32768,
      .norm_epsilon = 1e-6F,
      .rope_base = 1e6F,
      .head = HeadKind::tied}},
    // Qwen3-30B-A3B's layers, four of 48, with a fifth of its vocabulary.
    {"qwen3moe-3b",
     {.architecture = RandomArchitecture::qwen3moe,
      .layers = 4,
      .embedding = 2048,
      .heads = 32,
      .kv_heads = 4,
      .head_dim = 128,
      .vocabulary = 32768,
      .context = 40960,
      .norm_epsilon = 1e-6F,
      .rope_base = 1e6F,
      .experts = 128,
      .experts_used = 8,
      .expert_feed_forward = 768}},
};

/// A few layers of each architecture, in rows that every format can store, with what a small vocabulary
/// can have of it: for comparisons of the numbers that come out.
RandomModelOptions small(RandomArchitecture architecture) {
    RandomModelOptions options{.architecture = architecture,
                               .layers = 3,
                               .embedding = 256,
                               .heads = 4,
                               .kv_heads = 2,
                               .head_dim = 64,
                               .feed_forward = 512,
                               .vocabulary = 512,
                               .context = 256,
                               .experts = 8,
                               .expert_feed_forward = 256,
                               .shared_feed_forward = 256};
    if (architecture == RandomArchitecture::qwen2)
        options.head = HeadKind::tied;
    if (architecture == RandomArchitecture::gemma2 || architecture == RandomArchitecture::gemma3) {
        options.head = HeadKind::tied;
        options.head_scale = 1; // the embedding, sixteen times the head, must not outweigh the layers
    }
    if (architecture == RandomArchitecture::gemma4) { // widths of q differ, shared keys and inputs of layers
        options.layers = 6;
        options.window_pattern = 3;
        options.window_head_dim = 128;
        options.kv_heads = 4;
        options.shared_kv_layers = 3; // the peer needs a full layer before the first of them
        options.wide_shared_layers = true;
        options.per_layer_width = 256;
        options.head_dim = 256;
        options.logit_softcap = 30;
    }
    if (architecture == RandomArchitecture::gemma3n) { // the peer fixes streams, rank and sparse layers
        options.layers = 11;
        options.window_pattern = 5;
        options.laurel_rank = 64;
        options.per_layer_width = 256;
        options.sparse_layers = 10;
    }
    if (architecture == RandomArchitecture::phi3) {
        options.window = 0;              // llama.cpp leaves Phi 3's window out,
        options.name = "random weights"; // the peer expects the tokens of Phi 3 in a model of that name
    }
    if (architecture == RandomArchitecture::smollm3)
        options.layers = 5; // one without rotation, and one after it
    if (architecture == RandomArchitecture::qwen3vl || architecture == RandomArchitecture::qwen3vlmoe)
        options.layers = 4; // the peer adds images' inputs after three layers, but never after the last
    if (architecture == RandomArchitecture::mistral3) {
        options.yarn_log_multiplier = 1;
        options.temperature_scale = 0.1F;
    }
    if (architecture == RandomArchitecture::glm4)
        options.rotated = 32;
    if (architecture == RandomArchitecture::glm4moe)
        options.rotated = 32;
    if (architecture == RandomArchitecture::deepseek2) {
        options.latent_rank = options.query_rank = 256;
        options.unrotated = 64;
        options.latent_value_dim = 64;
        options.yarn_log_multiplier = 0.1F;
    }
    if (architecture == RandomArchitecture::deepseek2 || architecture == RandomArchitecture::glm4moe ||
        architecture == RandomArchitecture::nemotron_h_moe)
        options.expert_scale = 2.5F;
    options.mamba_heads = 8; // together twice the embedding, as the peer has it
    options.mamba_head_dim = 64;
    options.mamba_state_dim = 64;
    if (architecture == RandomArchitecture::lfm2 || architecture == RandomArchitecture::lfm2moe ||
        architecture == RandomArchitecture::granitehybrid) {
        options.layers = 4; // LFM2: two with attention
    } else if (architecture == RandomArchitecture::nemotron_h ||
               architecture == RandomArchitecture::nemotron_h_moe) {
        options.layers = 6; // two of each kind
    } else if (is_recurrent(architecture)) {
        options.layers = 4;
        options.attention_interval = 0; // every fourth
        options.rotated = 16;
        options.delta_key_dim = options.delta_value_dim = 64; // equal in llama.cpp
    }
    return options;
}

const std::map<std::string, WeightFormat> formats = {
    {"f32", WeightFormat::f32},     {"f16", WeightFormat::f16},       {"bf16", WeightFormat::bf16},
    {"q8_0", WeightFormat::q8_0},   {"q4_0", WeightFormat::q4_0},     {"q4_1", WeightFormat::q4_1},
    {"q5_0", WeightFormat::q5_0},   {"q5_1", WeightFormat::q5_1},     {"q2_k", WeightFormat::q2_k},
    {"q3_k", WeightFormat::q3_k},   {"q4_k", WeightFormat::q4_k},     {"q5_k", WeightFormat::q5_k},
    {"q6_k", WeightFormat::q6_k},   {"iq4_nl", WeightFormat::iq4_nl}, {"iq4_xs", WeightFormat::iq4_xs},
    {"mxfp4", WeightFormat::mxfp4}, {"q4_k_m", WeightFormat::q4_k},   {"mixture", WeightFormat::q6_k},
};

/// As llama.cpp mixes Q4_K_M: the head, and values and ffn_down of half of the layers, have more bits.
void mix_q4_k_m(RandomModelOptions& options) {
    options.embedding_format = options.head_format = WeightFormat::q6_k;
    for (uint32_t layer = 0; layer < options.layers; ++layer) {
        const uint32_t eighth = options.layers / 8;
        const bool more_bits = layer < eighth || layer >= 7 * options.layers / 8 || (layer - eighth) % 3 == 2;
        if (more_bits) {
            options.role_formats[fmt::format("{}.attn_v", layer)] = WeightFormat::q6_k;
            options.role_formats[fmt::format("{}.ffn_down", layer)] = WeightFormat::q6_k;
            options.role_formats[fmt::format("{}.ffn_down_exps", layer)] = WeightFormat::q6_k;
        }
    }
}

/// Each matrix of each layer in the next format, in a circle; 21 matrices, so that every format is met.
void mix_all(RandomModelOptions& options) {
    std::size_t next = 0;
    for (uint32_t layer = 0; layer < options.layers; ++layer) {
        for (const std::string_view role :
             {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
            const WeightFormat format = all_weight_formats[next++ % std::size(all_weight_formats)];
            options.role_formats[fmt::format("{}.{}", layer, role)] = format;
            options.role_formats[fmt::format("{}.{}_exps", layer, role)] = format;
        }
    }
}

const std::map<std::string, RopeScaling> rope_scalings = {{"", RopeScaling::none},
                                                          {"-linear", RopeScaling::linear},
                                                          {"-yarn", RopeScaling::yarn},
                                                          {"-llama3", RopeScaling::llama3},
                                                          {"-longrope", RopeScaling::longrope}};

/// Variants of an architecture in its files.
std::optional<RandomModelOptions> variant_of(const std::string& name) {
    if (name == "small-llama-experts") { // Mixtral
        RandomModelOptions options = small(RandomArchitecture::llama);
        options.mixture = true;
        return options;
    }
    if (name == "small-deepseek2-lite") { // DeepSeek-V2-Lite, whose number of layers the peer knows
        RandomModelOptions options = small(RandomArchitecture::deepseek2);
        options.layers = 27;
        options.query_rank = 0;
        options.softmax_experts = true;
        options.experts_normalised = false;
        return options;
    }
    if (name == "small-deepseek2-groups") { // DeepSeek-V3
        RandomModelOptions options = small(RandomArchitecture::deepseek2);
        options.expert_groups = 4;
        options.expert_groups_used = 2;
        options.rope_scaling = RopeScaling::yarn;
        return options;
    }
    if (name == "small-granitehybrid-experts") { // Granite 4 H Tiny
        RandomModelOptions options = small(RandomArchitecture::granitehybrid);
        options.mixture = true;
        options.rotates = false;
        return options;
    }
    if (name == "small-gemma4-experts" || name == "small-gemma4-fused") { // Gemma 4 26B A4B
        RandomModelOptions options = small(RandomArchitecture::gemma4);
        options.mixture = true;
        options.fused_experts = name == "small-gemma4-fused";
        if (options.fused_experts)
            options.experts_used = options.experts; // the peer's GELU rounds, which may change a choice
        options.shared_kv_layers = options.per_layer_width = 0;
        options.values_are_keys = true;
        return options;
    }
    if (name == "small-qwen3next-fused") { // as older files are
        RandomModelOptions options = small(RandomArchitecture::qwen3next);
        options.fused_inputs = true;
        return options;
    }
    return std::nullopt;
}

std::optional<RandomModelOptions> shape_of(const std::string& name) {
    if (const auto variant = variant_of(name))
        return variant;
    if (const auto found = shapes.find(name); found != shapes.end())
        return found->second;
    for (const RandomArchitecture architecture : all_random_architectures) {
        for (const auto& [suffix, scaling] : rope_scalings) {
            if (name == fmt::format("small-{}{}", to_string(architecture), suffix)) {
                RandomModelOptions options = small(architecture);
                options.rope_scaling = scaling;
                return options;
            }
        }
    }
    return std::nullopt;
}

std::optional<RandomModelOptions> options_of(const std::string& shape, const std::string& format) {
    std::optional<RandomModelOptions> options = shape_of(shape);
    const auto found_format = formats.find(format);
    if (!options || found_format == formats.end())
        return std::nullopt;
    options->matrices = options->embedding_format = options->head_format = found_format->second;
    // Published files store the router in F32.
    options->role_formats["ffn_gate_inp"] = WeightFormat::f32;
    if (format == "q4_k_m")
        mix_q4_k_m(*options);
    if (format == "mixture")
        mix_all(*options);
    return options;
}

/// Encoders in the sizes that people use.
const std::map<std::string, RandomEncoderOptions> encoders = {
    {"bert-base",
     {.architecture = "bert",
      .layers = 12,
      .embedding = 768,
      .heads = 12,
      .feed_forward = 3072,
      .vocabulary = 30522,
      .context = 512,
      .tokenizer = EncoderTokenizer::wordpiece}},
    {"nomic-embed",
     {.architecture = "nomic-bert",
      .layers = 12,
      .embedding = 768,
      .heads = 12,
      .feed_forward = 3072,
      .vocabulary = 30528,
      .context = 2048,
      .tokenizer = EncoderTokenizer::wordpiece}},
    {"bge-m3", // XLM-RoBERTa large
     {.architecture = "bert",
      .layers = 24,
      .embedding = 1024,
      .heads = 16,
      .feed_forward = 4096,
      .vocabulary = 250002,
      .context = 8192,
      .token_types = 1,
      .pooling = 2, // cls
      .tokenizer = EncoderTokenizer::unigram}},
};

Bytes small_encoder(std::string_view architecture, EncoderTokenizer tokenizer, WeightFormat format) {
    return random_encoder({.architecture = architecture,
                           .layers = 6,
                           .embedding = 256,
                           .feed_forward = 512,
                           .vocabulary = 512,
                           .kv_heads = 2,
                           .head_dim = 64,
                           .token_types = tokenizer == EncoderTokenizer::unigram ? 1U : 2U,
                           .tokenizer = tokenizer,
                           .matrices = format});
}

/// Of a reranker in F32; empty for another shape.
std::optional<Bytes> reranker_of(const std::string& shape) {
    if (shape == "small-bert-reranker")
        return random_reranker(RandomReranker::bert);
    if (shape == "small-xlm-roberta-reranker")
        return random_reranker(RandomReranker::xlm_roberta);
    return shape == "small-qwen3-reranker" ? std::optional(random_reranker(RandomReranker::qwen3))
                                           : std::nullopt;
}

/// Of an encoder or reranker; empty for another shape.
std::optional<Bytes> encoder_of(const std::string& shape, const std::string& format) {
    const auto found_format = formats.find(format);
    if (found_format == formats.end())
        return std::nullopt;
    if (auto reranker = reranker_of(shape))
        return reranker;
    if (const auto found = encoders.find(shape); found != encoders.end()) {
        RandomEncoderOptions options = found->second;
        options.matrices = found_format->second;
        return random_encoder(options);
    }
    if (shape == "small-xlm-roberta") // BERT's architecture, with one type of tokens
        return small_encoder("bert", EncoderTokenizer::unigram, found_format->second);
    for (const std::string_view architecture : all_random_encoders) {
        if (shape == fmt::format("small-{}", architecture))
            return small_encoder(architecture, EncoderTokenizer::wordpiece, found_format->second);
    }
    return std::nullopt;
}

template <class Map>
std::string names(const Map& map) {
    std::string result;
    for (const auto& [name, value] : map)
        result += (result.empty() ? "" : ", ") + name;
    return result;
}

} // namespace

int main(int count, char** arguments) {
    const auto encoder = count == 4 ? encoder_of(arguments[1], arguments[2]) : std::nullopt;
    const auto options = count == 4 ? options_of(arguments[1], arguments[2]) : std::nullopt;
    if (!encoder && !options) {
        fmt::print(stderr,
                   "usage: write_model SHAPE FORMAT FILE\nshapes: {}, {}, "
                   "small-ARCHITECTURE[-ROPE_SCALING], small-llama-experts, small-granitehybrid-experts, "
                   "small-gemma4-experts, small-gemma4-fused, small-qwen3next-fused, small-xlm-roberta, "
                   "small-ENCODER, "
                   "small-{{bert,xlm-roberta,qwen3}}-reranker\nformats: {}\n",
                   names(shapes), names(encoders), names(formats));
        return 2;
    }
    const Bytes bytes = encoder ? *encoder : random_model(*options);
    std::ofstream file(arguments[3], std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
        fmt::print(stderr, "error: cannot write {}\n", arguments[3]);
        return 1;
    }
    return 0;
}
