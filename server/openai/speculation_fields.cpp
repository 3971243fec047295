#include "server/openai/generation_fields.hpp"

namespace etna::server::openai {

void read_speculation(Fields& fields, generate::Request& request) {
    const auto tokens = fields.integer("num_assistant_tokens", 0, engine::drafts_max);
    const auto confidence = fields.number("assistant_confidence_threshold", 0, 1);
    if (tokens && confidence)
        fields.refuse("assistant_confidence_threshold", "excludes num_assistant_tokens; give one of them");
    if (tokens)
        request.speculation.tokens_max = static_cast<uint32_t>(*tokens);
    if (confidence)
        request.speculation.confidence_min = static_cast<float>(*confidence);
    if (const auto ngram = fields.integer("max_ngram_size", 0, engine::ngram_max))
        request.speculation.ngram_max = static_cast<uint32_t>(*ngram);
}

void read_prediction(Fields& fields, generate::Request& request) {
    const Json* const prediction = fields.object("prediction");
    if (prediction == nullptr)
        return;
    Fields within(*prediction, "prediction");
    within.require("type");
    within.choice("type", {"content"});
    within.require("content");
    const Json* const content = within.any("content");
    if (content != nullptr && content->is_string()) {
        request.prediction = content->get<std::string>();
    } else if (content != nullptr && content->is_array()) {
        for (const Json& part : *content) {
            const bool is_text = part.is_object() && part.value("type", Json()) == "text" &&
                                 part.contains("text") && part["text"].is_string();
            if (!is_text) {
                within.refuse("content", "must be a text, or a list of parts of type `text`");
                break;
            }
            request.prediction += part["text"].get<std::string>();
        }
    } else if (content != nullptr) {
        within.refuse("content", "must be a text, or a list of parts of type `text`");
    }
    if (within.problem())
        fields.adopt(*within.problem());
    else
        fields.adopt_unknown(within.unknown());
}

} // namespace etna::server::openai
