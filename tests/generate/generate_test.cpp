// One request from prompt to events, on the fake executor behind stories260K's tokenizer.

#include "core/text/tokenizer.hpp"
#include "tests/generate/answers.hpp"
#include "tests/support/catch.hpp"

using namespace etna;
using namespace etna::generate;
using test::Events;
using test::model_that_says;
using test::raw;

TEST_CASE("text arrives in pieces, the end once and last") {
    const Model model = model_that_says("a little girl and her dog");
    Events events;
    REQUIRE(generate::generate(model, raw("Once upon"), events.sink()).has_value());
    REQUIRE(events.text() == " a little girl and her dog");
    REQUIRE(events.deltas.size() > 3);
    REQUIRE(events.finished.size() == 1);
    const Finished& finished = events.finished.front();
    REQUIRE(finished.finish_reason == FinishReason::stop);
    REQUIRE(finished.prompt_tokens == model.tokenizer().encode("Once upon", {})->size());
    REQUIRE(finished.tokens ==
            *model.tokenizer().encode("a little girl and her dog", {.bos = text::AddBos::never}));
}

TEST_CASE("characters of several bytes arrive whole") {
    const std::string answer = "snow \xe2\x98\x83 and \xf0\x9f\x90\xb6!"; // spelled with byte tokens
    const Model model = model_that_says(answer);
    Events events;
    REQUIRE(generate::generate(model, raw("x"), events.sink()).has_value());
    REQUIRE(events.text() == " " + answer);
    for (const std::string& delta : events.deltas)
        CHECK((static_cast<unsigned char>(delta.front()) & 0xc0) != 0x80); // none begins inside a character
}

TEST_CASE("a stop string ends the answer wherever tokens were cut") {
    const std::string answer = "one two three";
    const Model model = model_that_says(answer);
    for (std::size_t begin = 1; begin < answer.size(); ++begin) {
        Events events;
        Request request = raw("x");
        request.stop = {answer.substr(begin, 3)};
        CAPTURE(request.stop.front());
        REQUIRE(generate::generate(model, request, events.sink()).has_value());
        CHECK(events.text() == " " + answer.substr(0, answer.find(request.stop.front())));
        CHECK(events.finished.at(0).finish_reason == FinishReason::stop);
    }
    Events events;
    Request request = raw("x");
    request.stop = {""};
    REQUIRE(generate::generate(model, request, events.sink()).error().kind == ErrorKind::invalid_argument);
}

TEST_CASE("the sink and the caller can end the generation") {
    const Model model = model_that_says("a little girl and her dog");
    Events events;
    events.stop_after = 2;
    REQUIRE(generate::generate(model, raw("x"), events.sink()).has_value());
    REQUIRE(events.deltas.size() == 2);
    REQUIRE(events.finished.at(0).finish_reason == FinishReason::cancelled);

    Events none;
    REQUIRE(generate::generate(model, raw("x"), none.sink(), [] { return true; }).has_value());
    REQUIRE(none.deltas.empty());
    REQUIRE(none.finished.at(0).finish_reason == FinishReason::cancelled);
}

TEST_CASE("prompts that cannot be served are refused before anything is generated") {
    const Model model = model_that_says("x");
    Events events;
    std::string longer;
    for (int i = 0; i < 300; ++i)
        longer += "dog ";
    const Error error = generate::generate(model, raw(longer), events.sink()).error();
    REQUIRE(error.kind == ErrorKind::context_exceeded);
    REQUIRE(error.message.find("the context holds 256") != std::string::npos);
    REQUIRE(events.finished.empty());
    REQUIRE(events.deltas.empty());
}

TEST_CASE("one model serves again, and an empty prompt is the begin token alone") {
    const Model model = model_that_says("dog");
    for (int i = 0; i < 3; ++i) {
        Events events;
        REQUIRE(generate::generate(model, raw(""), events.sink()).has_value());
        REQUIRE(events.text() == "dog"); // nothing stands before it, so the space goes
        REQUIRE(events.finished.at(0).prompt_tokens == 1);
    }
}
