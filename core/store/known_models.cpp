#include "core/store/known_models.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace etna::store {
namespace {

constexpr KnownUse embedding = KnownUse::embedding;
constexpr KnownUse reranker = KnownUse::reranker;

constexpr auto table = std::to_array<KnownModel>({
    // name, user, repository, quantisation, MB to download, millions of parameters, of those used per token,
    // context
    {"bge:33m", "CompendiumLabs", "bge-small-en-v1.5-gguf", "Q8_0", 37, 33, 33, 512, embedding},
    {"bge:109m", "CompendiumLabs", "bge-base-en-v1.5-gguf", "Q8_0", 118, 109, 109, 512, embedding},
    {"bge:335m", "CompendiumLabs", "bge-large-en-v1.5-gguf", "Q8_0", 358, 335, 335, 512, embedding},
    {"bge-m3:567m", "gpustack", "bge-m3-GGUF", "Q8_0", 635, 567, 567, 8192, embedding},
    {"bge-reranker:568m", "gpustack", "bge-reranker-v2-m3-GGUF", "Q8_0", 636, 568, 568, 8192, reranker},
    {"deepseek-r1:1.5b", "bartowski", "DeepSeek-R1-Distill-Qwen-1.5B-GGUF", "Q4_K_M", 1117, 1777, 1777,
     131072},
    {"embeddinggemma:300m", "ggml-org", "embeddinggemma-300M-GGUF", "Q8_0", 329, 303, 303, 2048, embedding},
    {"gemma2:2b", "bartowski", "gemma-2-2b-it-GGUF", "Q4_K_M", 1709, 2614, 2614, 8192},
    {"gemma3:270m", "ggml-org", "gemma-3-270m-it-GGUF", "Q8_0", 292, 268, 268, 32768},
    {"gemma3:1b", "ggml-org", "gemma-3-1b-it-GGUF", "Q4_K_M", 806, 1000, 1000, 32768},
    {"gemma3:4b", "ggml-org", "gemma-3-4b-it-GGUF", "Q4_K_M", 2490, 3880, 3880, 131072},
    {"gemma3:4b-qat", "google", "gemma-3-4b-it-qat-q4_0-gguf", "Q4_0", 3155, 3880, 3880, 131072},
    {"gemma3:12b", "ggml-org", "gemma-3-12b-it-GGUF", "Q4_K_M", 7301, 11766, 11766, 131072},
    {"gemma3:27b", "ggml-org", "gemma-3-27b-it-GGUF", "Q4_K_M", 16546, 27009, 27009, 131072},
    {"gemma4:e2b", "ggml-org", "gemma-4-E2B-it-GGUF", "Q8_0", 4967, 5100, 2300, 131072},
    {"gemma4:e4b", "ggml-org", "gemma-4-E4B-it-GGUF", "Q4_K_M", 5340, 7996, 4500, 131072},
    {"gemma4:12b", "ggml-org", "gemma-4-12B-it-GGUF", "Q4_K_M", 7380, 11900, 11900, 262144},
    {"gemma4:26b-a4b", "ggml-org", "gemma-4-26B-A4B-it-GGUF", "Q4_K_M", 16800, 25800, 3800, 262144},
    {"gemma4:31b", "ggml-org", "gemma-4-31B-it-GGUF", "Q4_K_M", 18700, 30700, 30700, 262144},
    {"glm-4.7-flash:30b-a3b", "unsloth", "GLM-4.7-Flash-GGUF", "Q4_K_M", 18312, 29900, 3600, 202752},
    {"gpt-oss:20b", "ggml-org", "gpt-oss-20b-GGUF", "MXFP4", 12110, 20900, 3600, 131072},
    {"gpt-oss:120b", "ggml-org", "gpt-oss-120b-GGUF", "MXFP4", 63390, 116800, 5100, 131072},
    {"granite4:micro", "ibm-granite", "granite-4.0-micro-GGUF", "Q4_K_M", 2100, 3400, 3400, 131072},
    {"granite4:micro-h", "ibm-granite", "granite-4.0-h-micro-GGUF", "Q4_K_M", 1940, 3190, 3190, 131072},
    {"granite4:tiny-h", "ibm-granite", "granite-4.0-h-tiny-GGUF", "Q4_K_M", 4231, 6940, 1000, 131072},
    {"granite4:small-h", "ibm-granite", "granite-4.0-h-small-GGUF", "Q4_K_M", 19477, 32200, 9000, 131072},
    {"granite4.1:3b", "unsloth", "granite-4.1-3b-GGUF", "Q4_K_M", 2100, 3400, 3400, 131072},
    {"granite4.1:8b", "unsloth", "granite-4.1-8b-GGUF", "Q4_K_M", 5400, 8800, 8800, 131072},
    {"granite4.1:30b", "unsloth", "granite-4.1-30b-GGUF", "Q4_K_M", 17500, 28900, 28900, 131072},
    {"lfm2:1.2b", "LiquidAI", "LFM2-1.2B-GGUF", "Q4_K_M", 731, 1170, 1170, 32768},
    {"lfm2:2.6b", "LiquidAI", "LFM2-2.6B-GGUF", "Q4_K_M", 1564, 2570, 2570, 32768},
    {"lfm2:8b-a1b", "LiquidAI", "LFM2-8B-A1B-GGUF", "Q4_K_M", 5040, 8340, 1500, 32768},
    {"lfm2:24b-a2b", "LiquidAI", "LFM2-24B-A2B-GGUF", "Q4_K_M", 14400, 23800, 2300, 32768},
    {"lfm2.5:1.2b", "LiquidAI", "LFM2.5-1.2B-Instruct-GGUF", "Q4_K_M", 731, 1170, 1170, 32768},
    {"lfm2.5:8b-a1b", "LiquidAI", "LFM2.5-8B-A1B-GGUF", "Q4_K_M", 5160, 8340, 1500, 131072},
    {"llama3.1:8b", "bartowski", "Meta-Llama-3.1-8B-Instruct-GGUF", "Q4_K_M", 4921, 8030, 8030, 131072},
    {"llama3.2:1b", "bartowski", "Llama-3.2-1B-Instruct-GGUF", "Q4_K_M", 808, 1236, 1236, 131072},
    {"llama3.2:3b", "bartowski", "Llama-3.2-3B-Instruct-GGUF", "Q4_K_M", 2019, 3213, 3213, 131072},
    {"ministral3:3b", "mistralai", "Ministral-3-3B-Instruct-2512-GGUF", "Q4_K_M", 2147, 3430, 3430, 262144},
    {"ministral3:8b", "mistralai", "Ministral-3-8B-Instruct-2512-GGUF", "Q4_K_M", 5199, 8490, 8490, 262144},
    {"ministral3:14b", "mistralai", "Ministral-3-14B-Instruct-2512-GGUF", "Q4_K_M", 8240, 13500, 13500,
     262144},
    {"mistral:7b", "bartowski", "Mistral-7B-Instruct-v0.3-GGUF", "Q4_K_M", 4373, 7248, 7248, 32768},
    {"nemotron3:4b", "nvidia", "NVIDIA-Nemotron-3-Nano-4B-GGUF", "Q4_K_M", 2837, 3970, 3970, 262144},
    {"nemotron3:30b-a3b", "unsloth", "Nemotron-3-Nano-30B-A3B-GGUF", "Q4_K_M", 24600, 31600, 3500, 1048576},
    {"nomic-embed-text:v1.5", "nomic-ai", "nomic-embed-text-v1.5-GGUF", "Q8_0", 146, 137, 137, 2048,
     embedding},
    {"phi3:3.8b", "microsoft", "Phi-3-mini-4k-instruct-gguf", "Q4", 2393, 3821, 3821, 4096},
    {"phi4:14b", "microsoft", "phi-4-gguf", "", 9053, 14660, 14660, 16384},
    {"phi4-mini:3.8b", "bartowski", "microsoft_Phi-4-mini-instruct-GGUF", "Q4_K_M", 2492, 3836, 3836, 131072},
    {"qwen2.5:0.5b", "Qwen", "Qwen2.5-0.5B-Instruct-GGUF", "Q4_K_M", 491, 494, 494, 32768},
    {"qwen2.5:1.5b", "Qwen", "Qwen2.5-1.5B-Instruct-GGUF", "Q4_K_M", 1117, 1544, 1544, 32768},
    {"qwen2.5:7b", "Qwen", "Qwen2.5-7B-Instruct-GGUF", "Q4_K_M", 4683, 7616, 7616, 131072},
    {"qwen2.5-coder:7b", "Qwen", "Qwen2.5-Coder-7B-Instruct-GGUF", "Q4_K_M", 4683, 7616, 7616, 131072},
    {"qwen3:0.6b", "Qwen", "Qwen3-0.6B-GGUF", "Q8_0", 639, 596, 596, 40960},
    {"qwen3:1.7b", "Qwen", "Qwen3-1.7B-GGUF", "Q8_0", 1834, 1721, 1721, 40960},
    {"qwen3:4b", "Qwen", "Qwen3-4B-GGUF", "Q4_K_M", 2497, 4022, 4022, 40960},
    {"qwen3:8b", "Qwen", "Qwen3-8B-GGUF", "Q4_K_M", 5028, 8191, 8191, 40960},
    {"qwen3:14b", "Qwen", "Qwen3-14B-GGUF", "Q4_K_M", 9002, 14768, 14768, 40960},
    {"qwen3:30b-a3b", "Qwen", "Qwen3-30B-A3B-GGUF", "Q4_K_M", 18557, 30532, 3300, 40960},
    {"qwen3:32b", "Qwen", "Qwen3-32B-GGUF", "Q4_K_M", 19762, 32762, 32762, 40960},
    {"qwen3-coder:30b-a3b", "unsloth", "Qwen3-Coder-30B-A3B-Instruct-GGUF", "Q4_K_M", 18557, 30532, 3300,
     262144},
    {"qwen3-embedding:0.6b", "Qwen", "Qwen3-Embedding-0.6B-GGUF", "Q8_0", 639, 596, 596, 32768, embedding},
    {"qwen3-embedding:4b", "Qwen", "Qwen3-Embedding-4B-GGUF", "Q4_K_M", 2497, 4022, 4022, 40960, embedding},
    {"qwen3-embedding:8b", "Qwen", "Qwen3-Embedding-8B-GGUF", "Q4_K_M", 4680, 7568, 7568, 40960, embedding},
    {"qwen3-reranker:0.6b", "ggml-org", "Qwen3-Reranker-0.6B-Q8_0-GGUF", "Q8_0", 639, 596, 596, 40960,
     reranker},
    {"qwen3.5:0.8b", "ggml-org", "Qwen3.5-0.8B-GGUF", "", 812, 753, 753, 262144},
    {"qwen3.5:2b", "unsloth", "Qwen3.5-2B-GGUF", "Q4_K_M", 1280, 1880, 1880, 262144},
    {"qwen3.5:4b", "unsloth", "Qwen3.5-4B-GGUF", "Q4_K_M", 2740, 4210, 4210, 262144},
    {"qwen3.5:9b", "unsloth", "Qwen3.5-9B-GGUF", "Q4_K_M", 5680, 8950, 8950, 262144},
    {"qwen3.5:27b", "unsloth", "Qwen3.5-27B-GGUF", "Q4_K_M", 16741, 26900, 26900, 262144},
    {"qwen3.5:35b-a3b", "unsloth", "Qwen3.5-35B-A3B-GGUF", "Q4_K_M", 22000, 34700, 3000, 262144},
    {"qwen3.5:122b-a10b", "unsloth", "Qwen3.5-122B-A10B-GGUF", "UD-Q4_K_XL", 77000, 122100, 10000, 262144},
    {"qwen3.6:27b", "ggml-org", "Qwen3.6-27B-GGUF", "Q4_K_M", 19096, 26900, 26900, 262144},
    {"qwen3.6:35b-a3b", "ggml-org", "Qwen3.6-35B-A3B-GGUF", "Q4_K_M", 21200, 34700, 3000, 262144},
    {"qwen3.8:27b", "ggml-org", "Qwen3.8-27B-GGUF", "Q4_K_M", 18974, 26900, 26900, 262144},
    {"smollm2:135m", "bartowski", "SmolLM2-135M-Instruct-GGUF", "Q4_K_M", 105, 135, 135, 8192},
    {"smollm2:360m", "HuggingFaceTB", "SmolLM2-360M-Instruct-GGUF", "Q8_0", 386, 362, 362, 8192},
    {"smollm2:1.7b", "HuggingFaceTB", "SmolLM2-1.7B-Instruct-GGUF", "Q4_K_M", 1056, 1711, 1711, 8192},
    {"smollm3:3b", "ggml-org", "SmolLM3-3B-GGUF", "Q4_K_M", 1915, 3075, 3075, 65536},
});

/// The model of each family that a name without a size means, as Ollama's `latest` where it has the family.
constexpr auto usual_models = std::to_array<std::string_view>({
    "bge:109m",
    "bge-m3:567m",
    "bge-reranker:568m",
    "deepseek-r1:1.5b",
    "embeddinggemma:300m",
    "gemma2:2b",
    "gemma3:4b",
    "gemma4:e4b",
    "glm-4.7-flash:30b-a3b",
    "gpt-oss:20b",
    "granite4:micro",
    "granite4.1:8b",
    "lfm2:24b-a2b",
    "lfm2.5:8b-a1b",
    "llama3.1:8b",
    "llama3.2:3b",
    "ministral3:8b",
    "mistral:7b",
    "nemotron3:30b-a3b",
    "nomic-embed-text:v1.5",
    "phi3:3.8b",
    "phi4:14b",
    "phi4-mini:3.8b",
    "qwen2.5:7b",
    "qwen2.5-coder:7b",
    "qwen3:8b",
    "qwen3-coder:30b-a3b",
    "qwen3-embedding:8b",
    "qwen3-reranker:0.6b",
    "qwen3.5:9b",
    "qwen3.6:35b-a3b",
    "qwen3.8:27b",
    "smollm2:1.7b",
    "smollm3:3b",
});

char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower_name(std::string_view name) {
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(), to_lower);
    return lower;
}

} // namespace

std::string_view to_string(KnownUse use) {
    constexpr std::array<std::string_view, 3> names = {"text", "embedding", "reranker"};
    return names[static_cast<std::size_t>(use)];
}

std::span<const KnownModel> known_models() {
    return table;
}

bool is_usual(const KnownModel& model) {
    return std::ranges::find(usual_models, model.name) != usual_models.end();
}

const KnownModel* known_model(std::string_view name) {
    constexpr std::string_view latest = ":latest";
    std::string wanted = lower_name(name);
    if (wanted.ends_with(latest))
        wanted.resize(wanted.size() - latest.size());
    const std::string with_experts = wanted + "-a";
    const auto is_wanted = [&](const KnownModel& model) {
        return wanted == model.name || (is_usual(model) && wanted == model.family()) ||
               (wanted.find(':') != std::string::npos && model.active_m < model.parameters_m &&
                model.name.starts_with(with_experts));
    };
    const auto* const found = std::ranges::find_if(table, is_wanted);
    return found == table.end() ? nullptr : found;
}

} // namespace etna::store
