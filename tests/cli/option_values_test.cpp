// The second stage: kinds and ranges.

#include "cli/options/option_values.hpp"
#include "cli/options/run_options.hpp"
#include "core/model/config.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

using namespace etna;
using namespace etna::cli;

namespace {

const Command& table() {
    return *find_command("run");
}

Result<RunOptions> validated(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "demo");
    return validate_run(table(), parse(table(), arguments).value());
}

std::string error_of(const std::vector<std::string>& arguments) {
    const auto result = validated(arguments);
    return result ? "(accepted)" : result.error().message;
}

} // namespace

TEST_CASE("ranges are kept at both ends") {
    REQUIRE(validated({"--temp", "0"})->generation.sampling.overrides.temperature == 0.0F);
    REQUIRE(validated({"--temp", "100"}).has_value());
    REQUIRE(error_of({"--temp", "100.5"}) == "--temp: `100.5` is out of range: 0 to 100");
    REQUIRE(error_of({"--temp=-0.1"}) == "--temp: `-0.1` is out of range: 0 to 100");
    REQUIRE(validated({"--top-p", "1"})->generation.sampling.overrides.top_p == 1.0F);
    REQUIRE(error_of({"--top-p", "0"}) == "--top-p: `0` is out of range: more than 0, up to 1");
    REQUIRE(error_of({"--top-p", "1e-60"}) == "--top-p: `1e-60` is out of range: more than 0, up to 1");
    REQUIRE(validated({"--min-p", "0"})->generation.sampling.overrides.min_p == 0.0F);
    REQUIRE(error_of({"--min-p", "1.01"}) == "--min-p: `1.01` is out of range: 0 to 1");
    REQUIRE(validated({"--seed", "9223372036854775807"})->generation.sampling.seed == 9223372036854775807);
    REQUIRE(validated({"--seed", "-9223372036854775808"})->generation.sampling.seed ==
            std::numeric_limits<int64_t>::min());
    REQUIRE(validated({"--seed", "-2"})->generation.sampling.seed == -2);
    REQUIRE(!validated({"--seed", "-1"})->generation.sampling.seed); // a random one
    REQUIRE(error_of({"--seed", "9223372036854775808"}) ==
            "--seed: `9223372036854775808` is out of range: 64 bits with a sign");
    REQUIRE(error_of({"-n", "0"}) == "--max-tokens 0 asks for no answer"); // but with --prompt-logprobs
    REQUIRE(error_of({"-n", "-2"}) == "--max-tokens: `-2` is out of range: 0 to 2147483647");
    REQUIRE(validated({"-n", "2147483647"})->generation.max_tokens == 2147483647U);
    REQUIRE(error_of({"-n", "2147483648"}) == "--max-tokens: `2147483648` is out of range: 0 to 2147483647");
    REQUIRE(validated({"--top-k", "0"})->generation.sampling.overrides.top_k == 0U);
}

TEST_CASE("the value that stands for absence says the same as no option") {
    REQUIRE(!validated({"-n", "-1"})->generation.max_tokens);
    REQUIRE(!validated({"--seed", "-1"})->generation.sampling.seed);
    REQUIRE(!validated({"--top-n-sigma", "-1"})->generation.sampling.overrides.top_n_sigma);
    REQUIRE(validated({"-c", "0"})->model.executor.context_tokens == 0);
    REQUIRE(!validated({"--seed", "5", "--seed", "-1"})->generation.sampling.seed); // the last one counts
}

TEST_CASE("what is not a number is refused as it was typed") {
    for (const char* text : {"", "-", "x", "1x", " 1", "1 ", "+1", "0x10", "1.5", "nan"}) {
        CHECK(error_of({"--seed", text}) ==
              fmt::format("--seed: `{}` is not a whole number (64 bits with a sign)", text));
    }
    for (const char* text : {"", "x", "1x", " 1", "nan", "inf", "-inf"})
        CHECK(error_of({"--temp", text}) == fmt::format("--temp: `{}` is not a number (0 to 100)", text));
}

TEST_CASE("what is a number, but not an allowed one, is told with both bounds") {
    for (const char* text : {"-2", "99999999999", "99999999999999999999999"}) {
        CHECK(error_of({"--top-k", text}) ==
              fmt::format("--top-k: `{}` is out of range: 0 to 2147483647", text));
    }
    REQUIRE(error_of({"--seed", "99999999999999999999999"}) ==
            "--seed: `99999999999999999999999` is out of range: 64 bits with a sign");
    for (const char* text : {"-1", "67108865", "1000000000", "4294967296"})
        CHECK(error_of({"-c", text}) == fmt::format("--ctx-size: `{}` is out of range: 1 to 67108864", text));
    REQUIRE(validated({"-c", "67108864"})->model.executor.context_tokens == 67108864U);
    for (const char* text : {"-1", "1e308", "1e999"})
        CHECK(error_of({"--temp", text}) == fmt::format("--temp: `{}` is out of range: 0 to 100", text));
    REQUIRE(error_of({"--top-p", "1.5"}) == "--top-p: `1.5` is out of range: more than 0, up to 1");
    REQUIRE(error_of({"--min-p", "-0.1"}) == "--min-p: `-0.1` is out of range: 0 to 1");

    TypedArguments typed;
    typed.positionals = {"demo"};
    add_environment(table(), {{"ETNA_TOP_K", "-1"}}, typed);
    REQUIRE(validate_run(table(), typed).error().message ==
            "ETNA_TOP_K: `-1` is out of range: 0 to 2147483647");
}

TEST_CASE("the longest context of the table is the longest that a model may have") {
    REQUIRE(find_option(table(), "ctx-size")->range.max == model::context_max);
}

TEST_CASE("a long value is cut where it is quoted, between characters") {
    REQUIRE(
        error_of({"--seed", std::string(200, 'x')}) ==
        fmt::format("--seed: `{}...` is not a whole number (64 bits with a sign)", std::string(100, 'x')));
    const std::string odd = std::string(99, 'x') + "\xc3\xa4" + "yyy"; // the 100th byte begins a character
    REQUIRE(error_of({"--seed", odd}) ==
            fmt::format("--seed: `{}...` is not a whole number (64 bits with a sign)", std::string(99, 'x')));
}

TEST_CASE("sizes are bytes or powers of 1024") {
    const auto bytes = [](const char* text) {
        return validated({"--kv-memory", text})->model.executor.kv_memory_bytes;
    };
    REQUIRE(bytes("65536") == 65536);
    REQUIRE(bytes("64K") == 65536);
    REQUIRE(bytes("64k") == 65536);
    REQUIRE(bytes("512MiB") == 512ULL << 20);
    REQUIRE(bytes("2G") == 2ULL << 30);
    REQUIRE(bytes("2GB") == 2ULL << 30);
    REQUIRE(bytes("1T") == 1ULL << 40);
    for (const char* text : {"", "G", "1.5G", "-1G", "2P", "1 G"}) {
        CHECK(error_of({"--kv-memory", text}) ==
              fmt::format("--kv-memory: `{}` is not a size such as 512M or 2G (64K to 1024T)", text));
    }
    for (const char* text :
         {"1K", "1025T", "99999999999T", "18446744073709551615", "99999999999999999999999"}) {
        CHECK(error_of({"--kv-memory", text}) ==
              fmt::format("--kv-memory: `{}` is out of range: 64K to 1024T", text));
    }
    CHECK(describe({.min = 1024, .max = 1 << 20}, Kind::size) == "1K to 1M");
    CHECK(describe({.min = 1, .max = 1536}, Kind::size) == "1 to 1536");
}

TEST_CASE("keys and values have the type that is named for both, or one of their own") {
    using runtime::KvType;
    const auto types = [](std::vector<std::string> words) {
        const auto options = validated(std::move(words));
        return std::pair(options->model.executor.key_type, options->model.executor.value_type);
    };
    REQUIRE(types({}) == std::pair(KvType::f16, KvType::f16));
    REQUIRE(types({"--kv-type", "f32"}) == std::pair(KvType::f32, KvType::f32));
    REQUIRE(types({"--key-type", "q8_0"}) == std::pair(KvType::q8_0, KvType::f16));
    REQUIRE(types({"--kv-type", "q8_0", "--value-type", "f32"}) == std::pair(KvType::q8_0, KvType::f32));
}

TEST_CASE("choices and flags") {
    REQUIRE(error_of({"--kv-type", "q8"}) == "--kv-type: `q8` is not one of f16, f32, q8_0");
    REQUIRE(validated({"--plan-as", "amd"})->model.executor.plan_as == "amd");
    REQUIRE(error_of({"--plan-as", "acme"}) ==
            "--plan-as: `acme` is not one of nvidia, amd, intel, lavapipe");
    for (const char* yes : {"--raw", "--raw=true", "--raw=1", "--raw=yes", "--raw=on"})
        CHECK(validated({yes})->prompt_form == PromptForm::raw);
    for (const char* no : {"--raw=false", "--raw=0", "--raw=no", "--raw=off"})
        CHECK(validated({no})->prompt_form == PromptForm::as_message);
    REQUIRE(error_of({"--raw=maybe"}) == "--raw: `maybe` is not true or false");
    REQUIRE(error_of({"--stop", ""}) == "--stop: a stop string must not be empty");
}

TEST_CASE("what is absent stays absent") {
    const auto options = validated({});
    REQUIRE(options.has_value());
    REQUIRE(options->model.model == "demo");
    REQUIRE(!options->prompt);
    REQUIRE(!options->generation.max_tokens);
    REQUIRE(!options->generation.sampling.seed);
    REQUIRE(!options->generation.sampling.overrides.temperature);
    REQUIRE(options->model.executor.context_tokens == 0);
    REQUIRE(options->model.executor.kv_memory_bytes == 0);
    REQUIRE(options->output_form == OutputForm::text);
    REQUIRE(options->verbosity == Verbosity::quiet);
}
