// A stored model's defaults for requests.
#include "core/generate/request.hpp"
#include "tests/support/catch.hpp"

using namespace etna;
using generate::Request;
using generate::RequestDefaults;

namespace {

const RequestDefaults defaults = {.max_tokens = 40,
                                  .min_tokens = 20,
                                  .stop = {"end"},
                                  .seed = 7,
                                  .logit_bias = {{.token = 3, .bias = 1.0F}},
                                  .thinking = chat::Thinking::off};

} // namespace

TEST_CASE("an open request gets all defaults") {
    Request request;
    request.prompt = chat::Conversation();
    fill(request, defaults);
    CHECK(request.max_tokens == 40U);
    CHECK(request.min_tokens == 20);
    CHECK(request.stop == std::vector<std::string>{"end"});
    CHECK(request.seed == 7);
    REQUIRE(request.logit_bias.size() == 1);
    CHECK(request.logit_bias[0].token == 3);
    CHECK(std::get<chat::Conversation>(request.prompt).thinking == chat::Thinking::off);
}

TEST_CASE("members that a request sets are not replaced by defaults") {
    Request request;
    chat::Conversation conversation;
    conversation.thinking = chat::Thinking::on;
    request.prompt = conversation;
    request.max_tokens = 30;
    request.min_tokens = 2;
    request.stop = {"."};
    request.seed = 1;
    request.logit_bias = {{.token = 5, .bias = -1.0F}};
    fill(request, defaults);
    CHECK(request.max_tokens == 30U);
    CHECK(request.min_tokens == 2);
    CHECK(request.stop == std::vector<std::string>{"."});
    CHECK(request.seed == 1);
    CHECK(request.logit_bias[0].token == 5);
    CHECK(std::get<chat::Conversation>(request.prompt).thinking == chat::Thinking::on);
}

TEST_CASE("a min_tokens above the request's own max_tokens is left out") {
    Request request;
    request.max_tokens = 5;
    fill(request, defaults);
    CHECK(request.min_tokens == 0);
    request.max_tokens = 20;
    fill(request, defaults);
    CHECK(request.min_tokens == 20);
}
