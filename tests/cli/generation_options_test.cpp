// End conditions, constraints, predictions and prompt logprobs, on the fake executor.

#include "cli/commands/run_command.hpp"
#include "cli/options/config_file.hpp"
#include "core/base/json.hpp"
#include "tests/cli/chat.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::test;

namespace {

Result<cli::GenerationOptions> read_generation_arguments(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "stories");
    const cli::Command& run = *cli::find_command("run");
    auto options = cli::validate_run(run, cli::parse(run, arguments).value());
    if (!options)
        return options.error();
    return options->generation;
}

std::string generation_error(const std::vector<std::string>& arguments) {
    const auto result = read_generation_arguments(arguments);
    return result ? "(accepted)" : result.error().message;
}

/// The JSON report of `etna run stories "Once upon" --json`, with more options.
Json json_report_of(Harness& etna, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"run", "stories", "Once upon", "--json"});
    const Outcome outcome = etna.run(more);
    CAPTURE(outcome.error);
    REQUIRE(outcome.code == 0);
    return etna::parse_json(outcome.output);
}

const std::string generated_story = " there was a dog.";

} // namespace

TEST_CASE("options that end an answer set the request's fields") {
    const auto options = read_generation_arguments({"-n", "9", "--min-tokens", "3", "--stop-token-id", "5",
                                                    "--stop-token-id=0", "--ignore-eos", "--prediction",
                                                    "a dog", "--logprobs", "2"});
    REQUIRE(options.has_value());
    CHECK(options->max_tokens == 9U);
    CHECK(options->min_tokens == 3U);
    CHECK(options->stop_tokens == std::vector<TokenId>{5, 0});
    CHECK(options->end_tokens == generate::EndTokens::ignore);
    CHECK(options->prediction == "a dog");
    CHECK(options->logprobs == 2U);
    const auto none = read_generation_arguments({});
    REQUIRE(none.has_value());
    CHECK(none->min_tokens == 0U);
    CHECK(none->stop_tokens.empty());
    CHECK(none->end_tokens == generate::EndTokens::stop);
    CHECK(none->prediction.empty());
    CHECK(!none->logprobs);
}

TEST_CASE("stop strings act on the content, and JSON has single white space, unless options change that") {
    const auto none = read_generation_arguments({});
    REQUIRE(none.has_value());
    CHECK(none->stop_scope == generate::StopScope::content);
    CHECK(none->json_spacing == grammar::JsonSpacing::single);
    const auto changed = read_generation_arguments({"--stop-in-reasoning", "--json-whitespace", "any"});
    REQUIRE(changed.has_value());
    CHECK(changed->stop_scope == generate::StopScope::all_text);
    CHECK(changed->json_spacing == grammar::JsonSpacing::any);
    const auto compact = read_generation_arguments({"--json-whitespace=compact"});
    REQUIRE(compact.has_value());
    CHECK(compact->json_spacing == grammar::JsonSpacing::none);
    CHECK(generation_error({"--json-whitespace", "two"}) != "(accepted)");
}

TEST_CASE("contradictory lengths and malformed numbers are refused") {
    CHECK(generation_error({"--min-tokens", "4", "-n", "3"}) == "--min-tokens 4 is more than --max-tokens 3");
    CHECK(generation_error({"--min-tokens", "3", "-n", "3"}) == "(accepted)");
    CHECK(generation_error({"--stop-token-id", "5", "--stop-token-id", "x"}) ==
          "--stop-token-id: `x` is not a whole number (0 to 4294967295)");
    CHECK(generation_error({"--stop-token-id", "-1", "--stop-token-id", "5"}) ==
          "--stop-token-id: `-1` is out of range: 0 to 4294967295");
    CHECK(generation_error({"-n", "0"}) == "--max-tokens 0 gives no answer");
    CHECK(generation_error({"-n", "0", "--prompt-logprobs", "0"}) == "(accepted)");
    CHECK(generation_error({"-n", "0", "--prompt-logprobs", "0", "--n", "2"}) ==
          "--max-tokens 0 and --n exclude each other");
    CHECK(generation_error({"--prompt-logprobs", "21"}) ==
          "--prompt-logprobs: `21` is out of range: 0 to 20");
}

TEST_CASE("the configuration file accepts one stop token or an array") {
    const auto read_file = [](const std::string& text) {
        cli::TypedArguments typed;
        const Status status = cli::add_config(*cli::find_command("run"), text, "config.toml", typed);
        if (!status)
            return status.error().message;
        std::string ids;
        for (const cli::TypedValue& value : typed.options["stop-token-id"])
            ids += value.text + " ";
        return ids;
    };
    CHECK(read_file("stop-token-id = 7") == "7 ");
    CHECK(read_file("stop-token-id = [7, 8]") == "7 8 ");
    CHECK(read_file("stop-token-id = ['7']") ==
          "config.toml:1: stop-token-id: a whole number, or an array of them is expected");
    CHECK(read_file("seed = [7]") == "config.toml:1: seed: a whole number is expected");
}

TEST_CASE("--ignore-eos continues past the end token, --min-tokens delays it") {
    Harness etna;
    const Json plain = json_report_of(etna);
    REQUIRE(plain["finish_reason"] == "stop");
    const std::size_t length = plain["tokens"].size();
    REQUIRE(length < 9);
    const Json longer = json_report_of(etna, {"--ignore-eos", "-n", "12"});
    CHECK(longer["finish_reason"] == "length");
    REQUIRE(longer["tokens"].size() == 12);
    CHECK(longer["tokens"][length] == longer["tokens"][11]); // the end token, again and again
    CHECK(longer["text"] == generated_story);

    const Json enough = json_report_of(etna, {"--min-tokens", "9"});
    CHECK(enough["finish_reason"] == "stop");
    CHECK(enough["tokens"].size() == 9);
    CHECK(enough["text"].get<std::string>().starts_with(generated_story));
}

TEST_CASE("--stop-token-id ends the answer before the token") {
    Harness etna;
    const auto tokens = json_report_of(etna)["tokens"].get<std::vector<TokenId>>();
    REQUIRE(tokens.size() > 2);
    const Json cut =
        json_report_of(etna, {"--stop-token-id", "511", "--stop-token-id", std::to_string(tokens[2])});
    CHECK(cut["tokens"] == Json({tokens[0], tokens[1]}));
    CHECK(cut["text"] == " there was");
    CHECK(cut["finish_reason"] == "stop");
    // Larger ids would be written past the end of the logits.
    const Outcome wild = etna.run(
        {"run", "stories", "x", "--stop-token-id", "512", "--stop-token-id", "1", "--min-tokens", "2"});
    CHECK(wild.code == 1);
    CHECK(wild.output.empty());
    CHECK(wild.error == "error: --stop-token-id: token 512 is outside the vocabulary of 512\n"
                        "hint: use token ids from 0 to 511\n");
}

TEST_CASE("--choice constrains the answer to one of several texts and excludes other forms") {
    Harness etna;
    const auto choices = read_generation_arguments({"--choice", "yes", "--choice", "a, b"});
    REQUIRE(choices.has_value());
    REQUIRE(choices->grammar.has_value());
    CHECK(choices->grammar->notation == grammar::Notation::choices);
    CHECK(choices->grammar->choices == std::vector<std::string>{"yes", "a, b"});
    CHECK(etna.run({"run", "stories", "Once", "--temp", "0", "--choice", "yes", "--choice", "no", "--choice",
                    " there was a cat"})
              .output == " there was a cat\n"); // it starts like the model's own answer
    CHECK(etna.run({"run", "stories", "Once", "--choice", "yes"}).output == "yes\n");
    CHECK(generation_error({"--choice", "yes", "--regex", "y"}) == "--regex and --choice exclude each other");
    CHECK(generation_error({"--choice", "yes", "--json-schema", "{}"}) ==
          "--json-schema and --choice exclude each other");
}

TEST_CASE("a prediction is drafted where the answer matches it, and changes nothing") {
    Harness etna;
    etna.answer = generated_story + generated_story + generated_story + generated_story;
    const Json plain = json_report_of(etna);
    const auto drafts = [](const Json& of) {
        return of["usage"]["completion_tokens_details"]["accepted_prediction_tokens"].get<int>();
    };
    CHECK(drafts(plain) == 0);
    const Json predicted = json_report_of(etna, {"--prediction", etna.answer->substr(1)});
    CHECK(predicted["tokens"] == plain["tokens"]);
    CHECK(drafts(predicted) > 5);
    const Json wrong = json_report_of(etna, {"--prediction", "a long text of quite another kind"});
    CHECK(wrong["tokens"] == plain["tokens"]);
}

TEST_CASE("--prompt-logprobs scores the prompt in vLLM's format") {
    Harness etna;
    const Json whole = json_report_of(etna, {"--prompt-logprobs", "2"});
    CHECK(whole["text"] == generated_story);
    CHECK(!whole.contains("logprobs"));
    const Json& places = whole["prompt_logprobs"];
    const auto ids = whole["prompt_token_ids"].get<std::vector<TokenId>>();
    REQUIRE(ids.size() == whole["usage"]["prompt_tokens"].get<std::size_t>());
    REQUIRE(places.size() == ids.size());
    CHECK(places[0].is_null()); // it has no predecessor
    std::string text;
    for (std::size_t i = 1; i < ids.size(); ++i) {
        const Json& place = places[i];
        CAPTURE(etna::dump_json(place));
        CHECK((place.size() == 2 || place.size() == 3));
        REQUIRE(place.contains(std::to_string(ids[i])));
        const Json& own = place[std::to_string(ids[i])];
        CHECK(own["logprob"].get<double>() <= 0);
        CHECK(own["rank"].get<int>() >= 1);
        CHECK((own["rank"] <= 2) == (place.size() == 2));
        text += own["decoded_token"].get<std::string>();
    }
    CHECK(text == " Once upon");
    CHECK(!json_report_of(etna).contains("prompt_logprobs"));
    CHECK(!json_report_of(etna).contains("prompt_token_ids"));

    const Json alone = json_report_of(etna, {"--prompt-logprobs", "2", "-n", "0"});
    CHECK(alone["prompt_logprobs"] == places);
    CHECK(alone["text"] == "");
    CHECK(alone["tokens"].empty());
    CHECK(alone["finish_reason"] == "length");
}

TEST_CASE("without --json, prompt logprobs are lines on standard error, and an empty answer prints nothing") {
    Harness etna;
    etna.error_is_terminal = true;
    const Outcome outcome =
        etna.run({"run", "stories", "Once upon", "--prompt-logprobs", "1", "-n", "0", "-c", "64"});
    CAPTURE(outcome.error);
    CHECK(outcome.code == 0);
    CHECK(outcome.output.empty());
    CHECK(contains(outcome.error, "prompt           \"<s>\"\n"));
    CHECK(contains(outcome.error, "  rank "));
    CHECK(contains(outcome.error, "  likeliest "));
    CHECK(!contains(outcome.error, "repeats this")); // chance had no part in it
}

TEST_CASE("every answer's object contains the prompt logprobs, standard error only once") {
    Harness etna;
    const Outcome json =
        etna.run({"run", "stories", "Once upon", "--n", "2", "--json", "--prompt-logprobs", "1"});
    REQUIRE(json.code == 0);
    const std::size_t end = json.output.find('\n');
    const Json first = etna::parse_json(json.output.substr(0, end));
    const Json second = etna::parse_json(json.output.substr(end + 1));
    REQUIRE(first["prompt_logprobs"].size() == first["usage"]["prompt_tokens"].get<std::size_t>());
    CHECK(first["prompt_logprobs"] == second["prompt_logprobs"]);
    const Outcome text = etna.run({"run", "stories", "Once upon", "--n", "2", "--prompt-logprobs", "0"});
    CHECK(text.code == 0);
    CHECK(count(text.error, "prompt  ") == first["prompt_logprobs"].size());
}

TEST_CASE("after tool calls, the prompt logprobs are those of the final prompt") {
    Chat etna;
    etna.input_kind = InputKind::none;
    etna.answers = {calls_roll, "done"};
    const Outcome outcome = etna.run({"run", "chatty", "go", "--json", "--prompt-logprobs", "0", "--yes",
                                      "--tools", etna.write("tools.json", dice).string()});
    CAPTURE(outcome.error);
    REQUIRE(outcome.code == 0);
    const Json whole = etna::parse_json(outcome.output);
    CHECK(whole["text"] == "done");
    CHECK(whole["prompt_token_ids"].size() == whole["usage"]["prompt_tokens"].get<std::size_t>());
    CHECK(whole["prompt_logprobs"].size() == whole["prompt_token_ids"].size());
}

TEST_CASE("a chat prints log-probabilities after each answer, and end conditions can be set") {
    Chat etna;
    const Outcome one = etna.chat("hi\n", {"--logprobs", "0"});
    CHECK(one.output == "there was a dog.\n");
    const std::size_t tokens = count(one.error, "logprob ");
    CHECK(tokens > 2);
    CHECK(count(etna.chat("hi\nho\n", {"--logprobs", "0"}).error, "logprob ") == 2 * tokens);
    const Outcome set = etna.chat("/set logprobs 1\nhi\n/set prediction there was\nho\n/set\n");
    CHECK(set.output == "there was a dog.\nthere was a dog.\n");
    CHECK(count(set.error, "  likeliest ") == 2 * tokens);
    CHECK(contains(set.error, "logprobs 1\nprediction there was\n"));
    CHECK(contains(etna.chat("/set max-tokens 0\n").error, "`0` is out of range: 1 to 2147483647"));
    CHECK(contains(etna.chat("/set min-tokens 3\n/set max-tokens 2\n").error,
                   "--min-tokens 3 is more than --max-tokens 2"));
    const Outcome wild = etna.chat("hi\n", {"--stop-token-id", "512"});
    CHECK(wild.code == 1);
    CHECK(wild.output.empty());
    CHECK(contains(wild.error, "--stop-token-id: token 512 is outside"));
    CHECK(etna.chat("hi\n", {"--n", "2"}).code == 2); // a conversation continues with one answer
}
