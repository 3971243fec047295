#include "core/store/known_models.hpp"

#include <algorithm>
#include <array>

namespace etna::store {
namespace {

constexpr std::array table{
    KnownModel{"deepseek-r1:1.5b", "bartowski", "DeepSeek-R1-Distill-Qwen-1.5B-GGUF", "Q4_K_M"},
    KnownModel{"gemma2:2b", "bartowski", "gemma-2-2b-it-GGUF", "Q4_K_M"},
    KnownModel{"gemma3:270m", "ggml-org", "gemma-3-270m-it-GGUF", "Q8_0"},
    KnownModel{"gemma3:1b", "ggml-org", "gemma-3-1b-it-GGUF", "Q4_K_M"},
    KnownModel{"gemma3:4b", "ggml-org", "gemma-3-4b-it-GGUF", "Q4_K_M"},
    KnownModel{"gemma3:4b-qat", "google", "gemma-3-4b-it-qat-q4_0-gguf", "Q4_0"},
    KnownModel{"gemma3:12b", "ggml-org", "gemma-3-12b-it-GGUF", "Q4_K_M"},
    KnownModel{"gemma3:27b", "ggml-org", "gemma-3-27b-it-GGUF", "Q4_K_M"},
    KnownModel{"gpt-oss:20b", "ggml-org", "gpt-oss-20b-GGUF", "MXFP4"},
    KnownModel{"gpt-oss:120b", "ggml-org", "gpt-oss-120b-GGUF", "MXFP4"},
    KnownModel{"llama3.1:8b", "bartowski", "Meta-Llama-3.1-8B-Instruct-GGUF", "Q4_K_M"},
    KnownModel{"llama3.2:1b", "bartowski", "Llama-3.2-1B-Instruct-GGUF", "Q4_K_M"},
    KnownModel{"llama3.2:3b", "bartowski", "Llama-3.2-3B-Instruct-GGUF", "Q4_K_M"},
    KnownModel{"mistral:7b", "bartowski", "Mistral-7B-Instruct-v0.3-GGUF", "Q4_K_M"},
    KnownModel{"phi3:3.8b", "microsoft", "Phi-3-mini-4k-instruct-gguf", "Q4"},
    KnownModel{"phi4-mini:3.8b", "bartowski", "microsoft_Phi-4-mini-instruct-GGUF", "Q4_K_M"},
    KnownModel{"phi4:14b", "microsoft", "phi-4-gguf", ""},
    KnownModel{"qwen2.5:0.5b", "Qwen", "Qwen2.5-0.5B-Instruct-GGUF", "Q4_K_M"},
    KnownModel{"qwen2.5:1.5b", "Qwen", "Qwen2.5-1.5B-Instruct-GGUF", "Q4_K_M"},
    KnownModel{"qwen2.5:7b", "Qwen", "Qwen2.5-7B-Instruct-GGUF", "Q4_K_M"},
    KnownModel{"qwen2.5-coder:7b", "Qwen", "Qwen2.5-Coder-7B-Instruct-GGUF", "Q4_K_M"},
    KnownModel{"qwen3:0.6b", "Qwen", "Qwen3-0.6B-GGUF", "Q8_0"},
    KnownModel{"qwen3:1.7b", "Qwen", "Qwen3-1.7B-GGUF", "Q8_0"},
    KnownModel{"qwen3:4b", "Qwen", "Qwen3-4B-GGUF", "Q4_K_M"},
    KnownModel{"qwen3:8b", "Qwen", "Qwen3-8B-GGUF", "Q4_K_M"},
    KnownModel{"qwen3:14b", "Qwen", "Qwen3-14B-GGUF", "Q4_K_M"},
    KnownModel{"qwen3:30b-a3b", "Qwen", "Qwen3-30B-A3B-GGUF", "Q4_K_M"},
    KnownModel{"qwen3:32b", "Qwen", "Qwen3-32B-GGUF", "Q4_K_M"},
    KnownModel{"qwen3.5:0.8b", "ggml-org", "Qwen3.5-0.8B-GGUF", ""},
    KnownModel{"smollm2:135m", "bartowski", "SmolLM2-135M-Instruct-GGUF", "Q4_K_M"},
    KnownModel{"smollm2:360m", "HuggingFaceTB", "SmolLM2-360M-Instruct-GGUF", "Q8_0"},
    KnownModel{"smollm2:1.7b", "HuggingFaceTB", "SmolLM2-1.7B-Instruct-GGUF", "Q4_K_M"},
};

char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace

std::span<const KnownModel> known_models() {
    return table;
}

const KnownModel* known_model(std::string_view name) {
    const auto* const found = std::find_if(table.begin(), table.end(), [&](const KnownModel& model) {
        return std::equal(model.name.begin(), model.name.end(), name.begin(), name.end(),
                          [](char lower, char typed) { return lower == to_lower(typed); });
    });
    return found == table.end() ? nullptr : found;
}

} // namespace etna::store
