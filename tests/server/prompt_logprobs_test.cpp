// `prompt_logprobs`: the most likely tokens at every prompt position, in vLLM's format.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <string>

using namespace etna;
using namespace etna::test;

namespace {

std::string token_prompt(const std::string& more) {
    return R"({"prompt": [1, 403, 407, 261], "max_tokens": 2, "temperature": 0, "ignore_eos": true, )" +
           more + "}";
}

/// Checks a position by vLLM's documentation: at most `top + 1` tokens including the prompt's, and ranks
/// count the more likely ones.
void check_position(const Json& position, const std::string& token, std::size_t top) {
    CAPTURE(etna::dump_json(position));
    REQUIRE(position.contains(token));
    CHECK(position.size() >= std::max<std::size_t>(top, 1));
    CHECK(position.size() <= top + 1);
    for (const auto& item : position.items()) {
        const auto& token_json = item.value();
        CHECK(token_json["logprob"].get<double>() <= 0);
        CHECK(token_json["decoded_token"].is_string());
        const auto likelier = std::count_if(position.begin(), position.end(), [&](const Json& other) {
            return other["logprob"].get<double>() > token_json["logprob"].get<double>();
        });
        if (token_json["rank"].get<std::size_t>() <= top) {
            CHECK(token_json["rank"].get<std::ptrdiff_t>() == likelier + 1);
        } else {
            CHECK(item.key() == token);
            CHECK(likelier == static_cast<std::ptrdiff_t>(top));
        }
    }
}

} // namespace

TEST_CASE("prompt_logprobs has the tokens of the prompt with their ranks") {
    FakeService service({});
    for (const std::size_t top : {0, 1, 5, 20}) {
        const Json complete =
            post_json(service, completions_path,
                      token_prompt("\"prompt_logprobs\": " + std::to_string(top)))["choices"][0];
        const Json& positions = complete["prompt_logprobs"];
        REQUIRE(positions.size() == 4);
        CHECK(positions[0].is_null());
        check_position(positions[1], "403", top);
        check_position(positions[2], "407", top);
        check_position(positions[3], "261", top);
        CHECK(complete["logprobs"].is_null());
    }
}

TEST_CASE("prompt_logprobs agrees with the log-probabilities of an echo") {
    FakeService service({});
    const Json both =
        post_json(service, completions_path,
                  token_prompt(R"("prompt_logprobs": 3, "logprobs": 2, "echo": true)"))["choices"][0];
    const Json echo =
        post_json(service, completions_path, token_prompt(R"("logprobs": 2, "echo": true)"))["choices"][0];
    CHECK(both["logprobs"] == echo["logprobs"]);
    CHECK(both["text"] == echo["text"]);
    const char* const tokens[] = {"", "403", "407", "261"};
    for (std::size_t i = 1; i < 4; ++i) {
        check_position(both["prompt_logprobs"][i], tokens[i], 3);
        CHECK(both["prompt_logprobs"][i][tokens[i]]["logprob"] == echo["logprobs"]["token_logprobs"][i]);
    }
}

TEST_CASE("every choice has prompt_logprobs, once in a stream") {
    FakeService service({});
    const Json complete =
        post_json(service, completions_path, token_prompt(R"("prompt_logprobs": 1, "n": 2)"));
    CHECK(complete["choices"][0]["prompt_logprobs"] == complete["choices"][1]["prompt_logprobs"]);
    const FakeAnswer stream =
        service.post(completions_path, token_prompt(R"("prompt_logprobs": 1, "n": 2, "stream": true)"));
    int positions_sent = 0;
    for (const Json& piece : pieces_of(stream)) {
        if (!piece.contains("prompt_logprobs"))
            continue;
        ++positions_sent;
        CHECK(piece["prompt_logprobs"] == complete["choices"][0]["prompt_logprobs"]);
    }
    CHECK(positions_sent == 2);
}

TEST_CASE("chats have prompt_logprobs at the root of the answer") {
    FakeService service({.chat_template = plain_template});
    const std::string talk =
        R"({"messages": [{"role": "user", "content": "Once upon a time"}], "max_tokens": 2)";
    const Json complete = post_json(service, chats_path, talk + R"(, "prompt_logprobs": 2})");
    REQUIRE(complete["prompt_logprobs"].size() == complete["usage"]["prompt_tokens"]);
    CHECK(!complete["choices"][0].contains("prompt_logprobs"));
    CHECK(!post_json(service, chats_path, talk + "}").contains("prompt_logprobs"));
    const auto stream = service.post(chats_path, talk + R"(, "prompt_logprobs": 2, "stream": true})").body;
    CHECK(stream.find(R"("prompt_logprobs":[null,{)") != std::string::npos);
    CHECK(stream.find("prompt_logprobs") == stream.rfind("prompt_logprobs"));
}

TEST_CASE("a chat's stream with prompt_logprobs and usage is complete") {
    FakeService service({.chat_template = plain_template});
    for (const std::size_t choices : {1, 2}) {
        CAPTURE(choices);
        const FakeAnswer stream = service.post(
            chats_path, R"({"messages": [{"role": "user", "content": "Once upon a time"}], "seed": 1,
                                 "max_tokens": 2, "prompt_logprobs": 2, "stream": true,
                                 "stream_options": {"include_usage": true}, "n": )" +
                            std::to_string(choices) + "}");
        CAPTURE(stream.body);
        CHECK(stream.body.ends_with("data: [DONE]\n\n"));
        std::size_t positions_sent = 0;
        std::size_t finished = 0;
        Json usage;
        for (const Json& chunk : chunks_of(stream)) {
            REQUIRE(chunk.contains("choices"));
            REQUIRE(chunk.contains("usage"));
            usage = chunk["usage"];
            positions_sent += chunk.contains("prompt_logprobs") ? 1 : 0;
            for (const Json& choice : chunk["choices"]) {
                CHECK(!choice.contains("prompt_logprobs"));
                finished += choice["finish_reason"].is_null() ? 0 : 1;
            }
        }
        CHECK(positions_sent == choices);
        CHECK(finished == choices);
        REQUIRE(usage.is_object());
        CHECK(usage["completion_tokens"] == 2 * choices);
    }
}

TEST_CASE("prompt_logprobs out of its range is refused") {
    FakeService service({});
    for (const char* wrong : {"-1", "21", "true", "\"all\"", "1.5"}) {
        const auto answered =
            service.post(completions_path, token_prompt(R"("prompt_logprobs": )" + std::string(wrong)));
        CAPTURE(answered.body);
        CHECK(answered.status == 400);
        CHECK(etna::parse_json(answered.body)["error"]["param"] == "prompt_logprobs");
    }
}
