// POST /v1/embeddings: inputs, formats, usage and errors.
#include "core/base/json.hpp"
#include "server/base/seal.hpp"
#include "tests/server/api_client.hpp"
#include "tests/server/echo.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* embeddings_path = "/v1/embeddings";

/// A request with `input`, in JSON; `more` continues the object.
std::string embeddings_body(const std::string& input, const std::string& more = "") {
    return R"({"model": "stories", "input": )" + input + more + "}";
}

std::vector<float> values_of(const Json& embedding) {
    return embedding["embedding"].get<std::vector<float>>();
}

double length_of(const std::vector<float>& values) {
    double sum = 0;
    for (const float value : values)
        sum += double{value} * value;
    return std::sqrt(sum);
}

} // namespace

TEST_CASE("texts are embedded in order and usage counts their tokens") {
    FakeService service({});
    const Json one = post_json(service, embeddings_path, embeddings_body(R"("Once upon a time")"));
    CHECK((one["object"] == "list" && one["model"] == "stories"));
    REQUIRE(one["data"].size() == 1);
    CHECK((one["data"][0]["object"] == "embedding" && one["data"][0]["index"] == 0));
    CHECK(std::abs(length_of(values_of(one["data"][0])) - 1) < 1e-5);
    const Json tokens = post_json(service, "/tokenize", R"({"prompt": "Once upon a time"})");
    CHECK(one["usage"]["prompt_tokens"] == tokens["count"]);
    CHECK(one["usage"]["total_tokens"] == tokens["count"]);

    const Json many =
        post_json(service, embeddings_path, embeddings_body(R"(["The end", "Once upon a time", "The end"])"));
    REQUIRE(many["data"].size() == 3);
    CHECK(values_of(many["data"][1]) == values_of(one["data"][0]));
    CHECK(values_of(many["data"][0]) == values_of(many["data"][2]));
    CHECK(values_of(many["data"][0]) != values_of(many["data"][1]));

    const std::string ids = etna::dump_json(tokens["tokens"]);
    CHECK(values_of(post_json(service, embeddings_path, embeddings_body(ids))["data"][0]) ==
          values_of(one["data"][0]));
    const Json lists = post_json(service, embeddings_path, embeddings_body("[" + ids + ", " + ids + "]"));
    REQUIRE(lists["data"].size() == 2);
    CHECK(values_of(lists["data"][1]) == values_of(one["data"][0]));
}

TEST_CASE("embeddings are encoded in base64 and reduced to `dimensions`") {
    FakeService service({});
    const auto numbers =
        values_of(post_json(service, embeddings_path, embeddings_body(R"("Hi")"))["data"][0]);
    const Json encoded =
        post_json(service, embeddings_path, embeddings_body(R"("Hi")", R"(, "encoding_format": "base64")"));
    CHECK(encoded["data"][0]["embedding"] ==
          server::base64({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)}));
    const auto two = values_of(
        post_json(service, embeddings_path, embeddings_body(R"("Hi")", R"(, "dimensions": 2)"))["data"][0]);
    REQUIRE(two.size() == 2);
    CHECK(std::abs(length_of(two) - 1) < 1e-5);
    CHECK(std::abs(two[0] * numbers[1] - two[1] * numbers[0]) < 1e-5); // the same direction
}

TEST_CASE("errors of embeddings name the member") {
    FakeService service({});
    const auto error_path = [&](const std::string& body) {
        return error_of(service.post(embeddings_path, body)).value("param", "none");
    };
    CHECK(error_path(R"({"model": "stories"})") == "input");
    CHECK(error_path(embeddings_body("5")) == "input");
    CHECK(error_path(embeddings_body("[]")) == "input");
    CHECK(error_path(embeddings_body(R"(["a", 5])")) == "input[1]");
    CHECK(error_path(embeddings_body("[99999999]")) == "input[0]");
    CHECK(error_path(embeddings_body(R"("a")", R"(, "dimensions": 0)")) == "dimensions");
    CHECK(error_path(embeddings_body(R"("a")", R"(, "dimensions": 100000)")) == "dimensions");
    CHECK(error_path(embeddings_body(R"("a")", R"(, "encoding_format": "hex")")) == "encoding_format");
    CHECK(error_path(embeddings_body(R"("a")", R"(, "priority": 1.5)")) == "priority");
    std::string long_text;
    for (int i = 0; i < 5000; ++i)
        long_text += "word ";
    const Json error =
        error_of(service.post(embeddings_path, embeddings_body(R"(["a", ")" + long_text + "\"]")));
    CHECK(error["param"] == "input[1]");
    CHECK(error["code"] == "context_length_exceeded");
    CHECK(error["message"].get<std::string>().starts_with("`input[1]`: "));
    CHECK(error_of(service.post(embeddings_path, R"({"model": "gone", "input": "a"})"), 404)["code"] ==
          "model_not_found");
    std::string many = "[\"a\"";
    for (int i = 0; i < 2048; ++i)
        many += ", \"a\"";
    CHECK(error_path(embeddings_body(many + "]")) == "input");
    CHECK(ignored_fields(service.post(
              embeddings_path, embeddings_body(R"("a")", R"(, "user": "u", "odd": 1)"))) == "odd, user");
}

TEST_CASE("the texts of a request for embeddings have its priority in the engine") {
    FakeService service({.prepare = [](FakeOptions& fake, int) {
        fake.step_delay = std::chrono::milliseconds(20);
        fake.limits.sequences_max = 1;
    }});
    REQUIRE(post_json(service, embeddings_path, embeddings_body(R"("Hi")"))["data"].size() == 1);
    const auto engine = service.service().models.find_loaded("stories");
    std::string texts = "\"Once upon a time\"";
    for (int i = 0; i < 20; ++i)
        texts += ", \"The end\"";
    for (const int priority : {4, -4}) {
        std::thread client([&] {
            service.post(embeddings_path,
                         embeddings_body("[" + texts + "]", fmt::format(R"(, "priority": {})", priority)));
        });
        CHECK(eventually([&] {
            const auto waiting = engine->engine().load().waiting_prioritized;
            return priority > 0 ? waiting.lowered > 0 : waiting.raised > 0;
        }));
        client.join();
    }
}
