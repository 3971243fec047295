#include "tests/server/api_client.hpp"

#include "core/base/json.hpp"
#include "tests/support/catch.hpp"

namespace etna::test {

server::HttpRequest post_request(const std::string& path, const std::string& body) {
    return {.method = "POST", .path = path, .headers = {{"host", "127.0.0.1"}}, .body = body};
}

FakeAnswer post_strictly(FakeService& service, const std::string& path, const std::string& body) {
    server::HttpRequest request = post_request(path, body);
    request.headers["etna-strict"] = "1";
    return service.ask(request);
}

FakeAnswer send_as(FakeService& service, const std::string& key, const std::string& method,
                   const std::string& path, const std::string& body) {
    return service.ask({.method = method,
                        .path = path,
                        .headers = {{"host", "127.0.0.1"}, {"authorization", "Bearer " + key}},
                        .body = body});
}

Json json_of(const FakeAnswer& answer, int status) {
    CAPTURE(answer.body);
    REQUIRE(answer.status == status);
    return etna::parse_json(answer.body);
}

Json post_json(FakeService& service, const std::string& path, const std::string& body) {
    return json_of(service.post(path, body));
}

Json error_of(const FakeAnswer& answer, int status) {
    CAPTURE(answer.body);
    CHECK(answer.status == status);
    return etna::parse_json(answer.body).value("error", Json::object());
}

Json choice_of(const FakeAnswer& answer) {
    return json_of(answer)["choices"][0];
}

std::string header_of(const FakeAnswer& answer, const std::string& name) {
    const auto header = answer.headers.find(name);
    return header == answer.headers.end() ? "" : header->second;
}

std::string ignored_fields(const FakeAnswer& answer) {
    return header_of(answer, "etna-ignored");
}

bool contains(const FakeAnswer& answer, std::string_view text) {
    return answer.body.find(text) != std::string::npos;
}

std::vector<Json> chunks_of(const FakeAnswer& stream) {
    std::vector<Json> chunks;
    for (std::size_t at = stream.body.find("data: {"); at != std::string::npos;
         at = stream.body.find("data: {", at + 1))
        chunks.push_back(etna::parse_json(stream.body.substr(at + 6, stream.body.find('\n', at) - at - 6)));
    return chunks;
}

std::vector<Json> pieces_of(const FakeAnswer& stream) {
    std::vector<Json> pieces;
    for (const Json& chunk : chunks_of(stream)) {
        if (!chunk["choices"].empty())
            pieces.push_back(chunk["choices"][0]);
    }
    return pieces;
}

std::string prompt_of(FakeService& service, const std::string& body) {
    return etna::parse_json(service.post("/apply-template", body).body).value("prompt", "none");
}

std::string response_body(const std::string& input, const std::string& more) {
    return R"({"input": ")" + input + R"(", "max_output_tokens": 60, "temperature": 0)" + more + "}";
}

Json create_response(FakeService& service, const std::string& body) {
    return json_of(service.post(responses_path, body));
}

std::string response_path(const Json& response) {
    return std::string(responses_path) + "/" + response["id"].get<std::string>();
}

std::string previous_response(const Json& response) {
    return R"(, "previous_response_id": ")" + response["id"].get<std::string>() + "\"";
}

std::vector<Json> events_of(const std::string& stream) {
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

std::vector<std::string> types_of(const std::vector<Json>& events) {
    std::vector<std::string> types;
    for (const Json& event : events) {
        if (types.empty() || event["type"] != types.back())
            types.push_back(event["type"]);
    }
    return types;
}

std::size_t input_tokens(FakeService& service, const std::string& body) {
    const Json json = json_of(service.post("/v1/responses/input_tokens", body));
    CHECK(json["object"] == "response.input_tokens");
    return json["input_tokens"].get<std::size_t>();
}

std::string new_conversation(FakeService& service) {
    return etna::parse_json(service.post(conversations_path, "{}").body)["id"];
}

Json conversation_items(FakeService& service, const std::string& conversation) {
    return etna::parse_json(
        service.get(std::string(conversations_path) + "/" + conversation + "/items").body)["data"];
}

} // namespace etna::test
