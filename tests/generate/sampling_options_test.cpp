#include "core/generate/sampling_options.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/log_recorder.hpp"
#include "tests/support/random_tokenizer.hpp"

#include <functional>
#include <limits>
#include <random>
#include <set>

using namespace etna;

namespace {

sampling::Parameters defaults_with(const std::function<void(test::GgufWriter&)>& fill) {
    test::GgufWriter writer;
    writer.add("general.architecture", "llama");
    fill(writer);
    const test::Bytes bytes = writer.bytes();
    return generate::with_overrides({},
                                    generate::recommended_sampling(gguf::File::parse(bytes, "test").value()));
}

text::Tokenizer sentencepiece() {
    return text::Tokenizer::create(gguf::File::open(ETNA_TEST_DATA "/models/stories260K.gguf").value())
        .value();
}

text::Tokenizer bpe() {
    test::GgufWriter writer;
    writer.add("general.architecture", "qwen3");
    test::add_bpe_tokenizer(writer, test::minimum_bpe_vocabulary + 40);
    const test::Bytes bytes = writer.bytes();
    return text::Tokenizer::create(gguf::File::parse(bytes, "bpe").value()).value();
}

/// Returns the number of tokens after the one in which the last breaker of the text ends; all if no breaker
/// occurs.
std::size_t tokens_after_breaker(const text::Tokenizer& tokenizer, const std::vector<TokenId>& tokens,
                                 const std::vector<std::string>& breakers) {
    std::string text;
    std::size_t after = 0;
    for (const TokenId token : tokens) {
        const std::size_t before = text.size();
        text += tokenizer.bytes(token);
        ++after;
        for (const std::string& breaker : breakers) {
            const std::size_t found = text.rfind(breaker);
            if (found != std::string::npos && found + breaker.size() > before)
                after = 0;
        }
    }
    return after;
}

std::vector<TokenId> encode(const text::Tokenizer& tokenizer, const std::string& text) {
    return tokenizer.encode(text, {.bos = text::AddBos::never}).value();
}

} // namespace

TEST_CASE("etna's defaults apply if the model recommends nothing") {
    const auto parameters = defaults_with([](auto&) {});
    REQUIRE(parameters.temperature == 0.8F);
    REQUIRE(parameters.top_k == 40);
    REQUIRE(parameters.top_p == 0.95F);
    REQUIRE(parameters.min_p == 0.05F);
}

TEST_CASE("recommendations of the model apply if they are in range") {
    const auto parameters = defaults_with([](auto& writer) {
        writer.add("general.sampling.temp", 0.6F);
        writer.add("general.sampling.top_k", int32_t{20});
        writer.add("general.sampling.top_p", 0.9F);
        writer.add("general.sampling.min_p", 0.0F);
    });
    REQUIRE(parameters.temperature == 0.6F);
    REQUIRE(parameters.top_k == 20);
    REQUIRE(parameters.top_p == 0.9F);
    REQUIRE(parameters.min_p == 0.0F);

    const auto out_of_range = defaults_with([](auto& writer) {
        writer.add("general.sampling.temp", std::numeric_limits<float>::quiet_NaN());
        writer.add("general.sampling.top_k", int32_t{-1});
        writer.add("general.sampling.top_p", 0.0F);
        writer.add("general.sampling.min_p", 1.5F);
    });
    REQUIRE(out_of_range.temperature == 0.8F);
    REQUIRE(out_of_range.top_k == 40);
    REQUIRE(out_of_range.top_p == 0.95F);
    REQUIRE(out_of_range.min_p == 0.05F);
}

TEST_CASE("a recommendation that is invalid or out of range is logged") {
    const test::LogRecorder log;
    const auto parameters = defaults_with([](auto& writer) {
        writer.add("general.sampling.temp", "0.6");
        writer.add("general.sampling.top_p", 2.0F);
    });
    REQUIRE(parameters.temperature == 0.8F);
    CHECK(log.warnings() == log.all());
    REQUIRE(log.all() ==
            std::vector<std::string>{"test: ignoring general.sampling.temp, which is not a number",
                                     "test: ignoring general.sampling.top_p = 2, which is out of range"});
}

TEST_CASE("recommended XTC and repetition penalty apply if they are in range") {
    const auto parameters = defaults_with([](auto& writer) {
        writer.add("general.sampling.xtc_probability", 0.5F);
        writer.add("general.sampling.xtc_threshold", 0.2F);
        writer.add("general.sampling.penalty_repeat", 1.1F);
        writer.add("general.sampling.penalty_last_n", int32_t{-1});
    });
    REQUIRE(parameters.xtc_probability == 0.5F);
    REQUIRE(parameters.xtc_threshold == 0.2F);
    REQUIRE(parameters.repetition_penalty == 1.1F);
    REQUIRE(parameters.repetition_window_tokens == sampling::full_history);
    const auto out_of_range = defaults_with([](auto& writer) {
        writer.add("general.sampling.xtc_probability", 1.5F);
        writer.add("general.sampling.penalty_repeat", 0.0F);
        writer.add("general.sampling.penalty_last_n", int32_t{-2});
    });
    REQUIRE(out_of_range.xtc_probability == 0);
    REQUIRE(out_of_range.repetition_penalty == 1);
    REQUIRE(out_of_range.repetition_window_tokens == 64);
}

TEST_CASE("every override replaces its parameter") {
    const generate::SamplingOverrides overrides{.temperature = 1,
                                                .top_k = 2,
                                                .top_p = 0.3F,
                                                .min_p = 0.4F,
                                                .typical_p = 0.5F,
                                                .top_n_sigma = 6,
                                                .xtc_probability = 0.7F,
                                                .xtc_threshold = 0.8F,
                                                .min_keep = 9,
                                                .repetition_penalty = 10,
                                                .repetition_window_tokens = 11,
                                                .presence_penalty = 12,
                                                .presence_window_tokens = 13,
                                                .frequency_penalty = 14,
                                                .frequency_window_tokens = 15,
                                                .dry_multiplier = 16,
                                                .dry_base = 17,
                                                .dry_allowed_length = 18,
                                                .dry_window_tokens = 19};
    const sampling::Parameters parameters = generate::with_overrides({}, overrides);
    REQUIRE(parameters.temperature == 1);
    REQUIRE(parameters.top_k == 2);
    REQUIRE(parameters.top_p == 0.3F);
    REQUIRE(parameters.min_p == 0.4F);
    REQUIRE(parameters.typical_p == 0.5F);
    REQUIRE(parameters.top_n_sigma == 6);
    REQUIRE(parameters.xtc_probability == 0.7F);
    REQUIRE(parameters.xtc_threshold == 0.8F);
    REQUIRE(parameters.min_keep == 9);
    REQUIRE(parameters.repetition_penalty == 10);
    REQUIRE(parameters.repetition_window_tokens == 11);
    REQUIRE(parameters.presence_penalty == 12);
    REQUIRE(parameters.presence_window_tokens == 13);
    REQUIRE(parameters.frequency_penalty == 14);
    REQUIRE(parameters.frequency_window_tokens == 15);
    REQUIRE(parameters.dry_multiplier == 16);
    REQUIRE(parameters.dry_base == 17);
    REQUIRE(parameters.dry_allowed_length == 18);
    REQUIRE(parameters.dry_window_tokens == 19);
    REQUIRE(generate::with_overrides({.dry_base = 3}, {}).dry_base == 3);
}

TEST_CASE("overrides take precedence over recommendations") {
    const auto parameters =
        generate::with_overrides({.temperature = 0.6F, .top_k = 20}, {.temperature = 0, .min_p = 0.1F});
    REQUIRE(parameters.temperature == 0);
    REQUIRE(parameters.top_k == 20);
    REQUIRE(parameters.min_p == 0.1F);
}

TEST_CASE("random seeds differ") {
    std::set<uint32_t> seeds;
    for (int i = 0; i < 16; ++i)
        seeds.insert(generate::random_seed());
    REQUIRE(seeds.size() > 8);
}

TEST_CASE("the default breakers are found at any token boundary") {
    const std::vector<std::string> defaults = generate::default_dry_breakers();
    const std::vector<std::string> words = {" the", " dog", "\n",    ":",    " \"",
                                            "*",    "\"Hi", ".\n\n", " a:b", "12"};
    for (const auto& make : {sentencepiece, bpe}) {
        const text::Tokenizer tokenizer = make();
        const auto breakers = generate::encode_dry_breakers(tokenizer, defaults).value();
        std::mt19937 generator(1);
        for (uint32_t round = 0; round < 300; ++round) {
            std::string text;
            for (uint32_t i = 0; i < generator() % 8; ++i)
                text += words[generator() % words.size()];
            const std::vector<TokenId> tokens = encode(tokenizer, text);
            CAPTURE(text);
            CHECK(breakers.tokens_after_last(tokens, tokens.size()) ==
                  tokens_after_breaker(tokenizer, tokens, defaults));
        }
    }
}

TEST_CASE("breakers of several tokens are found after any prefix") {
    for (const auto& make : {sentencepiece, bpe}) {
        const text::Tokenizer tokenizer = make();
        for (const std::string breaker : {"the girl", "girl", " and ", "\n\n- ", "\xe2\x98\x83"}) {
            const auto breakers = generate::encode_dry_breakers(tokenizer, std::vector{breaker}).value();
            for (const char* before : {"", "x", " in", "a "}) {
                const std::vector<TokenId> tokens = encode(tokenizer, before + breaker);
                CAPTURE(breaker, before, tokens);
                CHECK(breakers.tokens_after_last(tokens, tokens.size()) == 0);
                CHECK(breakers.tokens_after_last(std::span(tokens).first(tokens.size() - 1), 100) ==
                      tokens.size() - 1);
            }
        }
    }
}

TEST_CASE("control tokens never match a breaker") {
    const text::Tokenizer tokenizer = sentencepiece();
    const auto breakers = generate::encode_dry_breakers(tokenizer, std::vector<std::string>{"s>"}).value();
    CHECK(!breakers.contains(tokenizer.eos().value()));
}

TEST_CASE("empty, long or too many breakers are refused") {
    const text::Tokenizer tokenizer = sentencepiece();
    const auto error_of = [&](const std::vector<std::string>& breakers) {
        return generate::encode_dry_breakers(tokenizer, breakers).error().message;
    };
    CHECK(error_of({"\n", ""}) == "a sequence breaker has 0 bytes; the range is 1 to 40");
    CHECK(error_of({std::string(41, 'x')}) == "a sequence breaker has 41 bytes; the range is 1 to 40");
    CHECK(error_of(std::vector<std::string>(65, "x")) == "65 sequence breakers; the maximum is 64");
    CHECK(generate::encode_dry_breakers(tokenizer, std::vector<std::string>(64, std::string(40, 'x'))));
    CHECK(generate::encode_dry_breakers(tokenizer, std::vector{std::string(40, '\xff')}));
    CHECK(generate::encode_dry_breakers(tokenizer, {}));
}
