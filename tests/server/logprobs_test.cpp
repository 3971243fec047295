// The log-probabilities of tokens beside a stop string: those of the text that is told, and no others.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace etna;
using server::Json;
using test::FakeService;

namespace {

constexpr const char* completions = "/v1/completions";
constexpr const char* chats = "/v1/chat/completions";
constexpr const char* plain_template = "{% for m in messages %}{{ m.content }}{% endfor %}";

struct Told {
    std::string text;
    std::vector<std::string> tokens;
    std::vector<std::size_t> offsets; ///< of completions
    bool operator==(const Told&) const = default;
};

/// Adds what a choice, a piece of a stream or a whole one, tells.
void add(const Json& choice, Told& told) {
    for (const char* member : {"message", "delta"}) {
        if (choice.contains(member) && choice[member].contains("content"))
            told.text += choice[member]["content"].get<std::string>();
    }
    told.text += choice.value("text", "");
    const Json logprobs = choice.value("logprobs", Json());
    if (logprobs.is_null())
        return;
    for (const Json& token : logprobs.value("content", Json::array()))
        told.tokens.push_back(token["token"]);
    for (const Json& token : logprobs.value("tokens", Json::array()))
        told.tokens.push_back(token);
    for (const Json& offset : logprobs.value("text_offset", Json::array()))
        told.offsets.push_back(offset);
}

Told ask(FakeService& service, const std::string& path, const std::string& more) {
    const bool is_chat = path == chats;
    const std::string body = (is_chat ? R"({"messages": [{"role": "user", "content": "a"}], "logprobs": true)"
                                      : R"({"prompt": "a", "logprobs": 1)") +
                             (R"(, "max_tokens": 60, "temperature": 0, )" + more + "}");
    const auto answer = service.post(path, body);
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    Told told;
    if (more.find("\"stream\": true") == std::string::npos) {
        add(etna::parse_json(answer.body)["choices"][0], told);
        return told;
    }
    for (std::size_t at = answer.body.find("data: {"); at != std::string::npos;
         at = answer.body.find("data: {", at + 1))
        add(etna::parse_json(answer.body.substr(at + 6, answer.body.find('\n', at) - at - 6))["choices"][0],
            told);
    return told;
}

std::string joined(const std::vector<std::string>& tokens) {
    std::string all;
    for (const std::string& token : tokens)
        all += token;
    return all;
}

/// Of a completion's token, which is told as "bytes:\xe2" where it is no whole UTF-8.
std::string bytes_of(const std::string& token) {
    constexpr std::string_view mark = "bytes:";
    if (!token.starts_with(mark))
        return token;
    std::string bytes;
    for (std::size_t at = mark.size(); at + 4 <= token.size(); at += 4)
        bytes += static_cast<char>(std::stoi(token.substr(at + 2, 2), nullptr, 16));
    return bytes;
}

/// Every token begins in the text, and together they are all of it.
void check_tokens(Told told) {
    const bool hides_space = !told.tokens.empty() && told.tokens[0].starts_with(' ') && // SentencePiece's
                             !told.text.starts_with(' ');
    if (hides_space)
        told.tokens[0].erase(0, 1);
    CAPTURE(told.text, told.tokens, told.offsets);
    CHECK(joined(told.tokens).starts_with(told.text));
    for (const std::size_t offset : told.offsets)
        CHECK(offset < told.text.size());
    std::size_t begin = 0;
    for (const std::string& token : told.tokens) {
        CHECK(begin < told.text.size());
        begin += token.size();
    }
}

} // namespace

TEST_CASE("tokens whose text a stop string took away are not told") {
    const std::pair<std::string, std::vector<std::string>> sayings[] = {
        {"abcabcabc", {"cab", "bca", "cabca", "abcabcabc", "c", " ", "zzz"}},
        {"aaaaaab", {"aab", "aaab", "b"}}, // what may be a stop, and is not, is told late
        {"the dog sat on the mat", {"dog", "on the m", "at on", "t"}}};
    for (const auto& [says, stops] : sayings) {
        FakeService service({.chat_template = plain_template, .says = says});
        for (const std::string& stop : stops) {
            const std::string more = "\"stop\": [\"" + stop + "\"]";
            CAPTURE(says, stop);
            for (const char* path : {completions, chats}) {
                // A completion goes on with its prompt, with the space that SentencePiece puts before a text.
                const std::string all = (std::string(path) == completions ? " " : "") + says;
                const Told told = ask(service, path, more);
                CHECK(told.text == all.substr(0, all.find(stop)));
                check_tokens(told);
                CHECK(ask(service, path, more + R"(, "stream": true)") == told);
            }
        }
    }
}

TEST_CASE("tokens of a stop string that is told are told with it") {
    FakeService service({.chat_template = plain_template, .says = "abcabcabc"});
    for (const char* path : {completions, chats}) {
        const std::string more = R"("stop": ["cab"], "include_stop_str_in_output": true)";
        const Told told = ask(service, path, more);
        CHECK(told.text == (std::string(path) == completions ? " abcab" : "abcab"));
        check_tokens(told);
        CHECK(ask(service, path, more + R"(, "stream": true)") == told);
    }
}

TEST_CASE("tokens that an answer has to have are told, whatever stop string is among them") {
    FakeService service({.chat_template = plain_template, .says = "abcabcabc"});
    for (const char* path : {completions, chats}) {
        for (int least = 0; least < 9; ++least) {
            const Told told =
                ask(service, path, R"("stop": ["cab"], "min_tokens": )" + std::to_string(least));
            CAPTURE(least);
            check_tokens(told);
        }
    }
}

TEST_CASE("a completion that was cut at its first token has log-probabilities of no token") {
    FakeService service({.chat_template = plain_template, .says = "abcabcabc"});
    for (const int top : {0, 2}) {
        const Json body = {{"prompt", "a"},
                           {"max_tokens", 20},
                           {"temperature", 0},
                           {"logprobs", top},
                           {"stop", Json::array({" a"})}};
        const auto answer = service.post(completions, etna::dump_json(body));
        CAPTURE(answer.body);
        REQUIRE(answer.status == 200);
        const Json choice = etna::parse_json(answer.body)["choices"][0];
        CHECK(choice["text"] == "");
        Json none = {
            {"tokens", Json::array()}, {"token_logprobs", Json::array()}, {"text_offset", Json::array()}};
        if (top > 0)
            none["top_logprobs"] = Json::array();
        CHECK(choice["logprobs"] == none);
    }
}

TEST_CASE("offsets count what the text shows: control tokens that it hides have no characters") {
    FakeService service({.says = "abc"}); // and the end token for ever
    const auto offsets = [&](const std::string& more) {
        return ask(service, completions, R"("ignore_eos": true, "max_tokens": 8)" + more);
    };
    const Told hidden = offsets("");
    CHECK(hidden.text == " abc");
    REQUIRE(hidden.offsets.size() == 8);
    CHECK(hidden.offsets.front() == 0);
    CHECK(hidden.offsets.back() == hidden.text.size());
    CHECK(offsets(R"(, "stream": true)") == hidden);
    const Told shown = offsets(R"(, "skip_special_tokens": false)");
    CHECK(shown.text.ends_with("</s></s>"));
    CHECK(shown.offsets.back() + std::string("</s>").size() == shown.text.size());
}

TEST_CASE("offsets of a prompt and of its answer count characters by where they begin") {
    FakeService service({.says = "Wörter ☃ ü"});
    for (const char* prompt : {"Wörter ☃: ", "☃", "a", "ü ü"}) {
        const Told told = ask(service, completions,
                              "\"prompt\": \"" + std::string(prompt) + R"(", "echo": true, "logprobs": 1)");
        CAPTURE(prompt, told.text, told.tokens, told.offsets);
        std::string before; // bytes
        for (std::size_t i = 0; i < told.tokens.size(); ++i) {
            CHECK(told.offsets[i] == server::characters_in(before));
            std::string bytes = bytes_of(told.tokens[i]);
            if (before.empty() && (bytes == "<s>" || bytes.starts_with(' ')))
                bytes.erase(0, bytes == "<s>" ? bytes.size() : 1); // put before the prompt by the tokenizer
            before += bytes;
        }
        CHECK(before == told.text);
        CHECK(before.find("Wörter ☃ ü") != std::string::npos);
    }
}

TEST_CASE("a stop token that is told in the text is told among the tokens") {
    FakeService service({.chat_template = plain_template, .says = "there was a dog"});
    const Json all =
        etna::parse_json(service.post("/tokenize", R"({"content": "there was a dog"})").body)["tokens"];
    const std::string stop = "\"stop_token_ids\": [" + etna::dump_json(all[2]) + "]";
    const std::string included = stop + R"(, "include_stop_str_in_output": true)";
    for (const char* path : {completions, chats}) {
        CAPTURE(path);
        const Told without = ask(service, path, stop);
        check_tokens(without);
        const Told with = ask(service, path, included);
        check_tokens(with);
        CHECK(with.text.size() > without.text.size());
        CHECK(with.tokens.size() == without.tokens.size() + 1);
        CHECK(ask(service, path, included + R"(, "stream": true)") == with);
        // Samples of which the best is told have it too.
        CHECK(ask(service, path, included + R"(, "best_of": 2, "temperature": 0.5)") == with);
        CHECK(ask(service, path, included + R"(, "best_of": 2, "use_beam_search": true)") == with);
    }
    const Json chat = etna::parse_json(service
                                           .post(chats, R"({"messages": [{"role": "user", "content": "a"}],
        "temperature": 0, "logprobs": true, "top_logprobs": 3, )" +
                                                            included + "}")
                                           .body)["choices"][0]["logprobs"]["content"]
                          .back();
    CHECK(chat["top_logprobs"].size() == 3);
    CHECK(chat["top_logprobs"][0]["token"] == chat["token"]);
    CHECK(chat["logprob"].get<double>() > -0.01); // the script is nearly certain
    // The model's own end shows nothing, unless its name is wanted.
    const std::string end = R"("include_stop_str_in_output": true, "stop_token_ids": [2])";
    CHECK(joined(ask(service, completions, end).tokens) == " there was a dog");
    CHECK(joined(ask(service, completions, end + R"(, "skip_special_tokens": false)").tokens) ==
          " there was a dog</s>");
}

namespace {

/// Without the blank that SentencePiece puts in front.
std::string shown(const std::vector<std::string>& tokens) {
    const std::string all = joined(tokens);
    return all.starts_with(' ') ? all.substr(1) : all;
}

} // namespace

TEST_CASE("white space at the end of an answer is told, as its tokens have it") {
    FakeService service({.chat_template = plain_template, .says = "there was  \n"});
    for (const std::string stream : {"", R"(, "stream": true)"}) {
        for (const auto& [format, text] :
             {std::pair<std::string, std::string>(R"("regex": "ab\n\n")", "ab\n\n"),
              {R"("choice": ["ab  "])", "ab  "}}) {
            const Told told = ask(service, chats, R"("structured_outputs": {)" + format + "}" + stream);
            CAPTURE(format, stream);
            CHECK(told.text == text);
            CHECK(shown(told.tokens) == text);
        }
        const Told free = ask(service, chats, R"("top_logprobs": 0)" + stream);
        CHECK(free.text == "there was  \n");
        for (const char* const most : {"3", "4", "5", "6"}) { // wherever a limit cuts
            const Told cut = ask(service, chats, R"("max_completion_tokens": )" + std::string(most) + stream);
            CAPTURE(most, cut.text);
            CHECK(cut.text == shown(cut.tokens));
        }
    }
}
