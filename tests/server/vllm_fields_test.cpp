// vLLM's extensions of OpenAI's API: token ids, usage in every chunk, larger limits, roles.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* roles_template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";

std::string greedy_chat(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Once"}], "max_tokens": 6, "temperature": 0)" + more +
           "}";
}

std::string greedy_completion(const std::string& more) {
    return R"({"prompt": "Once", "max_tokens": 6, "temperature": 0)" + more + "}";
}

Json prompt_tokens_of(FakeService& service, const std::string& prompt) {
    return etna::parse_json(service.post("/tokenize", R"({"prompt": ")" + prompt + "\"}").body)["tokens"];
}

/// The token ids of a stream with one choice, joined.
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

TEST_CASE("return_token_ids returns the ids of prompt and answer, streamed or not") {
    FakeService service({.chat_template = roles_template, .says = "upon a time"});
    for (const char* path : {completions_path, chats_path}) {
        const bool is_chat = path == chats_path;
        const auto body = is_chat ? greedy_chat : greedy_completion;
        const std::string options = R"(, "return_token_ids": true)";
        const Json complete = etna::parse_json(service.post(path, body(options)).body);
        CAPTURE(path, etna::dump_json(complete));
        const Json& choice = complete["choices"][0];
        const Json prompt = is_chat ? complete["prompt_token_ids"] : choice["prompt_token_ids"];
        CHECK(prompt == prompt_tokens_of(service, is_chat ? "<user>Once" : "Once"));
        CHECK(choice["token_ids"].size() == complete["usage"]["completion_tokens"]);
        const Json text = etna::parse_json(
            service.post("/detokenize", etna::dump_json(Json({{"tokens", choice["token_ids"]}})))
                .body)["content"];
        const std::string content = is_chat ? choice["message"]["content"] : choice["text"];
        CHECK(text.get<std::string>().ends_with("upon a time"));
        CHECK(content.ends_with("upon a time"));
        CHECK(complete["choices"][0].value("logprobs", Json()).is_null());
        const std::vector<Json> stream = chunks_of(service.post(path, body(options + R"(, "stream": true)")));
        CHECK(streamed_ids(stream) == choice["token_ids"]);
        CHECK((is_chat ? stream[0]["prompt_token_ids"] : stream[0]["choices"][0]["prompt_token_ids"]) ==
              prompt);
        int prompts_sent = 0;
        for (const Json& chunk : stream)
            prompts_sent += etna::dump_json(chunk).find("prompt_token_ids") != std::string::npos ? 1 : 0;
        CHECK(prompts_sent == 1);
        CHECK(service.post(path, body("")).body.find("token_ids") == std::string::npos);
    }
}

TEST_CASE("return_token_ids covers every prompt and answer") {
    FakeService service({});
    const Json complete = etna::parse_json(
        service
            .post(completions_path,
                  R"({"prompt": ["Once", "One day"], "n": 2, "max_tokens": 3, "ignore_eos": true,
                                      "return_token_ids": true})")
            .body);
    REQUIRE(complete["choices"].size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(complete["choices"][i]["prompt_token_ids"] ==
              prompt_tokens_of(service, i < 2 ? "Once" : "One day"));
        CHECK(complete["choices"][i]["token_ids"].size() == 3);
    }
}

TEST_CASE("return_tokens_as_token_ids names tokens by id") {
    FakeService service({.chat_template = roles_template});
    const std::string options =
        R"(, "ignore_eos": true, "return_tokens_as_token_ids": true, "return_token_ids": true)";
    const Json text = etna::parse_json(
        service.post(completions_path, greedy_completion(options + R"(, "logprobs": 2)")).body)["choices"][0];
    const Json& names = text["logprobs"]["tokens"];
    REQUIRE(names.size() == 6);
    for (std::size_t i = 0; i < names.size(); ++i) {
        CHECK(names[i] == "token_id:" + etna::dump_json(text["token_ids"][i]));
        CHECK(text["logprobs"]["top_logprobs"][i].contains(names[i].get<std::string>()));
        for (const auto& [name, value] : text["logprobs"]["top_logprobs"][i].items())
            CHECK(name.starts_with("token_id:"));
    }
    const Json chat = etna::parse_json(
        service.post(chats_path, greedy_chat(options + R"(, "logprobs": true, "top_logprobs": 1)"))
            .body)["choices"][0];
    for (std::size_t i = 0; i < chat["token_ids"].size(); ++i) {
        const Json& token = chat["logprobs"]["content"][i];
        CHECK(token["token"] == "token_id:" + etna::dump_json(chat["token_ids"][i]));
        CHECK(token["top_logprobs"][0]["token"].get<std::string>().starts_with("token_id:"));
    }
}

TEST_CASE("continuous_usage_stats counts tokens in every chunk") {
    FakeService service({.chat_template = roles_template});
    for (const char* path : {completions_path, chats_path}) {
        const auto body = path == chats_path ? greedy_chat : greedy_completion;
        const std::string each =
            R"(, "ignore_eos": true, "n": 2, "stream": true,
                "stream_options": {"include_usage": true, "continuous_usage_stats": true})";
        const std::vector<Json> stream = chunks_of(service.post(path, body(each)));
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
        const std::vector<Json> at_the_end = chunks_of(
            service.post(path, body(R"(, "stream": true, "stream_options": {"include_usage": true})")));
        CHECK(at_the_end.front()["usage"].is_null());
    }
}

TEST_CASE("the maximum numbers of log-probabilities and stop strings are accepted") {
    FakeService service({.says = "upon a time"});
    const Json top = etna::parse_json(
        service.post(completions_path, greedy_completion(R"(, "logprobs": 20)")).body)["choices"][0];
    CHECK(top["logprobs"]["top_logprobs"][0].size() > 5);
    Json stops = Json::array();
    for (int i = 0; i < 31; ++i)
        stops.push_back("no such text " + std::to_string(i));
    stops.push_back(" time");
    const Json stopped = etna::parse_json(
        service.post(completions_path, greedy_completion(R"(, "stop": )" + etna::dump_json(stops)))
            .body)["choices"][0];
    CHECK(stopped["text"].get<std::string>().ends_with("upon a"));
    CHECK(stopped["finish_reason"] == "stop");
    stops.push_back("one more");
    CHECK(
        service.post(completions_path, greedy_completion(R"(, "stop": )" + etna::dump_json(stops))).status ==
        400);
}

TEST_CASE("unknown roles are passed to the template, and a message that it omits is refused") {
    const auto ask = [](FakeService& service, const std::string& role, const char* path) {
        return service.post(path, R"({"messages": [{"role": "user", "content": "a"}, {"role": ")" + role +
                                      R"(", "content": "b"}], "max_tokens": 1})");
    };
    FakeService any({.chat_template = roles_template});
    CHECK(etna::parse_json(ask(any, "critic", "/apply-template").body)["prompt"] == "<user>a<critic>b");
    CHECK(ask(any, "critic", chats_path).status == 200);
    for (const char* known :
         {"{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}",
          "{% for m in messages %}{% if m.role != 'user' %}{{ raise_exception('only users') }}"
          "{% endif %}{{ m.content }}{% endfor %}"}) {
        FakeService users({.chat_template = known});
        const FakeAnswer refused = ask(users, "critic", chats_path);
        CAPTURE(refused.body);
        CHECK(refused.status == 400);
        CHECK(ask(users, "user", chats_path).status == 200);
    }
    FakeService users({.chat_template = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}"
                                        "{% endif %}{% endfor %}"});
    CHECK(ask(users, "critic", chats_path).body.find("does not render messages of the role `critic`") !=
          std::string::npos);
}

TEST_CASE("truncate_prompt_tokens keeps the last tokens on every path") {
    FakeService service({.chat_template = roles_template});
    const std::string words = "dog dog dog dog dog dog dog dog dog dog";
    const std::string truncation = R"(, "truncate_prompt_tokens": 4, "max_tokens": 1)";
    const Json text = etna::parse_json(
        service.post(completions_path, R"({"prompt": ")" + words + "\"" + truncation + "}").body);
    const std::string messages =
        R"({"messages": [{"role": "user", "content": ")" + words + R"("}])" + truncation + "}";
    const Json chat = etna::parse_json(service.post(chats_path, messages).body);
    const Json counted = etna::parse_json(service.post("/v1/chat/completions/input_tokens", messages).body);
    const Json response = etna::parse_json(
        service
            .post("/v1/responses",
                  R"({"input": ")" + words + R"(", "truncate_prompt_tokens": 4, "max_output_tokens": 1})")
            .body);
    CHECK(text["usage"]["prompt_tokens"] == 4);
    CHECK(chat["usage"]["prompt_tokens"] == 4);
    CHECK(counted["input_tokens"] == 4);
    CHECK(response["usage"]["input_tokens"] == 4);
}

TEST_CASE("return_token_ids is reported as without effect on a response") {
    FakeService service({.chat_template = roles_template});
    const FakeAnswer answer =
        service.post("/v1/responses", R"({"input": "a", "max_output_tokens": 1, "return_token_ids": true})");
    CHECK(answer.status == 200);
    CHECK(answer.headers.at("etna-ignored") == "return_token_ids");
}
