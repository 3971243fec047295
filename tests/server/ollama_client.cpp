#include "tests/server/ollama_client.hpp"

#include "core/base/json.hpp"
#include "tests/support/catch.hpp"

namespace etna::test {

std::string ollama_chat(const std::string& text, const std::string& more) {
    return ollama_messages(R"({"role": "user", "content": )" + etna::dump_json(text) + "}", more);
}

std::string ollama_messages(const std::string& messages, const std::string& more) {
    return R"({"model": "stories", "messages": [)" + messages + "]" + more + "}";
}

std::string ollama_prompt(const std::string& text, const std::string& more) {
    return R"({"model": "stories", "prompt": )" + etna::dump_json(text) + more + "}";
}

std::vector<Json> lines_of(const FakeAnswer& stream) {
    CAPTURE(stream.body);
    REQUIRE(stream.body.ends_with("\n"));
    std::vector<Json> lines;
    for (std::size_t begin = 0; begin < stream.body.size();) {
        const std::size_t end = stream.body.find('\n', begin);
        lines.push_back(etna::parse_json(stream.body.substr(begin, end - begin)));
        REQUIRE(lines.back().is_object());
        begin = end + 1;
    }
    return lines;
}

std::string ollama_error(const FakeAnswer& answer, int status) {
    CAPTURE(answer.body);
    CHECK(answer.status == status);
    const Json json = etna::parse_json(answer.body);
    REQUIRE((json.is_object() && json.size() == 1 && json["error"].is_string()));
    return json["error"];
}

} // namespace etna::test
