// Files in the content of messages: those of text are read, others are refused by name.
#include "core/base/json.hpp"
#include "server/api/file_texts.hpp"
#include "server/base/seal.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

std::string data_url(const std::string& type, const std::string& content) {
    return "data:" + type + ";base64," + server::base64(content);
}

/// The prompt of a chat with one part, or its error.
std::string chat_prompt(FakeService& service, const Json& part) {
    const Json body = {
        {"messages",
         Json::array({{{"role", "user"},
                       {"content", Json::array({{{"type", "text"}, {"text", "Read: "}}, part})}}})}};
    const FakeAnswer answer = service.post("/apply-template", etna::dump_json(body));
    const Json json = etna::parse_json(answer.body);
    return answer.status == 200 ? json["prompt"] : json["error"]["message"];
}

/// The text that a model reads for a part; empty if it is refused.
std::string text_of(const Json& part) {
    const Json object = Json::object();
    server::Fields fields(object);
    return server::api::FileTexts().read(fields, "part", part).value_or("");
}

/// Why a part is refused.
std::string problem_of(const Json& part) {
    const Json object = Json::object();
    server::Fields fields(object);
    server::api::FileTexts().read(fields, "part", part);
    return fields.problem() ? fields.problem()->message : "";
}

Json input_file(const std::string& data, const std::string& name = "notes.txt") {
    return {{"type", "input_file"}, {"file_data", data}, {"filename", name}};
}

Json document(Json source) {
    return {{"type", "document"}, {"source", std::move(source)}};
}

} // namespace

TEST_CASE("the text of a file is read with its name, in each form of a part") {
    const std::string expected = "notes.txt\nfive cats";
    const std::string encoded = server::base64("five cats");
    CHECK(text_of(input_file(data_url("text/plain", "five cats"))) == expected);
    CHECK(text_of(input_file(encoded)) == expected);
    CHECK(text_of(input_file("data:text/plain,five%20cats")) == expected);
    CHECK(text_of(input_file("data:;base64," + encoded)) == expected);
    CHECK(text_of({{"type", "file"}, {"file", {{"file_data", encoded}, {"filename", "notes.txt"}}}}) ==
          expected);
    CHECK(text_of(document({{"type", "base64"}, {"media_type", "text/plain"}, {"data", encoded}})) ==
          "five cats");
    CHECK(text_of(document({{"type", "text"}, {"media_type", "text/plain"}, {"data", "five cats"}})) ==
          "five cats");
    CHECK(text_of(document({{"type", "content"}, {"content", "five cats"}})) == "five cats");
    Json blocks = Json::array({{{"type", "text"}, {"text", "five"}}, {{"type", "text"}, {"text", "cats"}}});
    CHECK(text_of(document({{"type", "content"}, {"content", blocks}})) == "five\ncats");
    Json titled = document({{"type", "text"}, {"data", "five cats"}});
    titled["title"] = "Pets";
    titled["context"] = "A list.";
    CHECK(text_of(titled) == "Pets\nA list.\nfive cats");
}

TEST_CASE("files of text have any media type but those of other media") {
    for (const char* const type :
         {"text/markdown", "text/csv", "application/json", "application/xml", "application/octet-stream",
          "application/x-yaml", "application/vnd.foo+json"})
        CHECK(text_of(input_file(data_url(type, "a,b"), "")) == "a,b");
    CHECK(text_of(input_file(data_url("text/plain", "\xEF\xBB\xBFgr\xC3\xBC\xC3\x9F"), "")) ==
          "gr\xC3\xBC\xC3\x9F");
    CHECK(text_of(input_file(data_url("text/plain", ""), "empty.txt")) == "empty.txt\n");
    for (const char* const type :
         {"image/png", "image/svg+xml", "application/pdf", "audio/wav", "video/mp4"}) {
        CAPTURE(type);
        CHECK(problem_of(input_file(data_url(type, "text"))) ==
              "file input of type " + std::string(type) +
                  " is not supported by this model; files of text in UTF-8 are");
    }
}

TEST_CASE("binary files are refused by name, whatever their type says") {
    const std::vector<std::string> contents = {"%PDF-1.7\nplain", std::string("a\0b", 3), "\x89PNG\r\n\x1a\n",
                                               "PK\x03\x04\xff",  "\xFF\xFEh\0i\0",       "gr\xFC\xDF"};
    for (const std::string& content : contents)
        CHECK(problem_of(input_file(data_url("text/plain", content))).find("is not supported") !=
              std::string::npos);
    CHECK(problem_of(document({{"type", "base64"}, {"media_type", "application/pdf"}, {"data", "JVBERg=="}}))
              .starts_with("document input of type application/pdf"));
    for (const char* const wrong : {"a", "====", "Zm9v!", "Zm=9v", "data:text/plain;base64,?"}) {
        CAPTURE(wrong);
        CHECK(problem_of(input_file(wrong)) == "`part` has a file that is not base64");
    }
    CHECK(text_of(input_file("Zm9v\r\nYmFy", "")) == "foobar"); // line ends, and no padding
    CHECK(text_of(input_file("Pz8_Pw", "")) == "????");         // the alphabet of URLs
    CHECK(problem_of({{"type", "input_file"}, {"file_url", "https://example.org/a.txt"}})
              .find("does not fetch") != std::string::npos);
    CHECK(problem_of(document({{"type", "url"}, {"url", "https://example.org/a.pdf"}}))
              .find("does not fetch") != std::string::npos);
    CHECK(problem_of({{"type", "input_file"}, {"file_id", "file-1"}}).find("`file-1`") != std::string::npos);
    CHECK(problem_of({{"type", "file"}}) == "file input is not supported by this model");
    CHECK(problem_of({{"type", "file"}, {"file", 5}}) == "file input is not supported by this model");
}

TEST_CASE("a file over the limit is refused with its size") {
    const std::string large(server::api::file_text_bytes_max + 1, 'a');
    CHECK(problem_of(input_file(server::base64(large))).find("4194305 bytes; the maximum is 4194304") !=
          std::string::npos);
    CHECK(!text_of(input_file(server::base64(large.substr(1)))).empty());
}

TEST_CASE("the memory of files is charged to the request") {
    const Json object = Json::object();
    server::Fields fields(object);
    std::size_t asked = 0;
    const server::api::FileTexts files(nullptr, {}, [&](std::size_t bytes) {
        asked += bytes;
        return asked < 10;
    });
    CHECK(files.read(fields, "part", input_file(server::base64("nine byte"), "")) == "nine byte");
    CHECK_FALSE(files.read(fields, "part", input_file(server::base64("nine byte"), "")));
    CHECK(fields.problem()->status == 503);
}

TEST_CASE("files reach the prompt in chats, responses and messages") {
    FakeService service(
        {.chat_template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", .says = "Ok."});
    CHECK(chat_prompt(service, {{"type", "file"},
                                {"file", {{"file_data", server::base64("a = 5")}, {"filename", "x.py"}}}}) ==
          "<user>Read: \nx.py\na = 5");
    CHECK(chat_prompt(service, {{"type", "file"}, {"file", {{"file_data", "data:image/png;base64,AAAA"}}}}) ==
          "file input of type image/png is not supported by this model; files of text in UTF-8 are");
    const auto tokens = [&](const std::string& path, const Json& body) {
        return post_json(service, path, etna::dump_json(body))["input_tokens"];
    };
    const auto response = [&](const Json& part) {
        return tokens("/v1/responses/input_tokens",
                      {{"input", Json::array({{{"role", "user"}, {"content", Json::array({part})}}})}});
    };
    CHECK(response(input_file(server::base64("five cats"))) ==
          response({{"type", "input_text"}, {"text", "notes.txt\nfive cats"}}));
    const auto message = [&](const Json& block) {
        return tokens("/v1/messages/count_tokens",
                      {{"model", "stories"},
                       {"messages", Json::array({{{"role", "user"}, {"content", Json::array({block})}}})}});
    };
    CHECK(message(document(
              {{"type", "base64"}, {"media_type", "text/plain"}, {"data", server::base64("five cats")}})) ==
          message({{"type", "text"}, {"text", "five cats"}}));
}

TEST_CASE("results of tools may hold files of text, and refused files are named by their path") {
    FakeService service({.chat_template = marked_template, .says = "Ok."});
    const Json call = {{"type", "function_call"}, {"call_id", "1"}, {"name", "look"}, {"arguments", "{}"}};
    const auto asked = [&](const Json& part) {
        const Json result = {
            {"type", "function_call_output"}, {"call_id", "1"}, {"output", Json::array({part})}};
        const Json body = {{"input", Json::array({call, result})}, {"max_output_tokens", 5}};
        return service.post(responses_path, etna::dump_json(body));
    };
    CHECK(asked(input_file(server::base64("five cats"))).status == 200);
    CHECK(error_of(asked(input_file(data_url("image/png", "x"))))["param"] == "input[1].output[0]");
    Json block = {{"type", "tool_result"}, {"tool_use_id", "1"}};
    block["content"] = Json::array({document({{"type", "text"}, {"data", "five cats"}})});
    const Json use = {{"type", "tool_use"}, {"id", "1"}, {"name", "look"}, {"input", Json::object()}};
    const Json body = {{"model", "stories"},
                       {"max_tokens", 5},
                       {"messages", Json::array({{{"role", "user"}, {"content", "Go"}},
                                                 {{"role", "assistant"}, {"content", Json::array({use})}},
                                                 {{"role", "user"}, {"content", Json::array({block})}}})}};
    CHECK(service.post("/v1/messages", etna::dump_json(body)).status == 200);
}
