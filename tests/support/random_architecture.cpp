#include "tests/support/random_model.hpp"

#include <stdexcept>
#include <string_view>

namespace etna::test {

std::string_view to_string(RandomArchitecture architecture) {
    using enum RandomArchitecture;
    switch (architecture) {
    case deepseek2:
        return "deepseek2";
    case llama:
        return "llama";
    case mistral3:
        return "mistral3";
    case smollm3:
        return "smollm3";
    case granite:
        return "granite";
    case granitemoe:
        return "granitemoe";
    case granitehybrid:
        return "granitehybrid";
    case glm4:
        return "glm4";
    case glm4moe:
        return "glm4moe";
    case lfm2:
        return "lfm2";
    case lfm2moe:
        return "lfm2moe";
    case nemotron_h:
        return "nemotron_h";
    case nemotron_h_moe:
        return "nemotron_h_moe";
    case qwen2:
        return "qwen2";
    case qwen2moe:
        return "qwen2moe";
    case qwen2vl:
        return "qwen2vl";
    case qwen3:
        return "qwen3";
    case qwen3moe:
        return "qwen3moe";
    case qwen3vl:
        return "qwen3vl";
    case qwen3vlmoe:
        return "qwen3vlmoe";
    case qwen3next:
        return "qwen3next";
    case qwen35:
        return "qwen35";
    case qwen35moe:
        return "qwen35moe";
    case phi3:
        return "phi3";
    case gemma2:
        return "gemma2";
    case gemma3:
        return "gemma3";
    case falcon_h1:
        return "falcon-h1";
    case mamba2:
        return "mamba2";
    case gemma3n:
        return "gemma3n";
    case gemma4:
        return "gemma4";
    case gpt_oss:
        return "gpt-oss";
    }
    throw std::invalid_argument("no such architecture");
}

} // namespace etna::test
