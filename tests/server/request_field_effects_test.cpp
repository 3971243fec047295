// The effects of request fields on answers, over the API.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
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
using namespace etna::test;

namespace {

constexpr const char* both_paths[] = {"/v1/completions", "/v3/completions"};

/// Both objects merged; fields of `more` win. Null has none.
Json merged(Json fields, const Json& more) {
    if (!more.is_null())
        fields.update(more);
    return fields;
}

Json answer_with(FakeService& service, const std::string& path, const Json& more) {
    Json body = {{"max_tokens", 24}};
    if (path.find("chat") != std::string::npos) {
        body["messages"] = Json::array({{{"role", "user"}, {"content", "Once"}}});
    } else {
        body["prompt"] = "Once";
    }
    body = merged(std::move(body), more);
    CAPTURE(path, etna::dump_json(body));
    return json_of(service.post(path, etna::dump_json(body)));
}

using TokenIds = std::vector<TokenId>;

/// The tokens of every choice.
std::vector<TokenIds> choice_tokens(FakeService& service, const std::string& path, Json more) {
    more["detokenize"] = false;
    std::vector<TokenIds> all;
    const Json answer = answer_with(service, path, more);
    for (const Json& choice : answer["choices"])
        all.push_back(choice["token_ids"].get<TokenIds>());
    return all;
}

std::size_t distinct_count(const TokenIds& tokens) {
    return std::set<TokenId>(tokens.begin(), tokens.end()).size();
}

/// The first token of every choice.
std::set<TokenId> first_tokens(const std::vector<TokenIds>& choices) {
    std::set<TokenId> first;
    for (const TokenIds& choice : choices)
        first.insert(choice.at(0));
    return first;
}

/// Frequent stop tokens, so that hypotheses have different lengths.
Json many_stop_tokens() {
    Json stops = Json::array();
    for (int token = 300; token < 340; ++token)
        stops.push_back(token);
    return stops;
}

struct DraftCounts {
    int accepted = 0;
    int rejected = 0;
};

DraftCounts draft_counts(const Json& answer) {
    const Json& details = answer["usage"]["completion_tokens_details"];
    return {.accepted = details["accepted_prediction_tokens"],
            .rejected = details["rejected_prediction_tokens"]};
}

} // namespace

TEST_CASE("min_p 1, top_k 1 and a tiny top_p select the most likely token") {
    FakeService service({});
    for (const char* path : both_paths) {
        const Json warm = {{"temperature", 2}, {"seed", 3}, {"ignore_eos", true}};
        const auto greedy = choice_tokens(service, path, {{"temperature", 0}, {"ignore_eos", true}});
        CHECK(choice_tokens(service, path, warm) != greedy);
        const bool is_ovms = std::string(path).starts_with("/v3"); // excludes 1
        for (const auto& [member, value] : {std::pair("min_p", is_ovms ? Json(0.9999) : Json(1)),
                                            {"top_k", Json(1)},
                                            {"top_p", Json(1e-6)}}) {
            Json one = warm;
            one[member] = value;
            CAPTURE(path, member);
            CHECK(choice_tokens(service, path, one) == greedy);
        }
    }
}

TEST_CASE("positive penalties reduce repetition, negative ones increase it") {
    FakeService repetitive({.says = "abcabcabcabcabc"});
    FakeService service({});
    for (const char* path : both_paths) {
        const Json base = {{"temperature", 0}, {"ignore_eos", true}, {"max_tokens", 60}};
        const auto penalised = [&](FakeService& of, const char* member, double value) {
            return distinct_count(choice_tokens(of, path, merged(base, {{member, value}})).at(0));
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

TEST_CASE("length_penalty decides whether long or short hypotheses rank first") {
    FakeService service({});
    for (const char* path : both_paths) {
        const auto search = [&](double penalty) {
            return choice_tokens(service, path,
                                 {{"use_beam_search", true},
                                  {"best_of", 4},
                                  {"n", 4},
                                  {"length_penalty", penalty},
                                  {"early_stopping", "never"},
                                  {"stop_token_ids", many_stop_tokens()}});
        };
        const auto by_default = choice_tokens(service, path,
                                              {{"use_beam_search", true},
                                               {"best_of", 4},
                                               {"n", 4},
                                               {"early_stopping", "never"},
                                               {"stop_token_ids", many_stop_tokens()}});
        CAPTURE(path);
        CHECK(search(1) == by_default);
        const auto shorter = search(-4);
        const auto longer = search(4);
        CHECK(shorter.at(0).size() < longer.at(0).size());
    }
}

TEST_CASE("beam groups with a diversity penalty start with different tokens") {
    FakeService service({});
    for (const char* path : both_paths) {
        const auto search = [&](const Json& more) {
            const Json beams = {{"use_beam_search", true}, {"best_of", 4}, {"n", 4}, {"max_tokens", 8}};
            return choice_tokens(service, path, merged(beams, more));
        };
        CAPTURE(path);
        const auto plain = search({});
        CHECK(search({{"num_beam_groups", 1}}) == plain);
        const auto distinct = search({{"num_beam_groups", 4}, {"diversity_penalty", 100}});
        CHECK(first_tokens(distinct).size() == 4);
        CHECK(search({{"diversity_penalty", 100}}) == distinct); // as many groups as beams
        const auto identical = search({{"num_beam_groups", 4}, {"diversity_penalty", 0}});
        CHECK(first_tokens(identical).size() == 1); // four times the same greedy search
        CHECK(first_tokens(search({{"num_beam_groups", 2}, {"diversity_penalty", 100}})).size() >= 2);
    }
}

TEST_CASE("early_stopping true returns the first complete hypotheses, \"never\" the best") {
    FakeService service({});
    bool results_differ = false;
    for (const char* prompt : {"Once", "upon", "a", "time", "there", "was"}) {
        const auto best = [&](const Json& early_stopping) {
            const Json answer = answer_with(service, completions_path,
                                            {{"prompt", prompt},
                                             {"use_beam_search", true},
                                             {"best_of", 4},
                                             {"n", 4},
                                             {"length_penalty", 2}, // so that longer ones may be better
                                             {"logprobs", 0},
                                             {"early_stopping", early_stopping},
                                             {"stop_token_ids", many_stop_tokens()}});
            std::vector<std::string> texts;
            for (const Json& choice : answer["choices"])
                texts.push_back(choice["text"]);
            return texts;
        };
        results_differ = results_differ || best(true) != best("never");
        CHECK(best(false) == best(Json())); // the default
    }
    CHECK(results_differ);
}

TEST_CASE("the draft length comes from the request, else the model's folder, else the option") {
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
        const Json answer = answer_with(service, completions_path, merged(greedy, more));
        const Json plain =
            answer_with(service, completions_path, merged(greedy, {{"num_assistant_tokens", 0}}));
        CHECK(answer["choices"] == plain["choices"]);
        const DraftCounts found = draft_counts(answer);
        return found.accepted + found.rejected;
    };
    const generate::SpeculationOverrides none = {.tokens_max = 0, .ngram_max = 3};
    const generate::SpeculationOverrides some = {.tokens_max = 4, .ngram_max = 3};
    CHECK(drafted("{}", {}, {}) == 0); // no drafter
    CHECK(drafted("{}", none, {}) == 0);
    CHECK(drafted("{}", some, {}) > 0);
    CHECK(drafted(R"({"num_assistant_tokens": 4})", none, {}) > 0);
    CHECK(drafted(R"({"num_assistant_tokens": 0})", some, {}) == 0);
    CHECK(drafted(R"({"num_assistant_tokens": 0})", none, {{"num_assistant_tokens", 4}}) > 0);
    CHECK(drafted(R"({"num_assistant_tokens": 4})", some, {{"num_assistant_tokens", 0}}) == 0);
    std::filesystem::remove_all(folder);
}

TEST_CASE("a draft model drafts while its confidence suffices, and changes no answer") {
    const Json greedy = {{"temperature", 0}, {"ignore_eos", true}, {"max_tokens", 60}};
    // Each answer comes from a new service: before the first plain step, drafts have default costs instead of
    // measured ones, which depend on the load of the machine.
    const auto answer_to = [&](const Json& more) {
        FakeService service({.draft_says = ""}); // both models generate the same text, with low confidence
        return answer_with(service, completions_path, merged(greedy, more));
    };
    const Json plain = answer_to({{"num_assistant_tokens", 0}});
    CHECK(draft_counts(plain).accepted == 0);
    const auto accepted = [&](const Json& more) {
        const Json answer = answer_to(more);
        CHECK(answer["choices"] == plain["choices"]);
        return draft_counts(answer).accepted;
    };
    // At low confidence, a step drafts one token and samples one.
    const int unsure = accepted({{"assistant_confidence_threshold", 0.9}});
    CHECK(unsure > 0);
    CHECK(unsure <= 30);
    CHECK(accepted({{"assistant_confidence_threshold", 0}}) > 40);
    CHECK(accepted({{"num_assistant_tokens", 1}}) <= 30);
}

TEST_CASE("every answer has the same system_fingerprint") {
    FakeService service({.chat_template = plain_template});
    for (const char* path :
         {"/v1/completions", "/v1/chat/completions", "/v3/completions", "/v3/chat/completions"}) {
        CAPTURE(path);
        const std::string name =
            answer_with(service, path, {{"max_tokens", 1}}).value("system_fingerprint", "");
        CHECK(!name.empty());
        CHECK(answer_with(service, path, {{"max_tokens", 2}, {"seed", 5}}).value("system_fingerprint", "") ==
              name);
    }
}

TEST_CASE("best_of is a beam search if the model recommends temperature 0, unless the request overrides it") {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("etna-greedy-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(ETNA_TEST_DATA "/models/stories260K.gguf", folder / "m.gguf");
    std::ofstream(folder / "generation_config.json") << R"({"temperature": 0})";
    FakeService service({.names = {}, .folder = folder});
    const Json several = {{"best_of", 3}, {"n", 3}, {"max_tokens", 4}, {"seed", 7}, {"ignore_eos", true}};
    const auto choices = [&](const Json& more) {
        return choice_tokens(service, completions_path, merged(several, more));
    };
    const auto by_default = choices({});
    CHECK(std::set<TokenIds>(by_default.begin(), by_default.end()).size() ==
          3); // samples at temperature 0 would be identical
    CHECK(by_default == choices({{"use_beam_search", true}}));
    CHECK(by_default == choices({{"temperature", 0}}));
    CHECK(by_default != choices({{"temperature", 1}}));
    std::filesystem::remove_all(folder);
}

TEST_CASE("at the time limit, only sampled answers that have started are returned") {
    server::ServiceOptions options;
    options.request_time = std::chrono::seconds(1);
    // The fake runs four sequences at a time, so that the others wait.
    FakeService service({.service = options, .prepare = [](test::FakeOptions& fake, int) {
                             fake.step_delay = std::chrono::milliseconds(10);
                         }});
    const Json answer =
        answer_with(service, completions_path,
                    {{"max_tokens", 400}, {"ignore_eos", true}, {"best_of", 8}, {"n", 4}, {"seed", 1}});
    for (const Json& choice : answer["choices"]) {
        CHECK(choice["finish_reason"] == "length");
        CHECK(!choice["text"].get<std::string>().empty());
    }
}
