// The end token in the text: with skip_special_tokens false, on OpenAI's and OVMS's paths.
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

/// Text, tokens and ids of an answer.
struct Shown {
    std::string text;
    std::vector<std::string> tokens;
    std::vector<TokenId> ids;
    std::string reason;
    std::size_t completion_tokens = 0;
    bool operator==(const Shown&) const = default;
};

void add_shown(const Json& choice, Shown& shown) {
    for (const char* member : {"message", "delta"}) {
        if (choice.contains(member) && choice[member].contains("content"))
            shown.text += choice[member]["content"].get<std::string>();
    }
    shown.text += choice.value("text", "");
    const Json logprobs = choice.value("logprobs", Json());
    for (const char* member : {"content", "tokens"}) {
        for (const Json& token : logprobs.is_null() ? Json::array() : logprobs.value(member, Json::array()))
            shown.tokens.push_back(token.is_string() ? token : token["token"]);
    }
    for (const Json& id : choice.value("token_ids", Json::array()))
        shown.ids.push_back(id);
    if (!choice["finish_reason"].is_null())
        shown.reason = choice["finish_reason"];
}

Shown ask_shown(FakeService& service, const std::string& path, const std::string& more) {
    const bool is_chat = path.ends_with("chat/completions");
    const std::string body = (is_chat ? R"({"messages": [{"role": "user", "content": "a"}], "logprobs": true)"
                                      : R"({"prompt": "a", "logprobs": 1)") +
                             (R"(, "max_tokens": 60, "temperature": 0, "return_token_ids": true)" + more);
    Shown shown;
    const Json whole = post_json(service, path, body + "}");
    add_shown(whole["choices"][0], shown);
    shown.completion_tokens = whole["usage"]["completion_tokens"];
    Shown streamed;
    const auto stream =
        service.post(path, body + R"(, "stream": true, "stream_options": {"include_usage": true}})");
    for (const Json& chunk : chunks_of(stream)) {
        for (const Json& choice : chunk["choices"])
            add_shown(choice, streamed);
        if (chunk.contains("usage") && !chunk["usage"].is_null())
            streamed.completion_tokens = chunk["usage"]["completion_tokens"];
    }
    CAPTURE(path, more, shown.text, streamed.text);
    CHECK(streamed == shown);
    CHECK(shown.tokens.size() == shown.ids.size());
    CHECK(shown.completion_tokens == shown.ids.size());
    return shown;
}

constexpr const char* shown_paths[] = {"/v1/completions", "/v3/completions", "/v1/chat/completions",
                                       "/v3/chat/completions"};
constexpr const char* shows_special = R"(, "skip_special_tokens": false)";

} // namespace

TEST_CASE("skip_special_tokens false shows the end token, with its id and log-probability") {
    FakeService service({.chat_template = plain_template, .says = "there was a dog"});
    for (const char* path : shown_paths) {
        CAPTURE(path);
        const Shown hidden = ask_shown(service, path, "");
        const Shown shown = ask_shown(service, path, shows_special);
        CHECK(hidden.text.ends_with("dog"));
        CHECK(shown.text == hidden.text + "</s>");
        CHECK(shown.tokens.back() == "</s>");
        CHECK(shown.ids.size() == hidden.ids.size() + 1);
        CHECK(shown.reason == "stop");
        CHECK(ask_shown(service, path,
                        std::string(shows_special) + R"(, "include_stop_str_in_output": true)") == shown);
    }
}

TEST_CASE("an answer that something else ended shows no end token") {
    FakeService service({.chat_template = plain_template, .says = "there was a dog"});
    for (const char* path : shown_paths) {
        CAPTURE(path);
        const std::string special = shows_special;
        CHECK(ask_shown(service, path, special + R"(, "max_tokens": 3)").text.find("</s>") ==
              std::string::npos);
        CHECK(ask_shown(service, path, special + R"(, "stop": "was", "include_stop_str_in_output": true)")
                  .text.ends_with("there was"));
        // A stop token is shown as a stop string is: only on request.
        const Json ids = post_json(service, "/tokenize", R"({"content": "there was a dog"})")["tokens"];
        const std::string stop = R"(, "stop_token_ids": [)" + etna::dump_json(ids[3]) + "]";
        const Shown included =
            ask_shown(service, path, special + stop + R"(, "include_stop_str_in_output": true)");
        CHECK(included.ids.back() == ids[3]);
    }
}

TEST_CASE("an answer that ends in calls has no end token as content") {
    FakeService service({.chat_template = marked_template,
                         .says = "<tool_call>\n{\"name\": \"look\", \"arguments\": {}}\n</tool_call>"});
    const Json choice = choice_of(
        service.post(chats_path, R"({"messages": [{"role": "user", "content": "a"}], "temperature": 0,
        "skip_special_tokens": false, "tools": [{"type": "function", "function": {"name": "look"}}]})"));
    CHECK(choice["finish_reason"] == "tool_calls");
    CHECK(choice["message"]["content"].is_null());
}

TEST_CASE("each choice shows its end token, of a beam search too") {
    FakeService service({.chat_template = plain_template, .says = "there was a dog"});
    for (const char* path : {"/v1/completions", "/v3/completions"}) {
        for (const char* more : {R"(, "n": 2)", R"(, "n": 2, "use_beam_search": true)"}) {
            const Json answer = post_json(
                service, path,
                std::string(
                    R"({"prompt": "a", "temperature": 0, "max_tokens": 60, "skip_special_tokens": false)") +
                    more + "}");
            CAPTURE(path, more, etna::dump_json(answer));
            CHECK(answer["choices"][0]["text"].get<std::string>().ends_with("dog</s>"));
        }
    }
}
