// Members that vLLM's clients send beside OpenAI's: the ids of tokens, counts in every chunk, and more of
// what OpenAI's API has less of.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using server::Json;
using test::FakeAnswer;
using test::FakeService;

namespace {

constexpr const char* completions = "/v1/completions";
constexpr const char* chats = "/v1/chat/completions";
constexpr const char* roles = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";

std::string talk(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Once"}], "max_tokens": 6, "temperature": 0)" + more +
           "}";
}

std::string prompted(const std::string& more) {
    return R"({"prompt": "Once", "max_tokens": 6, "temperature": 0)" + more + "}";
}

std::vector<Json> chunks(const FakeAnswer& stream) {
    std::vector<Json> found;
    for (std::size_t at = stream.body.find("data: {"); at != std::string::npos;
         at = stream.body.find("data: {", at + 1))
        found.push_back(etna::parse_json(stream.body.substr(at + 6, stream.body.find('\n', at) - at - 6)));
    return found;
}

Json tokens_of(FakeService& service, const std::string& prompt) {
    return etna::parse_json(service.post("/tokenize", R"({"prompt": ")" + prompt + "\"}").body)["tokens"];
}

/// Ids that a stream tells of its only choice, one after the other.
Json streamed_ids(const std::vector<Json>& chunks) {
    Json ids = Json::array();
    for (const Json& chunk : chunks) {
        for (const Json& choice : chunk["choices"]) {
            for (const Json& id : choice.value("token_ids", Json::array()))
                ids.push_back(id);
        }
    }
    return ids;
}

} // namespace

TEST_CASE("the ids of an answer's tokens and of its prompt's are told, streamed or not") {
    FakeService service({.chat_template = roles, .says = "upon a time"});
    for (const char* path : {completions, chats}) {
        const bool is_chat = path == chats;
        const auto body = is_chat ? talk : prompted;
        const std::string wish = R"(, "return_token_ids": true)";
        const Json whole = etna::parse_json(service.post(path, body(wish)).body);
        CAPTURE(path, etna::dump_json(whole));
        const Json& choice = whole["choices"][0];
        const Json prompt = is_chat ? whole["prompt_token_ids"] : choice["prompt_token_ids"];
        CHECK(prompt == tokens_of(service, is_chat ? "<user>Once" : "Once"));
        CHECK(choice["token_ids"].size() == whole["usage"]["completion_tokens"]);
        const Json text = etna::parse_json(
            service.post("/detokenize", etna::dump_json(Json({{"tokens", choice["token_ids"]}})))
                .body)["content"];
        const std::string content = is_chat ? choice["message"]["content"] : choice["text"];
        CHECK(text.get<std::string>().ends_with("upon a time"));
        CHECK(content.ends_with("upon a time"));
        CHECK(whole["choices"][0].value("logprobs", Json()).is_null());
        const std::vector<Json> stream = chunks(service.post(path, body(wish + R"(, "stream": true)")));
        CHECK(streamed_ids(stream) == choice["token_ids"]);
        CHECK((is_chat ? stream[0]["prompt_token_ids"] : stream[0]["choices"][0]["prompt_token_ids"]) ==
              prompt);
        int told = 0;
        for (const Json& chunk : stream)
            told += etna::dump_json(chunk).find("prompt_token_ids") != std::string::npos ? 1 : 0;
        CHECK(told == 1);
        CHECK(service.post(path, body("")).body.find("token_ids") == std::string::npos);
    }
}

TEST_CASE("every prompt and every answer has its own ids") {
    FakeService service({});
    const Json whole = etna::parse_json(
        service
            .post(completions, R"({"prompt": ["Once", "One day"], "n": 2, "max_tokens": 3, "ignore_eos": true,
                                      "return_token_ids": true})")
            .body);
    REQUIRE(whole["choices"].size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(whole["choices"][i]["prompt_token_ids"] == tokens_of(service, i < 2 ? "Once" : "One day"));
        CHECK(whole["choices"][i]["token_ids"].size() == 3);
    }
}

TEST_CASE("tokens are named by their ids where it is asked for") {
    FakeService service({.chat_template = roles});
    const std::string wish =
        R"(, "ignore_eos": true, "return_tokens_as_token_ids": true, "return_token_ids": true)";
    const Json text =
        etna::parse_json(service.post(completions, prompted(wish + R"(, "logprobs": 2)")).body)["choices"][0];
    const Json& names = text["logprobs"]["tokens"];
    REQUIRE(names.size() == 6);
    for (std::size_t i = 0; i < names.size(); ++i) {
        CHECK(names[i] == "token_id:" + etna::dump_json(text["token_ids"][i]));
        CHECK(text["logprobs"]["top_logprobs"][i].contains(names[i].get<std::string>()));
        for (const auto& [name, value] : text["logprobs"]["top_logprobs"][i].items())
            CHECK(name.starts_with("token_id:"));
    }
    const Json told_chat = etna::parse_json(
        service.post(chats, talk(wish + R"(, "logprobs": true, "top_logprobs": 1)")).body)["choices"][0];
    for (std::size_t i = 0; i < told_chat["token_ids"].size(); ++i) {
        const Json& told = told_chat["logprobs"]["content"][i];
        CHECK(told["token"] == "token_id:" + etna::dump_json(told_chat["token_ids"][i]));
        CHECK(told["top_logprobs"][0]["token"].get<std::string>().starts_with("token_id:"));
    }
}

TEST_CASE("every chunk counts what has come, where it is asked for") {
    FakeService service({.chat_template = roles});
    for (const char* path : {completions, chats}) {
        const auto body = path == chats ? talk : prompted;
        const std::string each =
            R"(, "ignore_eos": true, "n": 2, "stream": true,
                "stream_options": {"include_usage": true, "continuous_usage_stats": true})";
        const std::vector<Json> stream = chunks(service.post(path, body(each)));
        REQUIRE(stream.size() > 3);
        const Json last = stream.back()["usage"];
        CHECK(last["completion_tokens"] == 12);
        std::vector<int> counted(2);
        for (const Json& chunk : stream) {
            REQUIRE(chunk["usage"].is_object());
            if (chunk["choices"].empty())
                continue;
            int& before = counted[chunk["choices"][0]["index"].get<std::size_t>()];
            const int now = chunk["usage"]["completion_tokens"];
            CHECK(now >= before);
            CHECK(chunk["usage"]["prompt_tokens"] == last["prompt_tokens"]);
            CHECK(chunk["usage"]["total_tokens"] == now + last["prompt_tokens"].get<int>());
            before = now;
        }
        CHECK(counted == std::vector<int>{6, 6});
        const std::vector<Json> at_the_end = chunks(
            service.post(path, body(R"(, "stream": true, "stream_options": {"include_usage": true})")));
        CHECK(at_the_end.front()["usage"].is_null());
    }
}

TEST_CASE("as many log-probabilities and stop strings are taken as there may be") {
    FakeService service({.says = "upon a time"});
    const Json top =
        etna::parse_json(service.post(completions, prompted(R"(, "logprobs": 20)")).body)["choices"][0];
    CHECK(top["logprobs"]["top_logprobs"][0].size() > 5);
    Json stops = Json::array();
    for (int i = 0; i < 31; ++i)
        stops.push_back("no such text " + std::to_string(i));
    stops.push_back(" time");
    const Json stopped = etna::parse_json(
        service.post(completions, prompted(R"(, "stop": )" + etna::dump_json(stops))).body)["choices"][0];
    CHECK(stopped["text"].get<std::string>().ends_with("upon a"));
    CHECK(stopped["finish_reason"] == "stop");
    stops.push_back("one more");
    CHECK(service.post(completions, prompted(R"(, "stop": )" + etna::dump_json(stops))).status == 400);
}

TEST_CASE("roles are the template's matter, and a message that it leaves out is refused") {
    const auto ask = [](FakeService& service, const std::string& role, const char* path) {
        return service.post(path, R"({"messages": [{"role": "user", "content": "a"}, {"role": ")" + role +
                                      R"(", "content": "b"}], "max_tokens": 1})");
    };
    FakeService any({.chat_template = roles});
    CHECK(etna::parse_json(ask(any, "critic", "/apply-template").body)["prompt"] == "<user>a<critic>b");
    CHECK(ask(any, "critic", chats).status == 200);
    for (const char* known :
         {"{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}",
          "{% for m in messages %}{% if m.role != 'user' %}{{ raise_exception('only users') }}"
          "{% endif %}{{ m.content }}{% endfor %}"}) {
        FakeService users({.chat_template = known});
        const FakeAnswer refused = ask(users, "critic", chats);
        CAPTURE(refused.body);
        CHECK(refused.status == 400);
        CHECK(ask(users, "user", chats).status == 200);
    }
    FakeService users({.chat_template = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}"
                                        "{% endif %}{% endfor %}"});
    CHECK(ask(users, "critic", chats).body.find("no messages of the role `critic`") != std::string::npos);
}

TEST_CASE("prompts are cut to their last tokens on every path") {
    FakeService service({.chat_template = roles});
    const std::string many = "dog dog dog dog dog dog dog dog dog dog";
    const std::string cut = R"(, "truncate_prompt_tokens": 4, "max_tokens": 1)";
    const Json text =
        etna::parse_json(service.post(completions, R"({"prompt": ")" + many + "\"" + cut + "}").body);
    const std::string messages =
        R"({"messages": [{"role": "user", "content": ")" + many + R"("}])" + cut + "}";
    const Json told_chat = etna::parse_json(service.post(chats, messages).body);
    const Json counted = etna::parse_json(service.post("/v1/chat/completions/input_tokens", messages).body);
    const Json response = etna::parse_json(
        service
            .post("/v1/responses",
                  R"({"input": ")" + many + R"(", "truncate_prompt_tokens": 4, "max_output_tokens": 1})")
            .body);
    CHECK(text["usage"]["prompt_tokens"] == 4);
    CHECK(told_chat["usage"]["prompt_tokens"] == 4);
    CHECK(counted["input_tokens"] == 4);
    CHECK(response["usage"]["input_tokens"] == 4);
}

TEST_CASE("members that stand in a chat's choices are told to have no effect on a response") {
    FakeService service({.chat_template = roles});
    const FakeAnswer answer =
        service.post("/v1/responses", R"({"input": "a", "max_output_tokens": 1, "return_token_ids": true})");
    CHECK(answer.status == 200);
    CHECK(answer.headers.at("etna-ignored") == "return_token_ids");
}
