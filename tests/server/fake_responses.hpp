#pragma once

#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <cstddef>
#include <string>
#include <vector>

// The Responses API as tests ask it.
namespace etna::test {

using server::Json;

inline constexpr const char* responses = "/v1/responses";
/// Shows what the model is given, and knows reasoning and calls.
inline constexpr const char* turns =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
    "</end>{% endfor %}<assistant>{# <tool_call> <think></think> #}";

inline std::string asked(const std::string& input, const std::string& more = "") {
    return R"({"input": ")" + input + R"(", "max_output_tokens": 60, "temperature": 0)" + more + "}";
}

inline Json made(FakeService& service, const std::string& body) {
    const FakeAnswer answer = service.post(responses, body);
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    return etna::parse_json(answer.body);
}

inline Json refused(const FakeAnswer& answer, int status = 400) {
    CAPTURE(answer.body);
    CHECK(answer.status == status);
    return etna::parse_json(answer.body).value("error", Json::object());
}

/// The events of a stream, whose `event:` lines have to say their types.
inline std::vector<Json> events_of(const std::string& stream) {
    std::vector<Json> events;
    for (std::size_t at = stream.find("event: "); at != std::string::npos;
         at = stream.find("event: ", at + 1)) {
        const std::string type = stream.substr(at + 7, stream.find('\n', at) - at - 7);
        const std::size_t data = stream.find("data: ", at) + 6;
        events.push_back(etna::parse_json(stream.substr(data, stream.find('\n', data) - data)));
        CHECK(events.back()["type"] == type);
    }
    return events;
}

inline std::vector<std::string> types_of(const std::vector<Json>& events) {
    std::vector<std::string> types;
    for (const Json& event : events) {
        if (types.empty() || event["type"] != types.back())
            types.push_back(event["type"]);
    }
    return types;
}

/// How much the model would be given: what stands in its prompt shows in its length.
inline std::size_t input_tokens(FakeService& service, const std::string& body) {
    const FakeAnswer answer = service.post("/v1/responses/input_tokens", body);
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    const Json json = etna::parse_json(answer.body);
    CHECK(json["object"] == "response.input_tokens");
    return json["input_tokens"].get<std::size_t>();
}

} // namespace etna::test
