// write_model SHAPE FORMAT FILE: a GGUF model of a known model's shape with random weights, for figures of
// speed and comparisons with other programs. The same arguments give the same bytes everywhere.
#include "tests/support/random_model.hpp"

#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>

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
};

const std::map<std::string, WeightFormat> formats = {
    {"f16", WeightFormat::f16},   {"bf16", WeightFormat::bf16}, {"q8_0", WeightFormat::q8_0},
    {"q4_0", WeightFormat::q4_0}, {"q5_0", WeightFormat::q5_0}, {"q4_k_m", WeightFormat::q4_k},
};

/// As llama.cpp mixes Q4_K_M: the head, and values and ffn_down of half of the layers, have more bits.
void mix_q4_k_m(RandomModelOptions& options) {
    options.embedding_format = WeightFormat::q6_k;
    for (uint32_t layer = 0; layer < options.layers; ++layer) {
        const uint32_t eighth = options.layers / 8;
        const bool more_bits = layer < eighth || layer >= 7 * eighth || (layer - eighth) % 3 == 2;
        if (more_bits) {
            options.role_formats[fmt::format("{}.attn_v", layer)] = WeightFormat::q6_k;
            options.role_formats[fmt::format("{}.ffn_down", layer)] = WeightFormat::q6_k;
        }
    }
}

std::optional<RandomModelOptions> options_of(const std::string& shape, const std::string& format) {
    const auto found_shape = shapes.find(shape);
    const auto found_format = formats.find(format);
    if (found_shape == shapes.end() || found_format == formats.end())
        return std::nullopt;
    RandomModelOptions options = found_shape->second;
    options.matrices = options.embedding_format = found_format->second;
    if (format == "q4_k_m")
        mix_q4_k_m(options);
    return options;
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
    const auto options = count == 4 ? options_of(arguments[1], arguments[2]) : std::nullopt;
    if (!options) {
        fmt::print(stderr, "usage: write_model SHAPE FORMAT FILE\nshapes: {}\nformats: {}\n", names(shapes),
                   names(formats));
        return 2;
    }
    const Bytes bytes = random_model(*options);
    std::ofstream file(arguments[3], std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
        fmt::print(stderr, "error: cannot write {}\n", arguments[3]);
        return 1;
    }
    return 0;
}
