// The second stage: kinds and ranges.

#include "cli/commands/run_command.hpp"
#include "cli/options/option_values.hpp"
#include "core/model/config.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

using namespace etna;
using namespace etna::cli;

namespace {

const Command& run_table() {
    return *find_command("run");
}

Result<RunOptions> validated(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "demo");
    return validate_run(run_table(), parse(run_table(), arguments).value());
}

std::string validation_error(const std::vector<std::string>& arguments) {
    const auto result = validated(arguments);
    return result ? "(accepted)" : result.error().message;
}

} // namespace

TEST_CASE("ranges are enforced at both ends") {
    REQUIRE(validated({"--temp", "0"})->generation.sampling.overrides.temperature == 0.0F);
    REQUIRE(validated({"--temp", "100"}).has_value());
    REQUIRE(validation_error({"--temp", "100.5"}) == "--temp: `100.5` is out of range: 0 to 100");
    REQUIRE(validation_error({"--temp=-0.1"}) == "--temp: `-0.1` is out of range: 0 to 100");
    REQUIRE(validated({"--top-p", "1"})->generation.sampling.overrides.top_p == 1.0F);
    REQUIRE(validation_error({"--top-p", "0"}) == "--top-p: `0` is out of range: more than 0, up to 1");
    REQUIRE(validation_error({"--top-p", "1e-60"}) ==
            "--top-p: `1e-60` is out of range: more than 0, up to 1");
    REQUIRE(validated({"--min-p", "0"})->generation.sampling.overrides.min_p == 0.0F);
    REQUIRE(validation_error({"--min-p", "1.01"}) == "--min-p: `1.01` is out of range: 0 to 1");
    REQUIRE(validated({"--seed", "9223372036854775807"})->generation.sampling.seed == 9223372036854775807);
    REQUIRE(validated({"--seed", "-9223372036854775808"})->generation.sampling.seed ==
            std::numeric_limits<int64_t>::min());
    REQUIRE(validated({"--seed", "-2"})->generation.sampling.seed == -2);
    REQUIRE(!validated({"--seed", "-1"})->generation.sampling.seed); // a random one
    REQUIRE(validation_error({"--seed", "9223372036854775808"}) ==
            "--seed: `9223372036854775808` is out of range: 64 bits with a sign");
    REQUIRE(validation_error({"-n", "0"}) ==
            "--max-tokens 0 gives no answer"); // allowed with --prompt-logprobs
    REQUIRE(validation_error({"-n", "-2"}) == "--max-tokens: `-2` is out of range: 0 to 2147483647");
    REQUIRE(validated({"-n", "2147483647"})->generation.max_tokens == 2147483647U);
    REQUIRE(validation_error({"-n", "2147483648"}) ==
            "--max-tokens: `2147483648` is out of range: 0 to 2147483647");
    REQUIRE(validated({"--top-k", "0"})->generation.sampling.overrides.top_k == 0U);
}

TEST_CASE("the absence value is equivalent to no option") {
    REQUIRE(!validated({"-n", "-1"})->generation.max_tokens);
    REQUIRE(!validated({"--seed", "-1"})->generation.sampling.seed);
    REQUIRE(!validated({"--top-n-sigma", "-1"})->generation.sampling.overrides.top_n_sigma);
    REQUIRE(validated({"-c", "0"})->model.executor.context_tokens == 0);
    REQUIRE(!validated({"--seed", "5", "--seed", "-1"})->generation.sampling.seed); // the last one counts
}

TEST_CASE("-c 0 replaces a context from the environment by the model's own") {
    TypedArguments typed = parse(run_table(), std::vector<std::string>{"demo", "-c", "0"}).value();
    add_environment(run_table(), {{"ETNA_CTX_SIZE", "512"}}, typed);
    REQUIRE(validate_run(run_table(), typed)->model.executor.context_tokens == 0);
    TypedArguments untyped = parse(run_table(), std::vector<std::string>{"demo"}).value();
    add_environment(run_table(), {{"ETNA_CTX_SIZE", "512"}}, untyped);
    REQUIRE(validate_run(run_table(), untyped)->model.executor.context_tokens == 512);
}

TEST_CASE("a malformed number is refused with its text") {
    for (const char* text : {"", "-", "x", "1x", " 1", "1 ", "+1", "0x10", "1.5", "nan"}) {
        CHECK(validation_error({"--seed", text}) ==
              fmt::format("--seed: `{}` is not a whole number (64 bits with a sign)", text));
    }
    for (const char* text : {"", "x", "1x", " 1", "nan", "inf", "-inf"})
        CHECK(validation_error({"--temp", text}) ==
              fmt::format("--temp: `{}` is not a number (0 to 100)", text));
}

TEST_CASE("a number out of range is refused with both bounds") {
    for (const char* text : {"-2", "99999999999", "99999999999999999999999"}) {
        CHECK(validation_error({"--top-k", text}) ==
              fmt::format("--top-k: `{}` is out of range: 0 to 2147483647", text));
    }
    REQUIRE(validation_error({"--seed", "99999999999999999999999"}) ==
            "--seed: `99999999999999999999999` is out of range: 64 bits with a sign");
    for (const char* text : {"-1", "67108865", "1000000000", "4294967296"})
        CHECK(validation_error({"-c", text}) ==
              fmt::format("--ctx-size: `{}` is out of range: 1 to 67108864", text));
    REQUIRE(validated({"-c", "67108864"})->model.executor.context_tokens == 67108864U);
    for (const char* text : {"-1", "1e308", "1e999"})
        CHECK(validation_error({"--temp", text}) ==
              fmt::format("--temp: `{}` is out of range: 0 to 100", text));
    REQUIRE(validation_error({"--top-p", "1.5"}) == "--top-p: `1.5` is out of range: more than 0, up to 1");
    REQUIRE(validation_error({"--min-p", "-0.1"}) == "--min-p: `-0.1` is out of range: 0 to 1");

    TypedArguments typed;
    typed.positionals = {"demo"};
    add_environment(run_table(), {{"ETNA_TOP_K", "-1"}}, typed);
    REQUIRE(validate_run(run_table(), typed).error().message ==
            "ETNA_TOP_K: `-1` is out of range: 0 to 2147483647");
}

TEST_CASE("the maximum context of the table is the model's maximum") {
    REQUIRE(find_option(run_table(), "ctx-size")->range.max == model::context_max);
}

TEST_CASE("a long quoted value is cut between characters") {
    REQUIRE(
        validation_error({"--seed", std::string(200, 'x')}) ==
        fmt::format("--seed: `{}...` is not a whole number (64 bits with a sign)", std::string(100, 'x')));
    const std::string odd = std::string(99, 'x') + "\xc3\xa4" + "yyy"; // the 100th byte begins a character
    REQUIRE(validation_error({"--seed", odd}) ==
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
        CHECK(validation_error({"--kv-memory", text}) ==
              fmt::format("--kv-memory: `{}` is not a size such as 512M or 2G (64K to 1024T)", text));
    }
    for (const char* text :
         {"1K", "1025T", "99999999999T", "18446744073709551615", "99999999999999999999999"}) {
        CHECK(validation_error({"--kv-memory", text}) ==
              fmt::format("--kv-memory: `{}` is out of range: 64K to 1024T", text));
    }
    CHECK(describe({.min = 1024, .max = 1 << 20}, Kind::size) == "1K to 1M");
    CHECK(describe({.min = 1, .max = 1536}, Kind::size) == "1 to 1536");
}

TEST_CASE("--key-type and --value-type override --kv-type") {
    using runtime::KvType;
    const auto types = [](std::vector<std::string> words) {
        const auto options = validated(std::move(words));
        return std::pair(options->model.executor.key_type, options->model.executor.value_type);
    };
    REQUIRE(types({}) == std::pair(KvType::f16, KvType::f16));
    REQUIRE(validated({})->model.executor.adapts_kv_type);
    REQUIRE(!validated({"--kv-type", "f16"})->model.executor.adapts_kv_type);
    REQUIRE(!validated({"--value-type", "q8_0"})->model.executor.adapts_kv_type);
    REQUIRE(types({"--kv-type", "f32"}) == std::pair(KvType::f32, KvType::f32));
    REQUIRE(types({"--key-type", "q8_0"}) == std::pair(KvType::q8_0, KvType::f16));
    REQUIRE(types({"--kv-type", "q8_0", "--value-type", "f32"}) == std::pair(KvType::q8_0, KvType::f32));
}

TEST_CASE("choices and flags accept only their values") {
    REQUIRE(validation_error({"--kv-type", "q8"}) == "--kv-type: `q8` is not one of f16, f32, q8_0");
    REQUIRE(validated({"--plan-as", "amd"})->model.executor.plan_as == "amd");
    REQUIRE(validated({})->model.executor.precision == kernels::Precision::exact);
    REQUIRE(validated({"--precision", "fast"})->model.executor.precision == kernels::Precision::fast);
    REQUIRE(validation_error({"--plan-as", "acme"}) ==
            "--plan-as: `acme` is not one of nvidia, amd, intel, lavapipe");
    for (const char* yes : {"--raw", "--raw=true", "--raw=1", "--raw=yes", "--raw=on"})
        CHECK(validated({yes})->prompt_form == PromptForm::raw);
    for (const char* no : {"--raw=false", "--raw=0", "--raw=no", "--raw=off"})
        CHECK(validated({no})->prompt_form == PromptForm::as_message);
    REQUIRE(validation_error({"--raw=maybe"}) == "--raw: `maybe` is not true or false");
    REQUIRE(validation_error({"--stop", ""}) == "--stop: a stop string must not be empty");
}

TEST_CASE("absent options stay absent") {
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
