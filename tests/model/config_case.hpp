#pragma once

#include "core/model/arch/registry.hpp"
#include "core/model/config.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_model.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace etna::test {

/// A model of default sizes without a tokenizer.
inline RandomModelOptions options_of(RandomArchitecture architecture) {
    return {.architecture = architecture, .tokenizer = RandomTokenizer::none};
}

/// What its architecture reads of a file `m.gguf`.
inline Result<model::Config> config_of(const Bytes& bytes) {
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const auto architecture = model::find_architecture(*file);
    REQUIRE(architecture);
    return (*architecture)->read_config(*file);
}

inline Result<model::Config> config_of(const GgufWriter& writer) {
    return config_of(writer.bytes());
}

inline Result<model::Config> config_of(const RandomModelOptions& options) {
    return config_of(random_model_keys(options));
}

/// The cache group of each layer.
inline std::vector<uint32_t> groups_of(const model::Config& config) {
    std::vector<uint32_t> groups;
    groups.reserve(config.layers.size());
    for (const model::LayerConfig& layer : config.layers)
        groups.push_back(layer.attention()->group);
    return groups;
}

/// The error of a file with one more key.
template <class T>
std::string error_with(const RandomModelOptions& options, const std::string& key, const T& value) {
    GgufWriter writer = random_model_keys(options);
    writer.add(key, value);
    const auto config = config_of(writer);
    REQUIRE(!config);
    return config.error().message;
}

} // namespace etna::test
