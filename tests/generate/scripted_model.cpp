#include "tests/generate/scripted_model.hpp"

#include "core/store/resolve.hpp"
#include "core/text/tokenizer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_executor.hpp"
#include "tests/support/folders.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

namespace etna::test {

using runtime::LoadedExecutor;

namespace {

store::ModelSource stories() {
    return store::resolve(ETNA_TEST_DATA "/models/stories260K.gguf", "/nonexistent").value();
}

enum class Script : uint8_t { answer, none };

Result<runtime::LoadedExecutor> executor_that_says(const gguf::File& file, const std::string& answer,
                                                   uint32_t context_tokens,
                                                   std::chrono::microseconds step_delay = {},
                                                   Script script = Script::answer) {
    ETNA_TRY(const auto tokenizer, text::Tokenizer::create(file));
    ETNA_TRY(auto tokens, tokenizer.encode(answer, {.bos = text::AddBos::never}));
    tokens.push_back(tokenizer.eos().value());
    FakeOptions fake;
    fake.limits.vocabulary = tokenizer.size();
    fake.limits.candidates_max = 64;
    fake.limits.context_tokens = context_tokens;
    fake.step_delay = step_delay;
    fake.limits.groups = {{.page_count = 4096}};
    if (script == Script::answer)
        fake.scripts = {{.prompt = std::nullopt, .continuation = std::move(tokens)}};
    return runtime::LoadedExecutor{.device = nullptr,
                                   .executor = std::make_unique<FakeExecutor>(std::move(fake)),
                                   .device_name = "fake"};
}

} // namespace

generate::Model model_that_says(const std::string& answer, const std::string& chat_template,
                                uint32_t context_tokens) {
    const auto factory = [&](const gguf::File& file, const runtime::ExecutorOptions&) {
        return executor_that_says(file, answer, context_tokens);
    };
    auto model =
        generate::Model::load(stories(), {.chat_template = {.name = {}, .text = chat_template}}, factory);
    REQUIRE(model.has_value());
    return std::move(model).value();
}

generate::Model model_without_script(uint32_t context_tokens) {
    const auto factory = [&](const gguf::File& file, const runtime::ExecutorOptions&) {
        return executor_that_says(file, "", context_tokens, {}, Script::none);
    };
    auto model = generate::Model::load(stories(), {}, factory);
    REQUIRE(model.has_value());
    return std::move(model).value();
}

generate::Model model_that_says_with_draft(const std::string& answer, const std::string& draft) {
    int loaded = 0; // the draft model comes first
    const auto factory = [&](const gguf::File& file, const runtime::ExecutorOptions&) {
        constexpr uint32_t context_tokens = 256;
        // The model's steps take much longer than the draft model's, because measured step times decide on
        // drafting.
        const bool is_draft = ++loaded == 1;
        return executor_that_says(file, is_draft ? draft : answer, context_tokens,
                                  std::chrono::milliseconds(is_draft ? 0 : 5));
    };
    const store::ModelSource source = stories();
    auto model = generate::Model::load(source, {.draft = &source}, factory);
    REQUIRE(model.has_value());
    REQUIRE(model->runtime().draft_models().has_model);
    return std::move(model).value();
}

std::vector<TokenId> token_range(TokenId begin, TokenId end) {
    std::vector<TokenId> tokens(end - begin);
    std::iota(tokens.begin(), tokens.end(), begin);
    return tokens;
}

generate::Request raw(std::string prompt) {
    generate::Request request;
    request.prompt = std::move(prompt);
    return request;
}

generate::Sink Events::sink() {
    return [this](const generate::Event& event) {
        if (const auto* last = std::get_if<generate::Finished>(&event)) {
            finished.push_back(*last);
        } else if (const auto* token = std::get_if<generate::TokenDelta>(&event)) {
            tokens.push_back(*token);
        } else if (const auto* of_prompt = std::get_if<generate::PromptTokenDelta>(&event)) {
            prompt.push_back(*of_prompt);
        } else {
            if (const auto* delta = std::get_if<generate::TextDelta>(&event))
                deltas.push_back(delta->text);
        }
        return std::max(deltas.size(), tokens.size()) >= stop_after ? generate::SinkResult::stop
                                                                    : generate::SinkResult::proceed;
    };
}

std::string Events::text() const {
    std::string all;
    for (const std::string& delta : deltas)
        all += delta;
    return all;
}

} // namespace etna::test
