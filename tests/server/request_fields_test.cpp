// Request fields beyond the common ones: their effects and their errors.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <fstream>
#include <set>
#include <string>

#include <unistd.h>

using namespace etna;
using namespace etna::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* turn_template =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.tool_calls %}"
    "[{{ m.tool_calls[0].function.name }} "
    "{{ m.tool_calls[0].function.arguments | tojson }}]{% endif %}</end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";
constexpr const char* thinking_template =
    "{# <think></think> #}{% for m in messages %}<{{ m.role }}>{{ m.content }}</end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

std::string prompt_body(const std::string& more) {
    return R"({"prompt": "Once upon a time", "max_tokens": 3, "temperature": 0, "ignore_eos": true, )" +
           more + "}";
}

std::string chat_body(const std::string& messages, const std::string& more = "") {
    return R"({"messages": [)" + messages + R"(], "max_tokens": 5, "temperature": 0)" + more + "}";
}

std::string user_message(const std::string& content) {
    return R"({"role": "user", "content": ")" + content + "\"}";
}

std::string chat_prompt(FakeService& service, const std::string& messages, const std::string& more = "") {
    const Json json = etna::parse_json(service.post("/apply-template", chat_body(messages, more)).body);
    return json.value("prompt", etna::dump_json(json));
}

} // namespace

TEST_CASE("a continued message ends the prompt, and the answer has only the new text") {
    FakeService service({.chat_template = turn_template, .says = "more"});
    const std::string messages = user_message("Count.") + R"(, {"role": "assistant", "content": "1, 2"})";
    const std::string continues = R"(, "continue_final_message": true)";
    CHECK(chat_prompt(service, messages, continues) == "<user>Count.</end><assistant>1, 2");
    CHECK(chat_prompt(service, messages) == "<user>Count.</end><assistant>1, 2</end><assistant>");
    CHECK(choice_of(service.post(chats_path, chat_body(messages, continues)))["message"]["content"] ==
          " more");
    CHECK(error_of(service.post(chats_path, chat_body(user_message("x"), continues)))["param"] ==
          "continue_final_message");
    CHECK(error_of(service.post(
              chats_path, chat_body(messages, continues + R"(, "add_generation_prompt": true)")))["param"] ==
          "continue_final_message");
    const std::string required_tool = R"(, "tool_choice": "required",
        "tools": [{"type": "function", "function": {"name": "f"}}])";
    CHECK(error_of(service.post(chats_path, chat_body(messages, continues + required_tool)))["param"] ==
          "tool_choice");
}

TEST_CASE("reasoning that a continued message started is returned as reasoning") {
    FakeService service({.chat_template = thinking_template, .says = "more</think>Yes"});
    const auto answered = [&](const std::string& start) {
        const std::string messages =
            user_message("Well?") + R"(, {"role": "assistant", "content": ")" + start + "\"}";
        const std::string more = R"(, "continue_final_message": true, "max_completion_tokens": 200)";
        return choice_of(service.post(chats_path, chat_body(messages, more)))["message"];
    };
    const Json message = answered("<think>hm, ");
    CHECK(message.value("reasoning_content", "") == " more");
    CHECK(message["content"] == "Yes");
}

TEST_CASE("a model's recommended sampling overrides the dialect's defaults") {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("etna-advice-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(ETNA_TEST_DATA "/models/stories260K.gguf", folder / "m.gguf");
    const auto texts = [&](const std::string& recommended, const std::string& path) {
        std::ofstream(folder / "generation_config.json") << recommended;
        FakeService service({.names = {}, .folder = folder});
        std::set<std::string> distinct;
        for (int seed = 0; seed < 6; ++seed) {
            const std::string request =
                R"({"prompt": "Once", "max_tokens": 8, "ignore_eos": true, "seed": )" + std::to_string(seed) +
                "}";
            distinct.insert(choice_of(service.post(path, request))["text"].get<std::string>());
        }
        return distinct.size();
    };
    for (const char* path : {completions_path, "/v3/completions"}) {
        CHECK(texts("{}", path) > 1);
        CHECK(texts(R"({"top_k": 1})", path) == 1);
        CHECK(texts(R"({"temperature": 0})", path) == 1);
    }
    std::filesystem::remove_all(folder);
}

TEST_CASE("the limit of ignore_eos applies to the effective max_tokens") {
    const auto status = [](uint32_t ceiling, const std::string& path, const std::string& more) {
        server::ServiceOptions options;
        options.limits.ignore_eos_max_tokens = ceiling;
        FakeService service({.service = options});
        return service.post(path, R"({"prompt": "Once", "ignore_eos": true)" + more + "}").status;
    };
    CHECK(status(20, completions_path, "") == 200); // the default is 16
    CHECK(status(10, completions_path, "") == 400);
    CHECK(status(10, completions_path, R"(, "max_tokens": 10)") == 200);
    CHECK(status(10, "/v3/completions", "") == 400); // unlimited by default
}

TEST_CASE("echo returns the truncated prompt, and offsets refer to that text") {
    FakeService service({});
    for (const char* prompt : {R"("Once upon a time")", R"([1, 403, 407, 261])"}) {
        for (const int left : {1, 2, 3, 50}) {
            const std::string more = R"({"echo": true, "logprobs": 1, "max_tokens": 2, "ignore_eos": true,
                "truncate_prompt_tokens": )" +
                                     std::to_string(left) + R"(, "prompt": )" + prompt + "}";
            const Json choice = choice_of(service.post(completions_path, more));
            CAPTURE(etna::dump_json(choice));
            const std::string text = choice["text"];
            const Json& logprobs = choice["logprobs"];
            CHECK(logprobs["text_offset"][0] == 0);
            for (std::size_t i = 0; i + 2 < logprobs["tokens"].size(); ++i) { // without those of the answer
                std::string token = logprobs["tokens"][i];
                const std::size_t offset = logprobs["text_offset"][i];
                if (token == "<s>" || token.starts_with("bytes:"))
                    continue; // the added begin token has no text
                if (offset == 0 && token.starts_with(' '))
                    token.erase(0, 1);
                CHECK(text.substr(offset, token.size()) == token);
            }
            const Json plain = choice_of(
                service.post(completions_path, R"({"echo": true, "max_tokens": 2,
                "ignore_eos": true, "temperature": 0, "truncate_prompt_tokens": )" +
                                                   std::to_string(left) + R"(, "prompt": )" + prompt + "}"));
            if (left < 3)
                CHECK(plain["text"].get<std::string>().find("Once") == std::string::npos);
        }
    }
}

TEST_CASE("the token routes report and refuse unknown fields, and null counts as absent") {
    FakeService service({.chat_template = turn_template});
    const std::string messages = R"("messages": [{"role": "user", "content": "a"}])";
    for (const auto& [path, fields] : {std::pair<std::string, std::string>("/tokenize", R"("content": "a")"),
                                       {"/tokenize", messages},
                                       {"/detokenize", R"("tokens": [300])"},
                                       {"/apply-template", messages}}) {
        CAPTURE(path, fields);
        const std::string plain = "{" + fields + "}";
        CHECK(post_strictly(service, path, plain).status == 200);
        const std::string odd = "{" + fields + R"(, "odd": 1})";
        CHECK(header_of(service.post(path, odd), "etna-ignored") == "odd");
        CHECK(error_of(post_strictly(service, path, odd))["code"] == "unknown_parameter");
    }
    CHECK(post_strictly(service, "/tokenize", R"({"content": "a", "messages": null})").status == 200);
    CHECK(post_strictly(service, "/tokenize", R"({"with_pieces": true, )" + messages + "}").status == 200);
    CHECK(error_of(service.post("/tokenize", R"({"with_pieces": 1, )" + messages + "}"))["param"] ==
          "with_pieces");
}

TEST_CASE("OpenAI's fields without effect are accepted everywhere, and reported if set") {
    FakeService service({.chat_template = turn_template});
    const std::string members = R"("store": true, "user": "u", "metadata": {"a": "b"})";
    const FakeAnswer completion = post_strictly(service, completions_path, prompt_body(members));
    CHECK(completion.status == 200);
    CHECK(header_of(completion, "etna-ignored") == "store, user, metadata");
    const FakeAnswer chat = post_strictly(service, chats_path, chat_body(user_message("a"), ", " + members));
    CHECK(chat.status == 200);
    CHECK(header_of(chat, "etna-ignored").empty()); // the chat is stored with all of these
    CHECK(header_of(
              post_strictly(service, chats_path, chat_body(user_message("a"), R"(, "metadata": {"a": "b"})")),
              "etna-ignored") == "metadata");
    CHECK(header_of(service.post(completions_path, prompt_body(R"("store": false, "user": null)")),
                    "etna-ignored")
              .empty());
    CHECK(header_of(service.post(completions_path, prompt_body(R"("odd": 1, "user": "u", "stream": true)")),
                    "etna-ignored") == "odd, user");
}

TEST_CASE("messages of every kind are accepted, and errors have their path") {
    FakeService service({.chat_template = turn_template});
    CHECK(chat_prompt(service, user_message("a") + R"(, {"role": "assistant", "content": null,
              "function_call": {"name": "f", "arguments": "{}"}},
              {"role": "function", "name": "f", "content": "x"})") ==
          "<user>a</end><assistant>[f {}]</end><tool>x</end><assistant>");
    CHECK(chat_prompt(service, user_message("a") + R"(, {"role": "assistant", "content":
              [{"type": "refusal", "refusal": "no"}]})") == "<user>a</end><assistant>no</end><assistant>");
    const auto wrong = [&](const std::string& message) {
        return error_of(service.post(chats_path, chat_body(user_message("a") + ", " + message)));
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
          "messages[1].content[0]"); // only assistants can refuse
    CHECK(wrong(R"({"role": "user", "content": ["x"]})")["param"] == "messages[1].content[0]");
    CHECK(service
              .post(chats_path,
                    chat_body(R"({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]})",
                              R"(, "nvext": {"use_raw_prompt": true})"))
              .status == 200);
}

TEST_CASE("token ids instead of text are streamed one by one") {
    FakeService service({});
    const Json complete = choice_of(service.post(completions_path, prompt_body(R"("detokenize": false)")));
    REQUIRE(complete["token_ids"].size() == 3);
    CHECK(complete["text"] == "");
    CHECK(complete["logprobs"].is_null());
    Json streamed = Json::array();
    std::size_t single_pieces = 0;
    for (const Json& piece :
         pieces_of(service.post(completions_path, prompt_body(R"("detokenize": false, "stream": true)")))) {
        single_pieces += piece["token_ids"].size() == 1 ? 1 : 0;
        for (const Json& token : piece["token_ids"])
            streamed.push_back(token);
    }
    CHECK(streamed == complete["token_ids"]);
    CHECK(single_pieces == 3);
    CHECK(choice_of(service.post(completions_path,
                                 prompt_body(R"("detokenize": false, "max_tokens": 0)")))["token_ids"] ==
          Json::array());
    FakeService talking({.chat_template = turn_template});
    CHECK(error_of(talking.post(chats_path, chat_body(user_message("a"),
                                                      R"(, "detokenize": false)")))["param"] == "detokenize");
    CHECK(talking.post(chats_path, chat_body(user_message("a"), R"(, "detokenize": true)")).status == 200);
}

TEST_CASE("a stop token ends an answer, and is included if requested") {
    FakeService service({.says = "there was a dog"});
    const auto tokens = [&](const std::string& text) {
        return etna::parse_json(service.post("/tokenize", R"({"content": ")" + text + "\"}").body)["tokens"];
    };
    const Json all = tokens("there was a dog");
    const std::string stop =
        R"("max_tokens": 30, "ignore_eos": false, "stop_token_ids": [)" + etna::dump_json(all[2]) + "]";
    const Json plain = choice_of(service.post(completions_path, prompt_body(stop)));
    CHECK(plain["finish_reason"] == "stop");
    const Json with = choice_of(
        service.post(completions_path, prompt_body(stop + R"(, "include_stop_str_in_output": true)")));
    const std::string piece =
        etna::parse_json(service.post("/tokenize", R"({"content": "there was a dog", "with_pieces": true})")
                             .body)["tokens"][2]["piece"];
    CHECK(with["text"] == plain["text"].get<std::string>() + piece);

    const std::string end = // the model's end token, a control token
        R"("max_tokens": 30, "ignore_eos": false, "include_stop_str_in_output": true, "stop_token_ids": [2])";
    const std::string hidden = choice_of(service.post(completions_path, prompt_body(end)))["text"];
    CHECK(hidden.find("</s>") == std::string::npos);
    CHECK(choice_of(service.post(completions_path,
                                 prompt_body(end + R"(, "skip_special_tokens": false)")))["text"] ==
          hidden + "</s>");
}

TEST_CASE("the ranges in error messages are those that are enforced") {
    server::ServiceOptions options;
    options.limits.answers_max = 3;
    FakeService service({.service = options, .chat_template = turn_template});
    const auto problem = [&](const std::string& path, const std::string& member) {
        const bool is_chat = path.find("chat") != std::string::npos;
        const Json error = error_of(
            service.post(path, is_chat ? R"({"messages": [)" + user_message("a") + "], " + member + "}"
                                       : R"({"prompt": "Once", )" + member + "}"));
        return error["param"].get<std::string>() + ": " + error["message"].get<std::string>();
    };
    CHECK(problem(chats_path, R"("max_tokens": -3)") ==
          "max_tokens: `max_tokens` must be from 1 to 2147483647");
    CHECK(problem(chats_path, R"("max_tokens": 0)") ==
          "max_tokens: `max_tokens` must be from 1 to 2147483647");
    CHECK(problem(chats_path, R"("repetition_penalty": -1)") ==
          "repetition_penalty: `repetition_penalty` must be above 0 and at most 100");
    CHECK(problem(chats_path, R"("stream_options": {})") ==
          "stream_options: `stream_options` requires `stream`: true");
    CHECK(problem(chats_path, R"("spaces_between_special_tokens": "x")") ==
          "spaces_between_special_tokens: `spaces_between_special_tokens` must be true or false");
    CHECK(problem(chats_path, R"("n": 4)") == "n: `n` must be from 1 to 3");
    CHECK(problem(completions_path, R"("n": 4)") == "n: `n` must be from 1 to 3");
    CHECK(problem("/v3/completions", R"("min_p": 1)") == "min_p: `min_p` must be at least 0 and below 1");
    CHECK(problem("/v3/completions", R"("top_p": 0)") == "top_p: `top_p` must be above 0 and at most 1");
    const std::string many = R"({"prompt": ["a", "b", "c", "d"]})";
    CHECK(error_of(service.post(completions_path, many))["message"] ==
          "`prompt` has 4 prompts; at most 3 are accepted per request");
}

TEST_CASE("a prompt over --prompt-max gets 400 and frees its place in the queue") {
    server::ServiceOptions options;
    options.limits.prompt_tokens_max = 5;
    FakeService service({.service = options});
    CHECK(
        service.post(completions_path, R"({"prompt": [300, 301, 302, 303, 304], "max_tokens": 1})").status ==
        200);
    const Json error = error_of(
        service.post(completions_path, R"({"prompt": [300, 301, 302, 303, 304, 305], "max_tokens": 1})"));
    CHECK(error["code"] == "context_length_exceeded");
    CHECK(error["param"] == "prompt");
    CHECK(error["message"] == "the prompt has 6 tokens; this server accepts at most 5");
}

TEST_CASE("an answer ends with the text so far at the time limit") {
    server::ServiceOptions options;
    options.request_time = 1s;
    FakeService service(
        {.service = options, .prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 10ms; }});
    const std::string endless = R"({"prompt": "Once", "max_tokens": 400, "ignore_eos": true)";
    const auto begin = std::chrono::steady_clock::now();
    const FakeAnswer answer = service.post(completions_path, endless + "}");
    CHECK(answer.status == 200);
    CHECK(std::chrono::steady_clock::now() - begin < 3s);
    CHECK(choice_of(answer)["finish_reason"] == "length");
    CHECK(!choice_of(answer)["text"].get<std::string>().empty());
    const auto streamed = pieces_of(service.post(completions_path, endless + R"(, "stream": true})"));
    CHECK(streamed.back()["finish_reason"] == "length");
}

TEST_CASE("a request whose time limit expires before its answer gets 503") {
    server::ServiceOptions options;
    options.request_time = 1s;
    FakeService service({.service = options, .loading_time = 2s});
    const Json error = error_of(service.post(completions_path, prompt_body(R"("n": 1)")), 503);
    CHECK(error["code"] == "timeout");
}
