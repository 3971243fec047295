#include "core/model/arch/registry.hpp"

#include "core/base/near_names.hpp"
#include "core/gguf/cursor.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::model {
namespace {

constexpr std::array all_architectures{
    &bert_architecture,           &deepseek2_architecture,
    &falcon_h1_architecture,      &gemma_embedding_architecture,
    &gemma2_architecture,         &gemma3_architecture,
    &gemma3n_architecture,        &gemma4_architecture,
    &glm4_architecture,           &glm4moe_architecture,
    &gpt_oss_architecture,        &granite_architecture,
    &granitehybrid_architecture,  &granitemoe_architecture,
    &jina_bert_v2_architecture,   &lfm2_architecture,
    &lfm2moe_architecture,        &llama_architecture,
    &mamba2_architecture,         &mistral3_architecture,
    &modern_bert_architecture,    &nemotron_h_architecture,
    &nemotron_h_moe_architecture, &nomic_bert_architecture,
    &phi3_architecture,           &qwen2_architecture,
    &qwen2moe_architecture,       &qwen2vl_architecture,
    &qwen3_architecture,          &qwen35_architecture,
    &qwen35moe_architecture,      &qwen3moe_architecture,
    &qwen3next_architecture,      &qwen3vl_architecture,
    &qwen3vlmoe_architecture,     &smollm3_architecture,
};

} // namespace

std::span<const Architecture* const> architectures() {
    return all_architectures;
}

Result<const Architecture*> find_architecture(const gguf::File& file) {
    const auto name = file.text("general.architecture");
    if (!name) {
        return Error{.kind = ErrorKind::corrupt,
                     .message = fmt::format("{}: general.architecture is missing, so the file is not a model",
                                            file.name()),
                     .hint = "the file may be an adapter, or be damaged; fetch the model again"};
    }
    std::vector<std::string> known;
    for (const Architecture* architecture : architectures()) {
        if (architecture->name == *name)
            return architecture;
        known.emplace_back(architecture->name);
    }
    std::string hint = fmt::format("supported are {}", fmt::join(known, ", "));
    if (const auto near = near_names(*name, known); !near.empty())
        hint = fmt::format("similar: {}; {}", fmt::join(near, ", "), hint);
    return Error{
        .kind = ErrorKind::unsupported,
        .message = fmt::format("{}: architecture {} is not supported", file.name(), gguf::backquoted(*name)),
        .hint = std::move(hint)};
}

} // namespace etna::model
