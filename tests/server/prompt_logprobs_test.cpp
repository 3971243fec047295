// `prompt_logprobs`: every token of a prompt with the likeliest at its place, in vLLM's words.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <string>

using namespace etna;
using server::Json;
using test::FakeService;

namespace {

constexpr const char* completions = "/v1/completions";
constexpr const char* chats = "/v1/chat/completions";
constexpr const char* plain_turns = "{% for m in messages %}{{ m.content }}{% endfor %}";

std::string body(const std::string& more) {
    return R"({"prompt": [1, 403, 407, 261], "max_tokens": 2, "temperature": 0, "ignore_eos": true, )" +
           more + "}";
}

Json answer(FakeService& service, const char* path, const std::string& request) {
    const auto answered = service.post(path, request);
    CAPTURE(answered.body);
    REQUIRE(answered.status == 200);
    return etna::parse_json(answered.body);
}

/// What vLLM's documentation says of a place: the prompt's token is among `top + 1` at most, and ranks count
/// the likelier ones.
void check_place(const Json& place, const std::string& token, std::size_t top) {
    CAPTURE(etna::dump_json(place));
    REQUIRE(place.contains(token));
    CHECK(place.size() >= std::max<std::size_t>(top, 1));
    CHECK(place.size() <= top + 1);
    for (const auto& one : place.items()) {
        const auto& of = one.value();
        CHECK(of["logprob"].get<double>() <= 0);
        CHECK(of["decoded_token"].is_string());
        const auto likelier = std::count_if(place.begin(), place.end(), [&](const Json& other) {
            return other["logprob"].get<double>() > of["logprob"].get<double>();
        });
        if (of["rank"].get<std::size_t>() <= top) {
            CHECK(of["rank"].get<std::ptrdiff_t>() == likelier + 1);
        } else {
            CHECK(one.key() == token);
            CHECK(likelier == static_cast<std::ptrdiff_t>(top));
        }
    }
}

} // namespace

TEST_CASE("the tokens of a prompt are told with their ranks") {
    FakeService service({});
    for (const std::size_t top : {0, 1, 5, 20}) {
        const Json whole =
            answer(service, completions, body("\"prompt_logprobs\": " + std::to_string(top)))["choices"][0];
        const Json& places = whole["prompt_logprobs"];
        REQUIRE(places.size() == 4);
        CHECK(places[0].is_null());
        check_place(places[1], "403", top);
        check_place(places[2], "407", top);
        check_place(places[3], "261", top);
        CHECK(whole["logprobs"].is_null());
    }
}

TEST_CASE("what a prompt's tokens are told with is what an echo tells") {
    FakeService service({});
    const Json both = answer(service, completions,
                             body(R"("prompt_logprobs": 3, "logprobs": 2, "echo": true)"))["choices"][0];
    const Json echo = answer(service, completions, body(R"("logprobs": 2, "echo": true)"))["choices"][0];
    CHECK(both["logprobs"] == echo["logprobs"]);
    CHECK(both["text"] == echo["text"]);
    const char* const tokens[] = {"", "403", "407", "261"};
    for (std::size_t i = 1; i < 4; ++i) {
        check_place(both["prompt_logprobs"][i], tokens[i], 3);
        CHECK(both["prompt_logprobs"][i][tokens[i]]["logprob"] == echo["logprobs"]["token_logprobs"][i]);
    }
}

TEST_CASE("every choice has the prompt's, and a stream tells them once for each") {
    FakeService service({});
    const Json whole = answer(service, completions, body(R"("prompt_logprobs": 1, "n": 2)"));
    CHECK(whole["choices"][0]["prompt_logprobs"] == whole["choices"][1]["prompt_logprobs"]);
    const auto stream =
        service.post(completions, body(R"("prompt_logprobs": 1, "n": 2, "stream": true)")).body;
    int told = 0;
    for (std::size_t at = stream.find("data: {"); at != std::string::npos;
         at = stream.find("data: {", at + 1)) {
        const Json piece =
            etna::parse_json(stream.substr(at + 6, stream.find('\n', at) - at - 6))["choices"][0];
        if (!piece.contains("prompt_logprobs"))
            continue;
        ++told;
        CHECK(piece["prompt_logprobs"] == whole["choices"][0]["prompt_logprobs"]);
    }
    CHECK(told == 2);
}

TEST_CASE("chats have them at the root of the answer") {
    FakeService service({.chat_template = plain_turns});
    const std::string talk =
        R"({"messages": [{"role": "user", "content": "Once upon a time"}], "max_tokens": 2)";
    const Json whole = answer(service, chats, talk + R"(, "prompt_logprobs": 2})");
    REQUIRE(whole["prompt_logprobs"].size() == whole["usage"]["prompt_tokens"]);
    CHECK(!whole["choices"][0].contains("prompt_logprobs"));
    CHECK(!answer(service, chats, talk + "}").contains("prompt_logprobs"));
    const auto stream = service.post(chats, talk + R"(, "prompt_logprobs": 2, "stream": true})").body;
    CHECK(stream.find(R"("prompt_logprobs":[null,{)") != std::string::npos);
    CHECK(stream.find("prompt_logprobs") == stream.rfind("prompt_logprobs"));
}

TEST_CASE("a chat's stream that tells its usage too goes to its end") {
    FakeService service({.chat_template = plain_turns});
    for (const std::size_t choices : {1, 2}) {
        CAPTURE(choices);
        const std::string stream =
            service
                .post(chats, R"({"messages": [{"role": "user", "content": "Once upon a time"}], "seed": 1,
                                 "max_tokens": 2, "prompt_logprobs": 2, "stream": true,
                                 "stream_options": {"include_usage": true}, "n": )" +
                                 std::to_string(choices) + "}")
                .body;
        CAPTURE(stream);
        CHECK(stream.ends_with("data: [DONE]\n\n"));
        std::size_t told = 0;
        std::size_t finished = 0;
        Json usage;
        for (std::size_t at = stream.find("data: {"); at != std::string::npos;
             at = stream.find("data: {", at + 1)) {
            const Json chunk = etna::parse_json(stream.substr(at + 6, stream.find('\n', at) - at - 6));
            REQUIRE(chunk.contains("choices"));
            REQUIRE(chunk.contains("usage"));
            usage = chunk["usage"];
            told += chunk.contains("prompt_logprobs") ? 1 : 0;
            for (const Json& choice : chunk["choices"]) {
                CHECK(!choice.contains("prompt_logprobs"));
                finished += choice["finish_reason"].is_null() ? 0 : 1;
            }
        }
        CHECK(told == choices);
        CHECK(finished == choices);
        REQUIRE(usage.is_object());
        CHECK(usage["completion_tokens"] == 2 * choices);
    }
}

TEST_CASE("more of a prompt's likeliest tokens than there may be are refused") {
    FakeService service({});
    for (const char* wrong : {"-1", "21", "true", "\"all\"", "1.5"}) {
        const auto answered = service.post(completions, body(R"("prompt_logprobs": )" + std::string(wrong)));
        CAPTURE(answered.body);
        CHECK(answered.status == 400);
        CHECK(etna::parse_json(answered.body)["error"]["param"] == "prompt_logprobs");
    }
}
