// Options of multiple answers, beam search and drafts, on the fake executor.

#include "cli/commands/run_command.hpp"
#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::test;

namespace {

Result<cli::RunOptions> read_search_arguments(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "stories");
    const cli::Command& run = *cli::find_command("run");
    return cli::validate_run(run, cli::parse(run, arguments).value());
}

std::string search_error(const std::vector<std::string>& arguments) {
    const auto result = read_search_arguments(arguments);
    return result ? "(accepted)" : result.error().message;
}

} // namespace

TEST_CASE("options of a beam search set its fields and the number of sequences") {
    const auto options =
        read_search_arguments({"--beams", "6", "--beam-groups", "3", "--diversity-penalty", "0.5",
                               "--length-penalty", "-1", "--early-stopping", "never"});
    REQUIRE(options.has_value());
    REQUIRE(options->generation.search.beams.has_value());
    const engine::BeamOptions& beams = *options->generation.search.beams;
    CHECK((beams.width == 6 && beams.groups == 3));
    CHECK((beams.diversity_penalty == 0.5F && beams.length_penalty == -1));
    CHECK(beams.early_stopping == engine::EarlyStopping::never);
    CHECK(options->model.executor.sequences_max == 6);
    CHECK(read_search_arguments({"--best-of", "4"})->model.executor.sequences_max == 4);
    CHECK(read_search_arguments({"--temp", "0"})->model.executor.sequences_max == 1);
}

TEST_CASE("contradictory and incomplete options are refused") {
    CHECK(search_error({"--beams", "2", "--best-of", "2"}).find("--beams") != std::string::npos);
    CHECK(search_error({"--length-penalty", "2"}).find("beam search") != std::string::npos);
    CHECK(search_error({"--beams", "4", "--beam-groups", "3"}).find("groups") != std::string::npos);
    CHECK(search_error({"--max-ngram-size", "2"}).find("--prompt-lookup") != std::string::npos);
    CHECK(search_error({"--num-assistant-tokens", "2", "--assistant-confidence-threshold", "0.5"})
              .find("exclude") != std::string::npos);
}

TEST_CASE("run prints the best hypothesis of a search") {
    Harness harness;
    const Outcome outcome = harness.run({"run", "stories", "Once", "--beams", "3"});
    CHECK(outcome.code == 0);
    CHECK(outcome.output == harness.run({"run", "stories", "Once", "--temp", "0"}).output);
}

TEST_CASE("run prints several answers, each complete") {
    Harness harness;
    harness.answer = " there was a dog.";
    const std::string one = harness.run({"run", "stories", "Once"}).output;
    const Outcome three = harness.run({"run", "stories", "Once", "--n", "3"});
    CHECK(three.code == 0);
    CHECK(three.output == one + "\n" + one + "\n" + one);
    const Outcome json =
        harness.run({"run", "stories", "Once", "--n", "2", "--json", "--logprobs", "1", "--seed", "7"});
    REQUIRE(json.code == 0);
    const std::size_t end = json.output.find('\n');
    const auto first = nlohmann::json::parse(json.output.substr(0, end));
    const auto second = nlohmann::json::parse(json.output.substr(end + 1));
    CHECK((first["index"] == 0 && second["index"] == 1));
    CHECK((first["seed"] == 7 && second["seed"] == 8));
    CHECK(first["text"] == second["text"]);
    CHECK(second["logprobs"]["content"].size() == second["tokens"].size());
    CHECK(search_error({"--n", "3", "--best-of", "2"}).find("best of 2") != std::string::npos);
    CHECK(search_error({"--n", "3", "--beams", "2"}).find("best of 2") != std::string::npos);
    CHECK(search_error({"--n", "2", "--tools", "t.json"}).find("--tools") != std::string::npos);
    CHECK(read_search_arguments({"--n", "5"})->model.executor.sequences_max == 5);
    CHECK(harness.run({"run", "stories", "Once", "--n", "2", "--beams", "3"}).code == 0);
}

TEST_CASE("Ctrl-C before the first of several answers ends them without a message") {
    Harness harness;
    harness.interrupted = true;
    const Outcome outcome = harness.run({"run", "stories", "Once", "--n", "2"});
    CHECK(outcome.code == 130);
    CHECK(outcome.output.empty());
    CHECK(outcome.error.empty());
}

TEST_CASE("incomplete answers are counted at a terminal") {
    Harness harness;
    harness.error_is_terminal = true;
    harness.variables["NO_COLOR"] = "1";
    const std::vector<std::string> three = {"run", "stories", "Once", "--n", "3"};
    CHECK(harness.run(three).error.empty());
    auto cut = three;
    cut.insert(cut.end(), {"-n", "2"});
    CHECK(harness.run(cut).error == "note: --max-tokens 2 reached; 3 of 3 answers are incomplete\n");
    cut.emplace_back("--json");
    CHECK(harness.run(cut).error.empty());
    harness.answer.reset();
    harness.step_delay = std::chrono::milliseconds(5);
    std::thread hand([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(150)); // until some tokens are generated
        harness.interrupted = true;
    });
    auto endless = three;
    endless.emplace_back("--ignore-eos");
    const Outcome stopped = harness.run(endless);
    hand.join();
    CHECK(stopped.code == 130);
    CHECK(stopped.error == "note: stopped; 3 of 3 answers are incomplete\n");
    CHECK(harness.run(three).error == stopped.error); // before the first answer has started
}

TEST_CASE("run reports accepted drafts, and its text does not change") {
    Harness harness;
    harness.answer = " there was a dog. there was a dog. there was a dog. there was a dog.";
    const Outcome plain = harness.run({"run", "stories", "Once", "--json"});
    const auto drafted =
        harness.run({"run", "stories", "Once", "--json", "--draft", "stories", "--prompt-lookup"});
    REQUIRE(drafted.code == 0);
    const auto told = nlohmann::json::parse(drafted.output);
    CHECK(told["text"] == nlohmann::json::parse(plain.output)["text"]);
    CHECK(told["usage"]["completion_tokens_details"]["accepted_prediction_tokens"] > 5);
    const Outcome verbose = harness.run({"run", "stories", "Once", "-v", "--prompt-lookup"});
    CHECK(verbose.error.find("accepted") != std::string::npos);
    const Outcome missing = harness.run({"run", "stories", "Once", "--draft", "nowhere.gguf"});
    CHECK(missing.code != 0);
    CHECK(missing.error.find("nowhere.gguf") != std::string::npos);
}

TEST_CASE("the caller's number of drafts overrides the file next to the model") {
    Harness harness;
    harness.answer = " there was a dog. there was a dog. there was a dog. there was a dog.";
    const auto accepted = [&](const std::string& file, const std::vector<std::string>& more) {
        harness.write(".local/share/etna/models/generation_config.json", file);
        std::vector<std::string> arguments = {"run", "stories", "Once", "--json", "--prompt-lookup"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome outcome = harness.run(arguments);
        CAPTURE(outcome.error);
        REQUIRE(outcome.code == 0);
        const auto usage = nlohmann::json::parse(outcome.output)["usage"];
        return usage["completion_tokens_details"]["accepted_prediction_tokens"].get<int>();
    };
    const std::string none = R"({"num_assistant_tokens": 0})";
    const std::string some = R"({"num_assistant_tokens": 8})";
    CHECK(accepted(none, {}) == 0); // the model's own
    CHECK(accepted(some, {}) > 0);
    CHECK(accepted(none, {"--num-assistant-tokens", "8"}) > 0);
    CHECK(accepted(none, {"--assistant-confidence-threshold", "0.5"}) > 0);
    CHECK(accepted(some, {"--num-assistant-tokens", "0"}) == 0);
}

TEST_CASE("help documents what overrides draft options: nothing for a command, requests and the model on a "
          "server") {
    Harness harness;
    const std::string run = harness.run({"run", "--help-all"}).output;
    const std::string serve = harness.run({"serve", "--help-all"}).output;
    CHECK(run.find("generation_config.json") == std::string::npos);
    CHECK(serve.find("generation_config.json") != std::string::npos);
}
