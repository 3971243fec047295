// Prompts that mix texts and tokens.

#include "core/generate/generation.hpp"
#include "tests/generate/scripted_model.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::generate;
using etna::test::token_range;

namespace {

constexpr uint32_t small_context = 40;

using PartTokens = std::vector<TokenId>;

Request of_parts(std::vector<PromptPart> parts) {
    Request request;
    request.prompt = std::move(parts);
    request.max_tokens = 1;
    return request;
}

/// The tokens of the prompt as the model gets it.
PartTokens parts_prompt(const Model& model, const Request& request) {
    const auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    const auto tokens = generation->prompt_tokens();
    return {tokens.begin(), tokens.end()};
}

PartTokens part_tokens(const Model& model, const std::string& text, text::SpecialTokens special) {
    return model.file().tokenizer.encode(text, {.special = special, .bos = text::AddBos::never}).value();
}

} // namespace

TEST_CASE("parts of a prompt are tokenized one by one") {
    const Model model = test::model_without_script(small_context);
    PartTokens expected = {model.file().tokenizer.bos().value()};
    const auto add = [&](const PartTokens& more) {
        expected.insert(expected.end(), more.begin(), more.end());
    };
    add(part_tokens(model, "Once</s>", text::SpecialTokens::literal));
    add({7, 8});
    add(part_tokens(model, "upon</s>", text::SpecialTokens::parse));
    CHECK(expected.back() == model.file().tokenizer.eos());
    CHECK(parts_prompt(model, of_parts({{.content = "Once</s>",
                                         .special = text::SpecialTokens::literal,
                                         .bos = text::AddBos::as_model_says},
                                        {.content = PartTokens{7, 8}},
                                        {.content = "upon</s>"}})) == expected);
}

TEST_CASE("a part that may lose its start makes room for the others") {
    const Model model = test::model_without_script(small_context);
    const auto prompt = [&](TokenId first_length, TokenId second_length) {
        return parts_prompt(
            model, of_parts({{.content = token_range(5, 5 + first_length), .may_lose_start = true},
                             {.content = token_range(100, 100 + second_length), .may_lose_start = true},
                             {.content = token_range(200, 220)}}));
    };
    const auto together = [](PartTokens all, const PartTokens& second, const PartTokens& third) {
        all.insert(all.end(), second.begin(), second.end());
        all.insert(all.end(), third.begin(), third.end());
        return all;
    };
    CHECK(prompt(9, 10) == together(token_range(5, 14), token_range(100, 110),
                                    token_range(200, 220))); // 39 and one of the answer
    CHECK(prompt(10, 10) == together(token_range(6, 15), token_range(100, 110), token_range(200, 220)));
    CHECK(prompt(10, 25) == together({}, token_range(106, 125), token_range(200, 220)));
    const auto refused =
        Generation::begin(model, of_parts({{.content = token_range(5, 45)},
                                           {.content = token_range(100, 110), .may_lose_start = true}}));
    REQUIRE(!refused.has_value());
    CHECK(refused.error().kind == ErrorKind::context_exceeded);
}

TEST_CASE("tokens outside the vocabulary are refused in a part, too") {
    const Model model = test::model_without_script(small_context);
    const auto refused = Generation::begin(model, of_parts({{.content = PartTokens{1U << 30}}}));
    REQUIRE(!refused.has_value());
    CHECK(refused.error().kind == ErrorKind::invalid_argument);
}
