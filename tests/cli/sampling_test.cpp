// Sampling options, log-probabilities and the system message of `etna run`, on the fake executor.

#include "cli/commands/run_command.hpp"
#include "core/generate/generation.hpp"
#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::test;

namespace {

Result<cli::SamplingOptions> read_sampling_arguments(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "stories");
    const cli::Command& run = *cli::find_command("run");
    auto options = cli::validate_run(run, cli::parse(run, arguments).value());
    if (!options)
        return options.error();
    return options->generation.sampling;
}

std::string sampling_error(const std::vector<std::string>& arguments) {
    const auto result = read_sampling_arguments(arguments);
    return result ? "(accepted)" : result.error().message;
}

const std::string template_with_system =
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant{{ '\\n' }}";
const std::string template_without =
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
    "{% endif %}[INST] {{ m.content }} [/INST]{% endfor %}";

} // namespace

TEST_CASE("each sampling option sets its parameter") {
    const auto options = read_sampling_arguments({"--temp",
                                                  "1",
                                                  "--top-k",
                                                  "2",
                                                  "--top-p",
                                                  "0.3",
                                                  "--min-p",
                                                  "0.4",
                                                  "--typical-p",
                                                  "0.5",
                                                  "--top-n-sigma",
                                                  "6",
                                                  "--xtc-probability",
                                                  "0.7",
                                                  "--xtc-threshold",
                                                  "0.8",
                                                  "--min-keep",
                                                  "9",
                                                  "--repeat-penalty",
                                                  "10",
                                                  "--repeat-last-n",
                                                  "11",
                                                  "--presence-penalty",
                                                  "-12",
                                                  "--presence-last-n",
                                                  "13",
                                                  "--frequency-penalty",
                                                  "-14",
                                                  "--frequency-last-n",
                                                  "15",
                                                  "--dry-multiplier",
                                                  "16",
                                                  "--dry-base",
                                                  "17",
                                                  "--dry-allowed-length",
                                                  "18",
                                                  "--dry-penalty-last-n",
                                                  "19",
                                                  "--seed",
                                                  "20"});
    REQUIRE(options.has_value());
    const generate::SamplingOverrides& overrides = options->overrides;
    CHECK(overrides.temperature == 1.0F);
    CHECK(overrides.top_k == 2U);
    CHECK(overrides.top_p == 0.3F);
    CHECK(overrides.min_p == 0.4F);
    CHECK(overrides.typical_p == 0.5F);
    CHECK(overrides.top_n_sigma == 6.0F);
    CHECK(overrides.xtc_probability == 0.7F);
    CHECK(overrides.xtc_threshold == 0.8F);
    CHECK(overrides.min_keep == 9U);
    CHECK(overrides.repetition_penalty == 10.0F);
    CHECK(overrides.repetition_window_tokens == 11U);
    CHECK(overrides.presence_penalty == -12.0F);
    CHECK(overrides.presence_window_tokens == 13U);
    CHECK(overrides.frequency_penalty == -14.0F);
    CHECK(overrides.frequency_window_tokens == 15U);
    CHECK(overrides.dry_multiplier == 16.0F);
    CHECK(overrides.dry_base == 17.0F);
    CHECK(overrides.dry_allowed_length == 18U);
    CHECK(overrides.dry_window_tokens == 19U);
    CHECK(options->seed == 20U);
}

TEST_CASE("the sampler accepts every value that the options accept") {
    const cli::Command& run = *cli::find_command("run");
    for (const cli::Option& option : run.options) {
        const bool has_other_bounds = option.name == "seed"; // of 64 bits, which no double has
        if (option.category != cli::Category::sampling || option.kind == cli::Kind::text || has_other_bounds)
            continue;
        const double least = option.range.lower == cli::LowerBound::exclusive ? 1e-6 : option.range.min;
        for (const double value : {least, option.range.max}) {
            const auto options = read_sampling_arguments({fmt::format("--{}={}", option.name, value)});
            CAPTURE(option.name, value);
            REQUIRE(options.has_value());
            CHECK(sampling::check(generate::with_overrides({}, options->overrides)).has_value());
        }
    }
}

TEST_CASE("a window of -1 is the complete history") {
    for (const char* name : {"repeat-last-n", "presence-last-n", "frequency-last-n", "dry-penalty-last-n"}) {
        CHECK(sampling_error({fmt::format("--{}", name), "-2"}) ==
              fmt::format("--{}: `-2` is out of range: -1 to 2147483647", name));
        CHECK(sampling_error({fmt::format("--{}", name), "1.5"}) ==
              fmt::format("--{}: `1.5` is not a whole number (-1 to 2147483647)", name));
    }
    CHECK(read_sampling_arguments({"--repeat-last-n", "-1"})->overrides.repetition_window_tokens ==
          sampling::full_history);
    CHECK(read_sampling_arguments({"--repeat-last-n", "0"})->overrides.repetition_window_tokens == 0U);
    CHECK(!read_sampling_arguments({})->overrides.repetition_window_tokens);
}

TEST_CASE("biases are an id and a number") {
    const auto biases =
        read_sampling_arguments({"--logit-bias", "15043=-2.5", "--logit-bias=13=-inf", "--logit-bias=0=4"});
    REQUIRE(biases.has_value());
    REQUIRE(biases->logit_bias.size() == 3);
    CHECK(biases->logit_bias[0].token == 15043);
    CHECK(biases->logit_bias[0].bias == -2.5F);
    CHECK(biases->logit_bias[1].token == 13);
    CHECK(biases->logit_bias[1].bias == -std::numeric_limits<float>::infinity());
    CHECK(biases->logit_bias[2].bias == 4.0F);
    for (const char* bad : {"", "5", "5=", "=5", "x=1", "5=x", "5=1x", "5=inf", "5=nan", "-1=2", "5=1e99",
                            "4294967296=1", "5==1", " 5=1"}) {
        CHECK(sampling_error({"--logit-bias", bad}) == fmt::format("--logit-bias: `{}` is not ID=BIAS", bad));
    }
}

TEST_CASE("sequence breakers replace the defaults, and `none` removes them") {
    CHECK(!read_sampling_arguments({})->dry_breakers);
    CHECK(*read_sampling_arguments({"--dry-sequence-breaker", "\n", "--dry-sequence-breaker", "ab"})
               ->dry_breakers == std::vector<std::string>{"\n", "ab"});
    CHECK(read_sampling_arguments({"--dry-sequence-breaker", "none"})->dry_breakers->empty());
    CHECK(contains(sampling_error({"--dry-sequence-breaker", ""}), "has 0 bytes"));
    CHECK(contains(sampling_error({"--dry-sequence-breaker", std::string(41, 'x')}), "has 41 bytes"));
}

TEST_CASE("--logprobs adds OpenAI's logprobs to the JSON object") {
    Harness etna;
    const Outcome outcome = etna.run({"run", "stories", "x", "--json", "--logprobs", "2"});
    REQUIRE(outcome.code == 0);
    CHECK(outcome.error.empty());
    const auto json = nlohmann::json::parse(outcome.output);
    const auto& content = json["logprobs"]["content"];
    REQUIRE(content.size() == json["tokens"].size());
    CHECK(json["logprobs"]["refusal"].is_null());
    std::string text;
    for (const auto& token : content) {
        CHECK(token.size() == 4);
        text += token["token"].get<std::string>();
        CHECK(token["bytes"].size() == token["token"].get<std::string>().size());
        CHECK(token["logprob"].get<double>() <= 0);
        REQUIRE(token["top_logprobs"].size() == 2);
        CHECK(token["top_logprobs"][0].size() == 3);
        CHECK(token["top_logprobs"][0]["token"] == token["token"]); // the script's tokens are the likeliest
        CHECK(token["top_logprobs"][0]["logprob"] == token["logprob"]);
        CHECK(token["top_logprobs"][1]["logprob"] < token["logprob"]);
    }
    CHECK(text == " there was a dog.");

    const auto none = nlohmann::json::parse(
        etna.run({"run", "stories", "x", "--json", "--logprobs", "0"}).output)["logprobs"]["content"];
    CHECK(none.size() == content.size());
    CHECK(none[0]["top_logprobs"].empty());
    CHECK(!nlohmann::json::parse(etna.run({"run", "stories", "x", "--json"}).output).contains("logprobs"));
}

TEST_CASE("pieces that are not UTF-8 are repaired in the token and exact in the bytes") {
    Harness etna;
    etna.answer = " \xe2\x98\x83"; // byte tokens
    const auto json =
        nlohmann::json::parse(etna.run({"run", "stories", "x", "--json", "--logprobs", "0"}).output);
    std::vector<int> bytes;
    for (const auto& token : json["logprobs"]["content"]) {
        for (const auto& byte : token["bytes"])
            bytes.push_back(byte.get<int>());
    }
    CHECK(bytes == std::vector<int>{' ', 0xe2, 0x98, 0x83});
    CHECK(json["logprobs"]["content"].back()["token"] == "\xef\xbf\xbd");
}

TEST_CASE("without --json, log-probabilities are lines on standard error, after the text") {
    Harness etna;
    const Outcome outcome = etna.run({"run", "stories", "x", "--logprobs", "2", "-n", "2"});
    CHECK(outcome.output == " there was\n");
    CAPTURE(outcome.error);
    CHECK(contains(outcome.error, "logprob   0.0000 \" there\"  likeliest   0.0000 \" there\", -5"));
    CHECK(std::count(outcome.error.begin(), outcome.error.end(), '\n') == 2);
    etna.answer = "a\nb";
    CHECK(contains(etna.run({"run", "stories", "x", "--logprobs", "0"}).error, "\"\\n\"\n"));
    CHECK(etna.run({"run", "stories", "x", "--logprobs", "21"}).code == 2);
}

TEST_CASE("penalties and biases reach the model") {
    Harness etna;
    const auto tokens = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {"run", "stories", "x", "--json", "--temp", "0", "-n", "3"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome outcome = etna.run(arguments);
        CAPTURE(outcome.error);
        REQUIRE(outcome.code == 0);
        return nlohmann::json::parse(outcome.output)["tokens"].get<std::vector<TokenId>>();
    };
    const auto plain = tokens({});
    CHECK(tokens({"--logit-bias", "9=100"}) == std::vector<TokenId>{9, 9, 9});
    const auto unrepeated =
        tokens({"--logit-bias", "9=100", "--logit-bias", "8=80", "--presence-penalty", "100"});
    CHECK(unrepeated.at(0) == 9);
    CHECK(unrepeated.at(1) == 8);
    CHECK(tokens({"--typical-p", "0.5", "--xtc-probability", "1"}) == plain);

    const Outcome wild = etna.run({"run", "stories", "x", "--logit-bias", "512=1"});
    CHECK(wild.code == 1);
    CHECK(contains(wild.error, "error: logit_bias names token 512, and the vocabulary has 512\nhint: "));
}

TEST_CASE("--system puts a message before the prompt") {
    Harness etna;
    etna.install_model("chatty", {{"tokenizer.chat_template", template_with_system}});
    REQUIRE(etna.run({"run", "chatty", "Hi", "--system", "Be brief."}).code == 0);
    CHECK(etna.prompt == "<s> <|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                         "<|im_start|>assistant\n");
    REQUIRE(etna.run({"run", "chatty", "Hi", "--system", ""}).code == 0);
    CHECK(!contains(etna.prompt, "system"));
}

TEST_CASE(
    "a system message without a role in the template goes before the prompt, or is an error with a hint") {
    Harness etna;
    etna.install_model("mute", {{"tokenizer.chat_template", template_without}});
    const Outcome merged = etna.run({"run", "mute", "Hi", "--system", "Be brief."});
    CHECK(merged.code == 0);
    CHECK(etna.prompt == "<s> [INST] Be brief.\n\nHi [/INST]");
    CHECK(contains(merged.error, "note: the chat template does not support system messages"));
    const Outcome base = etna.run({"run", "stories", "Hi", "--system", "Be brief."});
    CHECK(base.code == 1);
    CHECK(contains(base.error, "error: stories has no chat template, which --system needs\nhint: "));
    const Outcome raw = etna.run({"run", "mute", "Hi", "--system", "Be brief.", "--raw"});
    CHECK(raw.code == 2);
    CHECK(contains(raw.error, "error: --system and --raw exclude each other\nhint: "));
}
