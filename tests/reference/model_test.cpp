#include "tests/reference/model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::reference;
using Json = nlohmann::json;

namespace {

constexpr double printed_margin = 2e-6; // logits and log-probabilities are printed with 6 digits
constexpr double printed_sum_margin = 2e-5;
constexpr double float_margin = 1e-4; // error of a forward pass in float; the printed digits are finer

std::string data_path(const std::string& name) {
    return std::string(ETNA_TEST_DATA) + "/models/" + name;
}

Json read_expected(const std::string& name) {
    std::ifstream stream(data_path(name));
    REQUIRE(stream.good());
    return Json::parse(stream);
}

ReferenceModel load(const std::string& name) {
    auto file = gguf::File::open(data_path(name));
    REQUIRE(file.has_value());
    auto model = ReferenceModel::load(*file);
    if (!model)
        FAIL(model.error().message);
    return std::move(*model);
}

double sum(View values) {
    double total = 0;
    for (const double value : values)
        total += value;
    return total;
}

// One row of logits against {"pos", "token", "top5": [[token, logit, log-probability], ...], "sum"}.
void check_step(const Vector& logits, const Json& step) {
    CAPTURE(step.dump());
    const Vector logs = log_softmax(logits);
    const auto candidates = top_candidates(logits, step.at("top5").size());
    for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
        const Json& expected = step.at("top5").at(rank);
        const TokenId token = candidates[rank].token;
        CAPTURE(rank, token);
        CHECK(token == expected.at(0).get<TokenId>());
        CHECK(logits[token] == Approx(expected.at(1).get<double>()).margin(printed_margin).epsilon(0));
        CHECK(logs[token] == Approx(expected.at(2).get<double>()).margin(printed_margin).epsilon(0));
    }
    CHECK(sum(logits) == Approx(step.at("sum").get<double>()).margin(printed_sum_margin).epsilon(0));
}

// A run is {"prompt_tokens", "tokens": prompt and greedy continuation, "steps": one for each token but the
// last}.
void check_run(const ReferenceModel& model, const Json& run) {
    const auto prompt = run.at("prompt_tokens").get<std::vector<TokenId>>();
    const auto tokens = run.at("tokens").get<std::vector<TokenId>>();
    const Json& steps = run.at("steps");
    REQUIRE(steps.size() + 1 == tokens.size());

    const auto continuation = model.continue_greedily(prompt, tokens.size() - prompt.size());
    CHECK(continuation ==
          std::vector(tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()), tokens.end()));

    const auto logits = model.run(std::span(tokens).first(steps.size()));
    for (std::size_t i = 0; i < steps.size(); ++i) {
        REQUIRE(steps.at(i).at("pos").get<std::size_t>() == i);
        REQUIRE(steps.at(i).at("token").get<TokenId>() == tokens[i]);
        check_step(logits[i], steps.at(i));
    }
}

} // namespace

TEST_CASE("stories260K agrees with an independent float64 computation at every step") {
    const ReferenceModel model = load("stories260K.gguf");
    const Json runs = read_expected("stories260K.expected.json").at("runs");
    REQUIRE(runs.size() == 3);
    for (const Json& run : runs)
        check_run(model, run);

    const auto expected = runs.at(0).at("logits_at_first_token").get<Vector>();
    const Vector logits = model.run(std::vector<TokenId>{1}).front();
    REQUIRE(logits.size() == expected.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        CAPTURE(i);
        CHECK(logits[i] == Approx(expected[i]).margin(printed_margin).epsilon(0));
    }
}

TEST_CASE("a random F16 model agrees with an independent float64 computation at every step") {
    check_run(load("llama-2-tiny-random.gguf"), read_expected("llama-2-tiny-random.expected.json"));
}

// {"tokens", "steps": [{"pos", "token", "top5": [[token, log-probability], ...]}, ...]}, computed in float.
TEST_CASE("qwen3, tied heads, biases and every rope scaling agree with llama.cpp") {
    const std::string name = GENERATE(as<std::string>(), "qwen3-tiny-yarn", "llama-tiny-rope-freqs",
                                      "llama-tiny-linear-biases", "llama-tiny-yarn");
    CAPTURE(name);
    const ReferenceModel model = load(name + ".gguf");
    const Json expected = read_expected(name + ".expected.json");
    const auto tokens = expected.at("tokens").get<std::vector<TokenId>>();
    REQUIRE(expected.at("steps").size() == tokens.size());
    const auto logits = model.run(tokens);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const Json& step = expected.at("steps").at(i);
        CAPTURE(step.dump());
        REQUIRE(step.at("token").get<TokenId>() == tokens[i]);
        const Vector logs = log_softmax(logits[i]);
        CHECK(greedy_token(logits[i]) == step.at("top5").at(0).at(0).get<TokenId>());
        for (const Json& pair : step.at("top5")) {
            const auto token = pair.at(0).get<TokenId>();
            CHECK(logs.at(token) == Approx(pair.at(1).get<double>()).margin(float_margin).epsilon(0));
        }
    }
}

TEST_CASE("a run from a later token gives the same rows, whatever the last layer skips before it") {
    const std::string name = GENERATE(as<std::string>(), "stories260K", "qwen3-tiny-yarn");
    CAPTURE(name);
    const ReferenceModel model = load(name + ".gguf");
    const std::vector<TokenId> tokens{1, 17, 40, 5, 5, 30};
    const auto all = model.run(tokens);
    const auto last = model.run_from(4, tokens);
    REQUIRE(last.size() == 2);
    CHECK(last[0] == all[4]);
    CHECK(last[1] == all[5]);
}
