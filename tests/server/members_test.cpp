// Members of requests beside the common ones: what they do, and how what is wrong with them is told.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <fstream>
#include <set>
#include <string>

#include <unistd.h>

using namespace etna;
using server::Json;
using test::FakeAnswer;
using test::FakeService;
using namespace std::chrono_literals;

namespace {

constexpr const char* completions = "/v1/completions";
constexpr const char* chats = "/v1/chat/completions";
constexpr const char* turns =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.tool_calls %}"
    "[{{ m.tool_calls[0].function.name }} "
    "{{ m.tool_calls[0].function.arguments | tojson }}]{% endif %}</end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";
constexpr const char* thinking_turns =
    "{# <think></think> #}{% for m in messages %}<{{ m.role }}>{{ m.content }}</end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

std::string body(const std::string& more) {
    return R"({"prompt": "Once upon a time", "max_tokens": 3, "temperature": 0, "ignore_eos": true, )" +
           more + "}";
}

std::string talk(const std::string& messages, const std::string& more = "") {
    return R"({"messages": [)" + messages + R"(], "max_tokens": 5, "temperature": 0)" + more + "}";
}

std::string user(const std::string& content) {
    return R"({"role": "user", "content": ")" + content + "\"}";
}

std::string header(const FakeAnswer& answer, const std::string& name) {
    const auto found = answer.headers.find(name);
    return found == answer.headers.end() ? "" : found->second;
}

FakeAnswer ask_strictly(FakeService& service, const std::string& path, const std::string& body) {
    return service.ask({.method = "POST",
                        .path = path,
                        .headers = {{"host", "127.0.0.1"}, {"etna-strict", "1"}},
                        .body = body});
}

/// The only choice of an answer; its error where it has none.
Json choice(const FakeAnswer& answer) {
    const Json json = etna::parse_json(answer.body);
    return json.contains("choices") ? json["choices"][0] : json;
}

/// The error of a refusal; checks that it is one.
Json refused(const FakeAnswer& answer, int status = 400) {
    CAPTURE(answer.body);
    CHECK(answer.status == status);
    const Json json = etna::parse_json(answer.body);
    return json.value("error", Json::object());
}

/// The choices of every event of a stream, as they come.
std::vector<Json> pieces(const FakeAnswer& stream) {
    std::vector<Json> found;
    for (std::size_t at = stream.body.find("data: {"); at != std::string::npos;
         at = stream.body.find("data: {", at + 1))
        found.push_back(
            etna::parse_json(stream.body.substr(at + 6, stream.body.find('\n', at) - at - 6))["choices"][0]);
    return found;
}

std::string prompt_of(FakeService& service, const std::string& messages, const std::string& more = "") {
    const Json json = etna::parse_json(service.post("/apply-template", talk(messages, more)).body);
    return json.value("prompt", etna::dump_json(json));
}

} // namespace

TEST_CASE("a message that is continued ends the prompt, and only what follows is the answer") {
    FakeService service({.chat_template = turns, .says = "more"});
    const std::string messages = user("Count.") + R"(, {"role": "assistant", "content": "1, 2"})";
    const std::string continues = R"(, "continue_final_message": true)";
    CHECK(prompt_of(service, messages, continues) == "<user>Count.</end><assistant>1, 2");
    CHECK(prompt_of(service, messages) == "<user>Count.</end><assistant>1, 2</end><assistant>");
    CHECK(choice(service.post(chats, talk(messages, continues)))["message"]["content"] == " more");
    CHECK(refused(service.post(chats, talk(user("x"), continues)))["param"] == "continue_final_message");
    CHECK(refused(service.post(chats,
                               talk(messages, continues + R"(, "add_generation_prompt": true)")))["param"] ==
          "continue_final_message");
    const std::string demand = R"(, "tool_choice": "required",
        "tools": [{"type": "function", "function": {"name": "f"}}])";
    CHECK(refused(service.post(chats, talk(messages, continues + demand)))["param"] == "tool_choice");
}

TEST_CASE("reasoning that a continued message has begun goes on as reasoning") {
    FakeService service({.chat_template = thinking_turns, .says = "more</think>Yes"});
    const auto answered = [&](const std::string& begun) {
        const std::string messages =
            user("Well?") + R"(, {"role": "assistant", "content": ")" + begun + "\"}";
        const std::string more = R"(, "continue_final_message": true, "max_completion_tokens": 200)";
        return choice(service.post(chats, talk(messages, more)))["message"];
    };
    const Json message = answered("<think>hm, ");
    CHECK(message.value("reasoning_content", "") == " more");
    CHECK(message["content"] == "Yes");
}

TEST_CASE("what a model advises stands over a dialect's defaults") {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("etna-advice-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(ETNA_TEST_DATA "/models/stories260K.gguf", folder / "m.gguf");
    const auto texts = [&](const std::string& advice, const std::string& path) {
        std::ofstream(folder / "generation_config.json") << advice;
        FakeService service({.names = {}, .folder = folder});
        std::set<std::string> different;
        for (int seed = 0; seed < 6; ++seed) {
            const std::string asked = R"({"prompt": "Once", "max_tokens": 8, "ignore_eos": true, "seed": )" +
                                      std::to_string(seed) + "}";
            different.insert(choice(service.post(path, asked))["text"].get<std::string>());
        }
        return different.size();
    };
    for (const char* path : {completions, "/v3/completions"}) {
        CHECK(texts("{}", path) > 1);
        CHECK(texts(R"({"top_k": 1})", path) == 1);
        CHECK(texts(R"({"temperature": 0})", path) == 1);
    }
    std::filesystem::remove_all(folder);
}

TEST_CASE("the ceiling for answers that have no end is held against what they get") {
    const auto status = [](uint32_t ceiling, const std::string& path, const std::string& more) {
        server::ServiceOptions options;
        options.limits.ignore_eos_max_tokens = ceiling;
        FakeService service({.service = options});
        return service.post(path, R"({"prompt": "Once", "ignore_eos": true)" + more + "}").status;
    };
    CHECK(status(20, completions, "") == 200); // 16 where nothing is asked for
    CHECK(status(10, completions, "") == 400);
    CHECK(status(10, completions, R"(, "max_tokens": 10)") == 200);
    CHECK(status(10, "/v3/completions", "") == 400); // to the end, which never comes
}

TEST_CASE("what is echoed is the prompt as it was cut, and offsets are of that text") {
    FakeService service({});
    for (const char* prompt : {R"("Once upon a time")", R"([1, 403, 407, 261])"}) {
        for (const int left : {1, 2, 3, 50}) {
            const std::string more = R"({"echo": true, "logprobs": 1, "max_tokens": 2, "ignore_eos": true,
                "truncate_prompt_tokens": )" +
                                     std::to_string(left) + R"(, "prompt": )" + prompt + "}";
            const Json told = choice(service.post(completions, more));
            CAPTURE(etna::dump_json(told));
            const std::string text = told["text"];
            const Json& logprobs = told["logprobs"];
            CHECK(logprobs["text_offset"][0] == 0);
            for (std::size_t i = 0; i + 2 < logprobs["tokens"].size(); ++i) { // all but those of the answer
                std::string token = logprobs["tokens"][i];
                const std::size_t offset = logprobs["text_offset"][i];
                if (token == "<s>" || token.starts_with("bytes:"))
                    continue; // the begin token that the tokenizer adds is none of the text
                if (offset == 0 && token.starts_with(' '))
                    token.erase(0, 1);
                CHECK(text.substr(offset, token.size()) == token);
            }
            const Json plain = choice(service.post(completions, R"({"echo": true, "max_tokens": 2,
                "ignore_eos": true, "temperature": 0, "truncate_prompt_tokens": )" +
                                                                    std::to_string(left) + R"(, "prompt": )" +
                                                                    prompt + "}"));
            if (left < 3)
                CHECK(plain["text"].get<std::string>().find("Once") == std::string::npos);
        }
    }
}

TEST_CASE("the token routes tell and refuse unknown members, and null is absent") {
    FakeService service({.chat_template = turns});
    const std::string messages = R"("messages": [{"role": "user", "content": "a"}])";
    for (const auto& [path, wanted] : {std::pair<std::string, std::string>("/tokenize", R"("content": "a")"),
                                       {"/tokenize", messages},
                                       {"/detokenize", R"("tokens": [300])"},
                                       {"/apply-template", messages}}) {
        CAPTURE(path, wanted);
        const std::string plain = "{" + wanted + "}";
        CHECK(ask_strictly(service, path, plain).status == 200);
        const std::string odd = "{" + wanted + R"(, "odd": 1})";
        CHECK(header(service.post(path, odd), "etna-ignored") == "odd");
        CHECK(refused(ask_strictly(service, path, odd))["code"] == "unknown_parameter");
    }
    CHECK(ask_strictly(service, "/tokenize", R"({"content": "a", "messages": null})").status == 200);
    CHECK(ask_strictly(service, "/tokenize", R"({"with_pieces": true, )" + messages + "}").status == 200);
    CHECK(refused(service.post("/tokenize", R"({"with_pieces": 1, )" + messages + "}"))["param"] ==
          "with_pieces");
}

TEST_CASE("what of OpenAI's API has no effect is known everywhere, and noted where it is asked for") {
    FakeService service({.chat_template = turns});
    const std::string members = R"("store": true, "user": "u", "metadata": {"a": "b"})";
    const FakeAnswer completion = ask_strictly(service, completions, body(members));
    CHECK(completion.status == 200);
    CHECK(header(completion, "etna-ignored") == "store, user, metadata");
    const FakeAnswer chat = ask_strictly(service, chats, talk(user("a"), ", " + members));
    CHECK(chat.status == 200);
    CHECK(header(chat, "etna-ignored").empty()); // the chat is stored, with all of these
    CHECK(header(ask_strictly(service, chats, talk(user("a"), R"(, "metadata": {"a": "b"})")),
                 "etna-ignored") == "metadata");
    CHECK(header(service.post(completions, body(R"("store": false, "user": null)")), "etna-ignored").empty());
    CHECK(header(service.post(completions, body(R"("odd": 1, "user": "u", "stream": true)")),
                 "etna-ignored") == "odd, user");
}

TEST_CASE("messages of every kind are read, and their mistakes told with their place") {
    FakeService service({.chat_template = turns});
    CHECK(prompt_of(service, user("a") + R"(, {"role": "assistant", "content": null,
              "function_call": {"name": "f", "arguments": "{}"}},
              {"role": "function", "name": "f", "content": "x"})") ==
          "<user>a</end><assistant>[f {}]</end><tool>x</end><assistant>");
    CHECK(prompt_of(service, user("a") + R"(, {"role": "assistant", "content":
              [{"type": "refusal", "refusal": "no"}]})") == "<user>a</end><assistant>no</end><assistant>");
    const auto wrong = [&](const std::string& message) {
        return refused(service.post(chats, talk(user("a") + ", " + message)));
    };
    CHECK(wrong(R"({"role": "", "content": "a"})")["param"] == "messages[1].role");
    CHECK(wrong(R"({"role": 5, "content": "a"})")["param"] == "messages[1].role");
    CHECK(wrong(R"({"content": "a"})")["param"] == "messages[1].role");
    CHECK(wrong(R"({"role": "assistant", "tool_calls": 5})")["param"] == "messages[1].tool_calls");
    CHECK(wrong(R"({"role": "assistant", "tool_calls": [5]})")["param"] == "messages[1].tool_calls[0]");
    CHECK(wrong(R"({"role": "assistant", "function_call": "f"})")["param"] == "messages[1].function_call");
    const Json file = wrong(R"({"role": "user", "content": [{"type": "file", "text": "x"}]})");
    CHECK(file["param"] == "messages[1].content[0]");
    CHECK(file["message"] == "file input is not supported by this model");
    CHECK(wrong(R"({"role": "user", "content": [{"type": "refusal", "refusal": "no"}]})")["param"] ==
          "messages[1].content[0]"); // which is an assistant's
    CHECK(wrong(R"({"role": "user", "content": ["x"]})")["param"] == "messages[1].content[0]");
    CHECK(service
              .post(chats, talk(R"({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]})",
                                R"(, "nvext": {"use_raw_prompt": true})"))
              .status == 200);
}

TEST_CASE("token ids instead of text come one by one") {
    FakeService service({});
    const Json whole = choice(service.post(completions, body(R"("detokenize": false)")));
    REQUIRE(whole["token_ids"].size() == 3);
    CHECK(whole["text"] == "");
    CHECK(whole["logprobs"].is_null());
    Json streamed = Json::array();
    std::size_t with_one = 0;
    for (const Json& piece :
         pieces(service.post(completions, body(R"("detokenize": false, "stream": true)")))) {
        with_one += piece["token_ids"].size() == 1 ? 1 : 0;
        for (const Json& token : piece["token_ids"])
            streamed.push_back(token);
    }
    CHECK(streamed == whole["token_ids"]);
    CHECK(with_one == 3);
    CHECK(choice(service.post(completions, body(R"("detokenize": false, "max_tokens": 0)")))["token_ids"] ==
          Json::array());
    FakeService talking({.chat_template = turns});
    CHECK(refused(talking.post(chats, talk(user("a"), R"(, "detokenize": false)")))["param"] == "detokenize");
    CHECK(talking.post(chats, talk(user("a"), R"(, "detokenize": true)")).status == 200);
}

TEST_CASE("a stop token ends an answer, and is part of it where that is wanted") {
    FakeService service({.says = "there was a dog"});
    const auto tokens = [&](const std::string& text) {
        return etna::parse_json(service.post("/tokenize", R"({"content": ")" + text + "\"}").body)["tokens"];
    };
    const Json all = tokens("there was a dog");
    const std::string stop =
        R"("max_tokens": 30, "ignore_eos": false, "stop_token_ids": [)" + etna::dump_json(all[2]) + "]";
    const Json plain = choice(service.post(completions, body(stop)));
    CHECK(plain["finish_reason"] == "stop");
    const Json with =
        choice(service.post(completions, body(stop + R"(, "include_stop_str_in_output": true)")));
    const std::string piece =
        etna::parse_json(service.post("/tokenize", R"({"content": "there was a dog", "with_pieces": true})")
                             .body)["tokens"][2]["piece"];
    CHECK(with["text"] == plain["text"].get<std::string>() + piece);

    const std::string end = // the model's own, which is a control token
        R"("max_tokens": 30, "ignore_eos": false, "include_stop_str_in_output": true, "stop_token_ids": [2])";
    const std::string hidden = choice(service.post(completions, body(end)))["text"];
    CHECK(hidden.find("</s>") == std::string::npos);
    CHECK(choice(service.post(completions, body(end + R"(, "skip_special_tokens": false)")))["text"] ==
          hidden + "</s>");
}

TEST_CASE("ranges that are told are those that hold") {
    server::ServiceOptions options;
    options.limits.answers_max = 3;
    FakeService service({.service = options, .chat_template = turns});
    const auto told = [&](const std::string& path, const std::string& member) {
        const bool is_chat = path.find("chat") != std::string::npos;
        const Json error =
            refused(service.post(path, is_chat ? R"({"messages": [)" + user("a") + "], " + member + "}"
                                               : R"({"prompt": "Once", )" + member + "}"));
        return error["param"].get<std::string>() + ": " + error["message"].get<std::string>();
    };
    CHECK(told(chats, R"("max_tokens": -1)") == "max_tokens: `max_tokens` must be from 1 to 2147483647");
    CHECK(told(chats, R"("max_tokens": 0)") == "max_tokens: `max_tokens` must be from 1 to 2147483647");
    CHECK(told(chats, R"("repetition_penalty": -1)") ==
          "repetition_penalty: `repetition_penalty` must be above 0 and at most 100");
    CHECK(told(chats, R"("stream_options": {})") ==
          "stream_options: `stream_options` is for `stream`: true only");
    CHECK(told(chats, R"("spaces_between_special_tokens": "x")") ==
          "spaces_between_special_tokens: `spaces_between_special_tokens` must be true or false");
    CHECK(told(chats, R"("n": 4)") == "n: `n` must be from 1 to 3");
    CHECK(told(completions, R"("n": 4)") == "n: `n` must be from 1 to 3");
    CHECK(told("/v3/completions", R"("min_p": 1)") == "min_p: `min_p` must be at least 0 and below 1");
    CHECK(told("/v3/completions", R"("top_p": 0)") == "top_p: `top_p` must be above 0 and at most 1");
    const std::string many = R"({"prompt": ["a", "b", "c", "d"]})";
    CHECK(refused(service.post(completions, many))["message"] ==
          "`prompt` has 4 prompts; at most 3 are answered at once");
}

TEST_CASE("a prompt has the operator's limit, and gives its place back where it is beyond") {
    server::ServiceOptions options;
    options.limits.prompt_tokens_max = 5;
    FakeService service({.service = options});
    CHECK(service.post(completions, R"({"prompt": [300, 301, 302, 303, 304], "max_tokens": 1})").status ==
          200);
    const Json error =
        refused(service.post(completions, R"({"prompt": [300, 301, 302, 303, 304, 305], "max_tokens": 1})"));
    CHECK(error["code"] == "context_length_exceeded");
    CHECK(error["param"] == "prompt");
    CHECK(error["message"] == "the prompt has 6 tokens; at most 5 are taken on this server");
}

TEST_CASE("an answer whose time is over ends with what there is of it") {
    server::ServiceOptions options;
    options.request_time = 1s;
    FakeService service(
        {.service = options, .prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 10ms; }});
    const std::string endless = R"({"prompt": "Once", "max_tokens": 400, "ignore_eos": true)";
    const auto begin = std::chrono::steady_clock::now();
    const FakeAnswer answer = service.post(completions, endless + "}");
    CHECK(answer.status == 200);
    CHECK(std::chrono::steady_clock::now() - begin < 3s);
    CHECK(choice(answer)["finish_reason"] == "length");
    CHECK(!choice(answer)["text"].get<std::string>().empty());
    const auto streamed = pieces(service.post(completions, endless + R"(, "stream": true})"));
    CHECK(streamed.back()["finish_reason"] == "length");
}

TEST_CASE("a request whose time is over before its answer begins is told so") {
    server::ServiceOptions options;
    options.request_time = 1s;
    FakeService service({.service = options, .loading_time = 2s});
    const Json error = refused(service.post(completions, body(R"("n": 1)")), 503);
    CHECK(error["code"] == "timeout");
}
