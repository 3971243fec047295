// What members of requests do to answers, seen over the API.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

using namespace etna;
using server::Json;
using test::FakeAnswer;
using test::FakeService;

namespace {

constexpr const char* completions = "/v1/completions";
constexpr const char* plain_template = "{% for m in messages %}{{ m.content }}{% endfor %}";
constexpr const char* both[] = {"/v1/completions", "/v3/completions"};

/// The members of both, of which those of `more` count; null has none.
Json with(Json members, const Json& more) {
    if (!more.is_null())
        members.update(more);
    return members;
}

Json ask(FakeService& service, const std::string& path, const Json& more) {
    Json body = {{"max_tokens", 24}};
    if (path.find("chat") != std::string::npos) {
        body["messages"] = Json::array({{{"role", "user"}, {"content", "Once"}}});
    } else {
        body["prompt"] = "Once";
    }
    body = with(std::move(body), more);
    const FakeAnswer answer = service.post(path, etna::dump_json(body));
    CAPTURE(path, etna::dump_json(body), answer.body);
    REQUIRE(answer.status == 200);
    return etna::parse_json(answer.body);
}

using Tokens = std::vector<TokenId>;

/// The tokens of every choice.
std::vector<Tokens> tokens(FakeService& service, const std::string& path, Json more) {
    more["detokenize"] = false;
    std::vector<Tokens> all;
    const Json answer = ask(service, path, more);
    for (const Json& choice : answer["choices"])
        all.push_back(choice["token_ids"].get<Tokens>());
    return all;
}

std::size_t different(const Tokens& tokens) {
    return std::set<TokenId>(tokens.begin(), tokens.end()).size();
}

/// The first token of every choice.
std::set<TokenId> beginnings(const std::vector<Tokens>& choices) {
    std::set<TokenId> first;
    for (const Tokens& choice : choices)
        first.insert(choice.at(0));
    return first;
}

/// Ends that come soon, so that hypotheses have different lengths.
Json many_ends() {
    Json ends = Json::array();
    for (int token = 300; token < 340; ++token)
        ends.push_back(token);
    return ends;
}

struct Drafts {
    int accepted = 0;
    int rejected = 0;
};

Drafts drafts(const Json& answer) {
    const Json& details = answer["usage"]["completion_tokens_details"];
    return {.accepted = details["accepted_prediction_tokens"],
            .rejected = details["rejected_prediction_tokens"]};
}

} // namespace

TEST_CASE("min_p 1, top_k 1 and a tiny top_p leave the likeliest token alone") {
    FakeService service({});
    for (const char* path : both) {
        const Json warm = {{"temperature", 2}, {"seed", 3}, {"ignore_eos", true}};
        const auto greedy = tokens(service, path, {{"temperature", 0}, {"ignore_eos", true}});
        CHECK(tokens(service, path, warm) != greedy);
        const bool is_ovms = std::string(path).starts_with("/v3"); // which has 1 excluded
        for (const auto& [member, value] : {std::pair("min_p", is_ovms ? Json(0.9999) : Json(1)),
                                            {"top_k", Json(1)},
                                            {"top_p", Json(1e-6)}}) {
            Json one = warm;
            one[member] = value;
            CAPTURE(path, member);
            CHECK(tokens(service, path, one) == greedy);
        }
    }
}

TEST_CASE("penalties keep an answer from repeating itself, and rewards let it") {
    FakeService repetitive({.says = "abcabcabcabcabc"});
    FakeService service({});
    for (const char* path : both) {
        const Json base = {{"temperature", 0}, {"ignore_eos", true}, {"max_tokens", 60}};
        const auto penalised = [&](FakeService& of, const char* member, double value) {
            return different(tokens(of, path, with(base, {{member, value}})).at(0));
        };
        CAPTURE(path);
        CHECK(penalised(repetitive, "repetition_penalty", 1) < 6);
        CHECK(penalised(repetitive, "repetition_penalty", 50) > 20);
        for (const char* member : {"presence_penalty", "frequency_penalty"}) {
            CAPTURE(member);
            const std::size_t plain = penalised(service, member, 0);
            CHECK(penalised(service, member, -2) < plain);
            CHECK(penalised(service, member, 2) > plain);
        }
    }
}

TEST_CASE("a length penalty decides whether long or short hypotheses come first") {
    FakeService service({});
    for (const char* path : both) {
        const auto search = [&](double penalty) {
            return tokens(service, path,
                          {{"use_beam_search", true},
                           {"best_of", 4},
                           {"n", 4},
                           {"length_penalty", penalty},
                           {"early_stopping", "never"},
                           {"stop_token_ids", many_ends()}});
        };
        const auto by_default = tokens(service, path,
                                       {{"use_beam_search", true},
                                        {"best_of", 4},
                                        {"n", 4},
                                        {"early_stopping", "never"},
                                        {"stop_token_ids", many_ends()}});
        CAPTURE(path);
        CHECK(search(1) == by_default);
        const auto shorter = search(-4);
        const auto longer = search(4);
        CHECK(shorter.at(0).size() < longer.at(0).size());
    }
}

TEST_CASE("groups of beams that are penalised for the same token begin with different ones") {
    FakeService service({});
    for (const char* path : both) {
        const auto search = [&](const Json& more) {
            const Json beams = {{"use_beam_search", true}, {"best_of", 4}, {"n", 4}, {"max_tokens", 8}};
            return tokens(service, path, with(beams, more));
        };
        CAPTURE(path);
        const auto plain = search({});
        CHECK(search({{"num_beam_groups", 1}}) == plain);
        const auto apart = search({{"num_beam_groups", 4}, {"diversity_penalty", 100}});
        CHECK(beginnings(apart).size() == 4);
        CHECK(search({{"diversity_penalty", 100}}) == apart); // as many groups as beams
        const auto together = search({{"num_beam_groups", 4}, {"diversity_penalty", 0}});
        CHECK(beginnings(together).size() == 1); // four times the same greedy search
        CHECK(beginnings(search({{"num_beam_groups", 2}, {"diversity_penalty", 100}})).size() >= 2);
    }
}

TEST_CASE("early_stopping takes the first whole hypotheses, or waits for the best ones") {
    FakeService service({});
    bool has_waited = false;
    for (const char* prompt : {"Once", "upon", "a", "time", "there", "was"}) {
        const auto best = [&](const Json& early_stopping) {
            const Json answer = ask(service, completions,
                                    {{"prompt", prompt},
                                     {"use_beam_search", true},
                                     {"best_of", 4},
                                     {"n", 4},
                                     {"length_penalty", 2}, // so that longer ones may be better
                                     {"logprobs", 0},
                                     {"early_stopping", early_stopping},
                                     {"stop_token_ids", many_ends()}});
            std::vector<std::string> texts;
            for (const Json& choice : answer["choices"])
                texts.push_back(choice["text"]);
            return texts;
        };
        has_waited = has_waited || best(true) != best("never");
        CHECK(best(false) == best(Json())); // the default
    }
    CHECK(has_waited);
}

TEST_CASE("who says how many tokens are drafted: the request, then the model's folder, then the option") {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("etna-drafts-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(ETNA_TEST_DATA "/models/stories260K.gguf", folder / "m.gguf");
    const auto drafted = [&](const char* file, const generate::SpeculationOverrides& option,
                             const Json& more) {
        std::ofstream(folder / "generation_config.json") << file;
        FakeService service(
            {.names = {},
             .folder = folder,
             .prepare = [](test::FakeOptions& fake, int) { fake.step_delay = std::chrono::milliseconds(2); },
             .says = "abcabcabcabcabcabcabcabcabcabc",
             .speculation = option});
        const Json greedy = {{"temperature", 0}};
        const Json answer = ask(service, completions, with(greedy, more));
        const Json plain = ask(service, completions, with(greedy, {{"num_assistant_tokens", 0}}));
        CHECK(answer["choices"] == plain["choices"]);
        const Drafts found = drafts(answer);
        return found.accepted + found.rejected;
    };
    const generate::SpeculationOverrides none = {.tokens_max = 0, .ngram_max = 3};
    const generate::SpeculationOverrides some = {.tokens_max = 4, .ngram_max = 3};
    CHECK(drafted("{}", {}, {}) == 0); // nothing can draft
    CHECK(drafted("{}", none, {}) == 0);
    CHECK(drafted("{}", some, {}) > 0);
    CHECK(drafted(R"({"num_assistant_tokens": 4})", none, {}) > 0);
    CHECK(drafted(R"({"num_assistant_tokens": 0})", some, {}) == 0);
    CHECK(drafted(R"({"num_assistant_tokens": 0})", none, {{"num_assistant_tokens", 4}}) > 0);
    CHECK(drafted(R"({"num_assistant_tokens": 4})", some, {{"num_assistant_tokens", 0}}) == 0);
    std::filesystem::remove_all(folder);
}

TEST_CASE("a draft model goes on while it is as sure as it has to be, and changes no answer") {
    const auto steps_that_take_a_while = [](test::FakeOptions& fake, int) {
        fake.step_delay = std::chrono::milliseconds(5); // so that drafts are worth their time
    };
    // Both make up the same, of which they are never sure.
    FakeService service({.prepare = steps_that_take_a_while, .draft_says = ""});
    const Json greedy = {{"temperature", 0}, {"ignore_eos", true}, {"max_tokens", 60}};
    const Json plain = ask(service, completions, with(greedy, {{"num_assistant_tokens", 0}}));
    CHECK(drafts(plain).accepted == 0);
    const auto accepted = [&](const Json& more) {
        const Json answer = ask(service, completions, with(greedy, more));
        CHECK(answer["choices"] == plain["choices"]);
        return drafts(answer).accepted;
    };
    // One token is drafted in a step and one comes with it where the first is not sure enough.
    const int unsure = accepted({{"assistant_confidence_threshold", 0.9}});
    CHECK(unsure > 0);
    CHECK(unsure <= 30);
    CHECK(accepted({{"assistant_confidence_threshold", 0}}) > 40);
    CHECK(accepted({{"num_assistant_tokens", 1}}) <= 30);
}

TEST_CASE("every answer names the server that made it") {
    FakeService service({.chat_template = plain_template});
    for (const char* path :
         {"/v1/completions", "/v1/chat/completions", "/v3/completions", "/v3/chat/completions"}) {
        CAPTURE(path);
        const std::string name = ask(service, path, {{"max_tokens", 1}}).value("system_fingerprint", "");
        CHECK(!name.empty());
        CHECK(ask(service, path, {{"max_tokens", 2}, {"seed", 5}}).value("system_fingerprint", "") == name);
    }
}

TEST_CASE("best_of is a search where the model recommends temperature 0, unless the request says otherwise") {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("etna-greedy-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(ETNA_TEST_DATA "/models/stories260K.gguf", folder / "m.gguf");
    std::ofstream(folder / "generation_config.json") << R"({"temperature": 0})";
    FakeService service({.names = {}, .folder = folder});
    const Json several = {{"best_of", 3}, {"n", 3}, {"max_tokens", 4}, {"seed", 7}, {"ignore_eos", true}};
    const auto choices = [&](const Json& more) { return tokens(service, completions, with(several, more)); };
    const auto by_default = choices({});
    CHECK(std::set<Tokens>(by_default.begin(), by_default.end()).size() ==
          3); // no samples of which all are one
    CHECK(by_default == choices({{"use_beam_search", true}}));
    CHECK(by_default == choices({{"temperature", 0}}));
    CHECK(by_default != choices({{"temperature", 1}}));
    std::filesystem::remove_all(folder);
}

TEST_CASE("of sampled answers whose time is over, those that began are told") {
    server::ServiceOptions options;
    options.request_time = std::chrono::seconds(1);
    // The fake works on four sequences at a time, so that the others wait.
    FakeService service({.service = options, .prepare = [](test::FakeOptions& fake, int) {
                             fake.step_delay = std::chrono::milliseconds(10);
                         }});
    const Json answer =
        ask(service, completions,
            {{"max_tokens", 400}, {"ignore_eos", true}, {"best_of", 8}, {"n", 4}, {"seed", 1}});
    for (const Json& choice : answer["choices"]) {
        CHECK(choice["finish_reason"] == "length");
        CHECK(!choice["text"].get<std::string>().empty());
    }
}
