#include "server/openai/annotations.hpp"

#include "server/http/sse.hpp"

#include <array>
#include <utility>

namespace etna::server::openai {
namespace {

struct PromptNote {
    std::string_view name;
    bool Delivery::* is_wanted;
    Json (*value)(const generate::Generation& generation, std::size_t prompt);
};

Json text_of_prompt(const generate::Generation& generation, std::size_t prompt) {
    return generation.prompt_text(prompt);
}

Json tokens_of_prompt(const generate::Generation& generation, std::size_t prompt) {
    Json tokens = Json::array();
    for (const TokenId token : generation.prompt_tokens(prompt))
        tokens.push_back(token);
    return tokens;
}

constexpr std::array prompt_notes = {PromptNote{"formatted_prompt", &Delivery::tells_prompt, text_of_prompt},
                                     PromptNote{"token_ids", &Delivery::tells_tokens, tokens_of_prompt}};

} // namespace

std::string annotation_frame(std::string_view name, const Json& value) {
    return sse::write({.data = text_of(value), .event = std::string(name), .comments = {text_of(value)}});
}

void tell_prompts(const Answering& answering,
                  const std::function<void(std::string_view name, Json value)>& tell) {
    for (const PromptNote& note : prompt_notes) {
        if (!(answering.call.delivery.*note.is_wanted))
            continue;
        for (std::size_t prompt = 0; prompt < answering.prompts; ++prompt) {
            Json value = note.value(*answering.generation, prompt);
            if (answering.prompts > 1)
                value = Json({{"index", prompt}, {note.name, std::move(value)}});
            tell(note.name, std::move(value));
        }
    }
}

Json annotations_of(const Answering& answering) {
    Json all;
    tell_prompts(answering, [&](std::string_view name, Json value) {
        Json& told = all[std::string(name)];
        if (answering.prompts > 1) {
            told.push_back(std::move(value));
        } else {
            told = std::move(value);
        }
    });
    if (answering.call.delivery.tells_timing)
        all["timing"] = answering.timing();
    return all;
}

} // namespace etna::server::openai
