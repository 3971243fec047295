// Log-probabilities next to stop strings: those of the returned text, and no others.
#include "core/base/json.hpp"
#include "core/base/utf8.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

/// The text and tokens of an answer.
struct TokenizedText {
    std::string text;
    std::vector<std::string> tokens;
    std::vector<std::size_t> offsets; ///< of completions
    bool operator==(const TokenizedText&) const = default;
};

/// Adds a choice, or a piece of a streamed one.
void add_choice(const Json& choice, TokenizedText& result) {
    for (const char* member : {"message", "delta"}) {
        if (choice.contains(member) && choice[member].contains("content"))
            result.text += choice[member]["content"].get<std::string>();
    }
    result.text += choice.value("text", "");
    const Json logprobs = choice.value("logprobs", Json());
    if (logprobs.is_null())
        return;
    for (const Json& token : logprobs.value("content", Json::array()))
        result.tokens.push_back(token["token"]);
    for (const Json& token : logprobs.value("tokens", Json::array()))
        result.tokens.push_back(token);
    for (const Json& offset : logprobs.value("text_offset", Json::array()))
        result.offsets.push_back(offset);
}

TokenizedText tokens_with(FakeService& service, const std::string& path, const std::string& more) {
    const bool is_chat = path == chats_path;
    const std::string body = (is_chat ? R"({"messages": [{"role": "user", "content": "a"}], "logprobs": true)"
                                      : R"({"prompt": "a", "logprobs": 1)") +
                             (R"(, "max_tokens": 60, "temperature": 0, )" + more + "}");
    const auto answer = service.post(path, body);
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    TokenizedText result;
    if (more.find("\"stream\": true") == std::string::npos) {
        add_choice(choice_of(answer), result);
        return result;
    }
    for (const Json& piece : pieces_of(answer))
        add_choice(piece, result);
    return result;
}

std::string joined_tokens(const std::vector<std::string>& tokens) {
    std::string all;
    for (const std::string& token : tokens)
        all += token;
    return all;
}

/// The bytes of a completion's token, which is "bytes:\xe2" if it is not valid UTF-8.
std::string bytes_of(const std::string& token) {
    constexpr std::string_view prefix = "bytes:";
    if (!token.starts_with(prefix))
        return token;
    std::string bytes;
    for (std::size_t at = prefix.size(); at + 4 <= token.size(); at += 4)
        bytes += static_cast<char>(std::stoi(token.substr(at + 2, 2), nullptr, 16));
    return bytes;
}

/// Checks that every token starts in the text, and that the tokens cover it.
void check_tokens(TokenizedText result) {
    const bool hides_space = !result.tokens.empty() && result.tokens[0].starts_with(' ') && // SentencePiece's
                             !result.text.starts_with(' ');
    if (hides_space)
        result.tokens[0].erase(0, 1);
    CAPTURE(result.text, result.tokens, result.offsets);
    CHECK(joined_tokens(result.tokens).starts_with(result.text));
    for (const std::size_t offset : result.offsets)
        CHECK(offset < result.text.size());
    std::size_t begin = 0;
    for (const std::string& token : result.tokens) {
        CHECK(begin < result.text.size());
        begin += token.size();
    }
}

} // namespace

TEST_CASE("tokens whose text a stop string removed have no log-probabilities") {
    const std::pair<std::string, std::vector<std::string>> sayings[] = {
        {"abcabcabc", {"cab", "bca", "cabca", "abcabcabc", "c", " ", "zzz"}},
        {"aaaaaab", {"aab", "aaab", "b"}}, // text that may be a stop string is delayed
        {"the dog sat on the mat", {"dog", "on the m", "at on", "t"}}};
    for (const auto& [says, stops] : sayings) {
        FakeService service({.chat_template = plain_template, .says = says});
        for (const std::string& stop : stops) {
            const std::string more = "\"stop\": [\"" + stop + "\"]";
            CAPTURE(says, stop);
            for (const char* path : {completions_path, chats_path}) {
                // A completion continues its prompt, with the space that SentencePiece prepends to a text.
                const std::string all = (std::string(path) == completions_path ? " " : "") + says;
                const TokenizedText result = tokens_with(service, path, more);
                CHECK(result.text == all.substr(0, all.find(stop)));
                check_tokens(result);
                CHECK(tokens_with(service, path, more + R"(, "stream": true)") == result);
            }
        }
    }
}

TEST_CASE("tokens of an included stop string have log-probabilities") {
    FakeService service({.chat_template = plain_template, .says = "abcabcabc"});
    for (const char* path : {completions_path, chats_path}) {
        const std::string more = R"("stop": ["cab"], "include_stop_str_in_output": true)";
        const TokenizedText result = tokens_with(service, path, more);
        CHECK(result.text == (std::string(path) == completions_path ? " abcab" : "abcab"));
        check_tokens(result);
        CHECK(tokens_with(service, path, more + R"(, "stream": true)") == result);
    }
}

TEST_CASE("tokens below min_tokens have log-probabilities, even in a stop string") {
    FakeService service({.chat_template = plain_template, .says = "abcabcabc"});
    for (const char* path : {completions_path, chats_path}) {
        for (int min_tokens = 0; min_tokens < 9; ++min_tokens) {
            const TokenizedText result =
                tokens_with(service, path, R"("stop": ["cab"], "min_tokens": )" + std::to_string(min_tokens));
            CAPTURE(min_tokens);
            check_tokens(result);
        }
    }
}

TEST_CASE("a completion stopped at its first token has empty log-probabilities") {
    FakeService service({.chat_template = plain_template, .says = "abcabcabc"});
    for (const int top : {0, 2}) {
        const Json body = {{"prompt", "a"},
                           {"max_tokens", 20},
                           {"temperature", 0},
                           {"logprobs", top},
                           {"stop", Json::array({" a"})}};
        const auto answer = service.post(completions_path, etna::dump_json(body));
        CAPTURE(answer.body);
        REQUIRE(answer.status == 200);
        const Json choice = etna::parse_json(answer.body)["choices"][0];
        CHECK(choice["text"] == "");
        Json no_logprobs = {
            {"tokens", Json::array()}, {"token_logprobs", Json::array()}, {"text_offset", Json::array()}};
        if (top > 0)
            no_logprobs["top_logprobs"] = Json::array();
        CHECK(choice["logprobs"] == no_logprobs);
    }
}

TEST_CASE("hidden control tokens have no characters in text offsets") {
    FakeService service({.says = "abc"}); // then the end token repeatedly
    const auto offsets = [&](const std::string& more) {
        return tokens_with(service, completions_path, R"("ignore_eos": true, "max_tokens": 8)" + more);
    };
    const TokenizedText hidden = offsets("");
    CHECK(hidden.text == " abc");
    REQUIRE(hidden.offsets.size() == 8);
    CHECK(hidden.offsets.front() == 0);
    CHECK(hidden.offsets.back() == hidden.text.size());
    CHECK(offsets(R"(, "stream": true)") == hidden);
    const TokenizedText without_leading_space = offsets(R"(, "skip_special_tokens": false)");
    CHECK(without_leading_space.text.ends_with("</s></s>"));
    CHECK(without_leading_space.offsets.back() + std::string("</s>").size() ==
          without_leading_space.text.size());
}

TEST_CASE("text offsets count the characters that start before a token") {
    FakeService service({.says = "Wörter ☃ ü"});
    for (const char* prompt : {"Wörter ☃: ", "☃", "a", "ü ü"}) {
        const TokenizedText result =
            tokens_with(service, completions_path,
                        "\"prompt\": \"" + std::string(prompt) + R"(", "echo": true, "logprobs": 1)");
        CAPTURE(prompt, result.text, result.tokens, result.offsets);
        std::string before; // bytes
        for (std::size_t i = 0; i < result.tokens.size(); ++i) {
            CHECK(result.offsets[i] == characters_in(before));
            std::string bytes = bytes_of(result.tokens[i]);
            if (before.empty() && (bytes == "<s>" || bytes.starts_with(' ')))
                bytes.erase(0, bytes == "<s>" ? bytes.size() : 1); // prepended to the prompt by the tokenizer
            before += bytes;
        }
        CHECK(before == result.text);
        CHECK(before.find("Wörter ☃ ü") != std::string::npos);
    }
}

TEST_CASE("an included stop token is among the tokens") {
    FakeService service({.chat_template = plain_template, .says = "there was a dog"});
    const Json all =
        etna::parse_json(service.post("/tokenize", R"({"content": "there was a dog"})").body)["tokens"];
    const std::string stop = "\"stop_token_ids\": [" + etna::dump_json(all[2]) + "]";
    const std::string included = stop + R"(, "include_stop_str_in_output": true)";
    for (const char* path : {completions_path, chats_path}) {
        CAPTURE(path);
        const TokenizedText without = tokens_with(service, path, stop);
        check_tokens(without);
        const TokenizedText with = tokens_with(service, path, included);
        check_tokens(with);
        CHECK(with.text.size() > without.text.size());
        CHECK(with.tokens.size() == without.tokens.size() + 1);
        CHECK(tokens_with(service, path, included + R"(, "stream": true)") == with);
        // The best of several samples has it, too.
        CHECK(tokens_with(service, path, included + R"(, "best_of": 2, "temperature": 0.5)") == with);
        CHECK(tokens_with(service, path, included + R"(, "best_of": 2, "use_beam_search": true)") == with);
    }
    const Json chat =
        etna::parse_json(service
                             .post(chats_path, R"({"messages": [{"role": "user", "content": "a"}],
        "temperature": 0, "logprobs": true, "top_logprobs": 3, )" +
                                                   included + "}")
                             .body)["choices"][0]["logprobs"]["content"]
            .back();
    CHECK(chat["top_logprobs"].size() == 3);
    CHECK(chat["top_logprobs"][0]["token"] == chat["token"]);
    CHECK(chat["logprob"].get<double>() > -0.01); // the script is nearly certain
    // The model's end token has no text, unless special tokens are shown.
    const std::string end = R"("include_stop_str_in_output": true, "stop_token_ids": [2])";
    CHECK(joined_tokens(tokens_with(service, completions_path, end).tokens) == " there was a dog");
    CHECK(joined_tokens(
              tokens_with(service, completions_path, end + R"(, "skip_special_tokens": false)").tokens) ==
          " there was a dog</s>");
}

namespace {

/// The text without the leading space of SentencePiece.
std::string without_leading_space(const std::vector<std::string>& tokens) {
    const std::string all = joined_tokens(tokens);
    return all.starts_with(' ') ? all.substr(1) : all;
}

} // namespace

TEST_CASE("white space at the end of an answer is returned as in its tokens") {
    FakeService service({.chat_template = plain_template, .says = "there was  \n"});
    for (const std::string stream : {"", R"(, "stream": true)"}) {
        for (const auto& [format, text] :
             {std::pair<std::string, std::string>(R"("regex": "ab\n\n")", "ab\n\n"),
              {R"("choice": ["ab  "])", "ab  "}}) {
            const TokenizedText result =
                tokens_with(service, chats_path, R"("structured_outputs": {)" + format + "}" + stream);
            CAPTURE(format, stream);
            CHECK(result.text == text);
            CHECK(without_leading_space(result.tokens) == text);
        }
        const TokenizedText unconstrained = tokens_with(service, chats_path, R"("top_logprobs": 0)" + stream);
        CHECK(unconstrained.text == "there was  \n");
        for (const char* const limit : {"3", "4", "5", "6"}) { // for any length limit
            const TokenizedText truncated = tokens_with(
                service, chats_path, R"("max_completion_tokens": )" + std::string(limit) + stream);
            CAPTURE(limit, truncated.text);
            CHECK(truncated.text == without_leading_space(truncated.tokens));
        }
    }
}
