#include "core/text/pre_tokenizer.hpp"

#include <array>

namespace etna::text {
namespace {

// The expressions are from the models' own tokenizer.json files (Hugging Face tokenizers, Split with
// behaviour "isolated"); names and flags are those in GGUF files. Where an engine would need quadratic time
// for a long run of spaces, lookbehinds and possessive quantifiers match the same in linear time.

constexpr std::string_view gpt2_words = // OpenAI GPT-2, encoder.py
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view three_digit_words = // Llama 3
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";
constexpr std::string_view one_digit_words = // Qwen 2
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";
constexpr std::string_view marked_words = // Qwen 3.5: combining marks belong to letters
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view cased_words = // GPT-4o
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view
    kimi_words = // Kimi K2: cased_words, but Han alone; classes as complements, which exclude it
    R"(\p{sc:Han}+)"
    R"(|[^\r\n\p{L}\p{N}]?[^\p{Ll}\p{sc:Han}\p{N}\p{P}\p{S}\p{Z}\p{C}]*[^\p{Lu}\p{Lt}\p{sc:Han}\p{N}\p{P}\p{S}\p{Z}\p{C}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[^\p{Ll}\p{sc:Han}\p{N}\p{P}\p{S}\p{Z}\p{C}]+[^\p{Lu}\p{Lt}\p{sc:Han}\p{N}\p{P}\p{S}\p{Z}\p{C}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view cased_words_without_contractions = // Mistral Nemo
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view
    deepseek_cased_words = // DeepSeek LLM: the cased letters of its expression, listed individually
    R"(\s?[)"
    R"(A-Za-z\x{00B5}\x{00C0}-\x{00D6}\x{00D8}-\x{00F6}\x{00F8}-\x{01BA}\x{01BC}-\x{01BF})"
    R"(\x{01C4}-\x{0293}\x{0295}-\x{02AF}\x{0370}-\x{0373}\x{0376}\x{0377}\x{037B}-\x{037D}\x{037F})"
    R"(\x{0386}\x{0388}-\x{038A}\x{038C}\x{038E}-\x{03A1}\x{03A3}-\x{03F5}\x{03F7}-\x{0481})"
    R"(\x{048A}-\x{052F}\x{0531}-\x{0556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD})"
    R"(\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A})"
    R"(\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59})"
    R"(\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4})"
    R"(\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4})"
    R"(\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126})"
    R"(\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"
    R"(\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3})"
    R"(\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
    R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A})"
    R"(\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2})"
    R"(\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr std::string_view deepseek_east_asian = R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view deepseek_v3_words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::array default_names = std::to_array<std::string_view>({"default"});
constexpr std::array default_expressions =
    std::to_array<std::string_view>({R"([\p{P}$+<=>^~|]+)", gpt2_words, R"(\p{N}+)", "[0-9][0-9][0-9]"});

constexpr std::array gpt2_names = std::to_array<std::string_view>(
    {"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4", "gigachat", "a.x-4.0",
     "mellum", "modern-bert", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de"});
constexpr std::array gpt2_expressions = std::to_array<std::string_view>({gpt2_words});

constexpr std::array llama3_names =
    std::to_array<std::string_view>({"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral",
                                     "midm-2.0", "lfm2", "jina-v5-nano"});
constexpr std::array glm4_names = std::to_array<std::string_view>({"glm4", "chatglm-bpe"});
constexpr std::array dbrx_names = std::to_array<std::string_view>({"dbrx", "smaug-bpe"});
constexpr std::array three_digit_expressions = std::to_array<std::string_view>({three_digit_words});

constexpr std::array qwen2_names =
    std::to_array<std::string_view>({"qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "solar-open",
                                     "megrez", "kormo", "f2llmv2", "grok-2"});
constexpr std::array qwen2_expressions = std::to_array<std::string_view>({one_digit_words});

constexpr std::array qwen35_names = std::to_array<std::string_view>({"qwen35"});
constexpr std::array qwen35_expressions = std::to_array<std::string_view>({marked_words});

constexpr std::array digit_names = std::to_array<std::string_view>(
    {"starcoder", "smollm", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"});
constexpr std::array digit_expressions = std::to_array<std::string_view>({R"(\p{N})", gpt2_words});

constexpr std::array falcon_names = std::to_array<std::string_view>({"falcon"});
constexpr std::array falcon_expressions =
    std::to_array<std::string_view>({R"([\p{P}$+<=>^~|`]+)", gpt2_words, "[0-9][0-9][0-9]"});

constexpr std::array deepseek_llm_names = std::to_array<std::string_view>({"deepseek-llm"});
constexpr std::array deepseek_llm_expressions = std::to_array<std::string_view>(
    {"[\\r\\n]", deepseek_cased_words,
     R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)", R"((?<!\s)\s++$)",
     deepseek_east_asian, R"(\p{N})"});

constexpr std::array deepseek_coder_names = std::to_array<std::string_view>({"deepseek-coder"});
constexpr std::array deepseek_coder_expressions = std::to_array<std::string_view>(
    {"[\\r\\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)", deepseek_east_asian, R"(\p{N})"});

constexpr std::array deepseek_v3_names =
    std::to_array<std::string_view>({"deepseek-v3", "hunyuan-dense", "joyai-llm"});
constexpr std::array deepseek_v3_expressions = std::to_array<std::string_view>(
    {R"(\p{N}{1,3})", R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)", deepseek_v3_words});

constexpr std::array gpt4o_names =
    std::to_array<std::string_view>({"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"});
constexpr std::array gpt4o_expressions = std::to_array<std::string_view>({cased_words});

constexpr std::array kimi_names = std::to_array<std::string_view>({"kimi-k2"});
constexpr std::array kimi_expressions = std::to_array<std::string_view>({kimi_words});

constexpr std::array tekken_names = std::to_array<std::string_view>({"tekken"});
constexpr std::array tekken_expressions = std::to_array<std::string_view>({cased_words_without_contractions});

constexpr std::array rows = std::to_array<PreTokenizerRow>({
    {.names = default_names, .expressions = default_expressions},
    {.names = gpt2_names, .expressions = gpt2_expressions},
    {.names = llama3_names,
     .expressions = three_digit_expressions,
     .ignore_merges = IgnoreMerges::yes,
     .adds_bos = AddsBos::yes},
    {.names = glm4_names, .expressions = three_digit_expressions},
    {.names = dbrx_names, .expressions = three_digit_expressions},
    {.names = qwen2_names, .expressions = qwen2_expressions},
    {.names = qwen35_names, .expressions = qwen35_expressions},
    {.names = digit_names, .expressions = digit_expressions},
    {.names = falcon_names, .expressions = falcon_expressions},
    {.names = deepseek_llm_names, .expressions = deepseek_llm_expressions},
    {.names = deepseek_coder_names, .expressions = deepseek_coder_expressions},
    {.names = deepseek_v3_names, .expressions = deepseek_v3_expressions},
    {.names = gpt4o_names, .expressions = gpt4o_expressions},
    {.names = kimi_names, .expressions = kimi_expressions},
    {.names = tekken_names,
     .expressions = tekken_expressions,
     .ignore_merges = IgnoreMerges::yes,
     .adds_bos = AddsBos::yes},
});

} // namespace

std::span<const PreTokenizerRow> pre_tokenizer_rows() {
    return rows;
}

} // namespace etna::text
