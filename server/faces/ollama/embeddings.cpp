// POST /api/embed and the legacy /api/embeddings.

#include "server/api/embeddings.hpp"

#include "server/api/answer.hpp"
#include "server/api/model_choice.hpp"
#include "server/api/request_body.hpp"
#include "server/base/fields.hpp"
#include "server/faces/ollama/endpoints.hpp"
#include "server/faces/ollama/keep_alive.hpp"
#include "server/faces/ollama/names.hpp"
#include "server/faces/ollama/options.hpp"
#include "server/faces/ollama/timestamps.hpp"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::ollama {
namespace {

/// A parsed request.
struct EmbedRequest {
    std::string model = {};
    api::EmbeddingCall call = {};
    std::optional<KeepAlive> keep_alive = {};
    api::IgnoredMembers ignored = {};
};

/// Reads a text or a list of texts; empty input only loads the model.
void read_input(Fields& fields, api::EmbeddingCall& call) {
    const Json* const input = fields.any("input");
    call.is_list = input != nullptr && input->is_array();
    for (std::size_t i = 0; call.is_list && i < input->size(); ++i) {
        if (!(*input)[i].is_string())
            return fields.refuse(fmt::format("input[{}]", i), "must be a string", "invalid_type");
    }
    const auto texts = fields.texts("input", api::embedding_inputs_max);
    for (const std::string& text : texts.value_or(std::vector<std::string>())) {
        if (call.is_list || !text.empty())
            call.inputs.emplace_back(text);
    }
}

ApiResult<EmbedRequest> finish(Fields& fields, EmbedRequest request) {
    fields.require("model");
    request.model = fields.text("model").value_or("");
    if (request.model.empty())
        fields.refuse("model", "is empty");
    request.keep_alive = read_keep_alive(fields);
    note_options(fields);
    ETNA_CHECK(fields.status());
    request.ignored = api::ignored_members(fields);
    return request;
}

ApiResult<EmbedRequest> read_embed(const Json& body) {
    Fields fields(body);
    EmbedRequest request;
    read_input(fields, request.call);
    if (const auto dimensions = fields.integer("dimensions", 0, std::numeric_limits<int32_t>::max());
        dimensions.value_or(0) > 0)
        request.call.dimensions = static_cast<uint32_t>(*dimensions);
    if (fields.flag("truncate").value_or(true))
        request.call.overlong = generate::Overlong::truncate;
    return finish(fields, std::move(request));
}

/// The legacy API neither normalises embeddings nor truncates texts.
ApiResult<EmbedRequest> read_embeddings(const Json& body) {
    Fields fields(body);
    EmbedRequest request;
    request.call = {.input_member = "prompt", .normalisation = generate::Normalisation::none};
    if (auto prompt = fields.text("prompt"); prompt && !prompt->empty())
        request.call.inputs.emplace_back(std::move(*prompt));
    return finish(fields, std::move(request));
}

/// The embeddings of a request, and the number of their tokens.
struct EmbeddedTexts {
    Json embeddings = Json::array();
    uint32_t tokens = 0;
};

ApiResult<EmbeddedTexts> embed_texts(api::ActiveRequest& active, EmbedRequest& parsed,
                                     const HttpRequest& request) {
    if (const Status loaded = active.acquire(request.is_client_gone); !loaded)
        return active.report_failure(loaded.error());
    ETNA_CHECK(api::refuse_unknown(active.is_strict(), parsed.ignored));
    EmbeddedTexts texts;
    if (parsed.call.inputs.empty())
        return texts;
    if (parsed.call.dimensions && *parsed.call.dimensions >= generate::embedding_dimensions(*active.model()))
        parsed.call.dimensions.reset(); // more than the model has: ignored, as in Ollama
    ETNA_CHECK(api::check_embeddings(active, parsed.call.dimensions));
    ETNA_TRY(texts.tokens, api::embed(active, std::move(parsed.call), request.is_client_gone,
                                      [&](const generate::Embedding& embedding) {
                                          texts.embeddings.push_back(api::numbers_json(embedding.values));
                                      }));
    return texts;
}

/// `write` builds the body from the embeddings.
ApiResult<HttpReply>
reply(AnswerServices& services, const HttpRequest& request, const RoutedRequest& routed, EmbedRequest parsed,
      Json (*write)(const api::ActiveRequest& active, const std::string& model, EmbeddedTexts texts)) {
    ETNA_TRY(auto name, served_name(services, request, parsed.model));
    api::ActiveRequest active(services, request, routed, "ollama_embed", std::move(name),
                              /*is_streamed=*/false);
    if (parsed.keep_alive && !is_operator(services.options.access, request)) {
        parsed.keep_alive.reset();
        parsed.ignored.without_effect.emplace_back("keep_alive");
    }
    auto texts = embed_texts(active, parsed, request);
    apply(parsed.keep_alive, services, active.client(), active.model_name());
    if (!texts)
        return api::reply_once(active, texts.error(), request, routed);
    HttpReply reply = {.body = dump_json(write(active, parsed.model, std::move(*texts))) + "\n"};
    api::report_ignored(parsed.ignored, reply);
    return api::reply_once(active, std::move(reply), request, routed);
}

} // namespace

ApiResult<HttpReply> embed(AnswerServices& services, const HttpRequest& request,
                           const RoutedRequest& routed) {
    ETNA_TRY(const auto body, parse_body(request));
    ETNA_TRY(auto parsed, read_embed(body));
    return reply(services, request, routed, std::move(parsed),
                 [](const api::ActiveRequest& active, const std::string& model, EmbeddedTexts texts) {
                     return Json({{"model", model},
                                  {"embeddings", std::move(texts.embeddings)},
                                  {"total_duration", nanoseconds(active.elapsed_s())},
                                  {"load_duration", nanoseconds(active.acquired_s())},
                                  {"prompt_eval_count", texts.tokens}});
                 });
}

ApiResult<HttpReply> embeddings(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed) {
    ETNA_TRY(const auto body, parse_body(request));
    ETNA_TRY(auto parsed, read_embeddings(body));
    return reply(services, request, routed, std::move(parsed),
                 [](const api::ActiveRequest& /*active*/, const std::string& /*model*/, EmbeddedTexts texts) {
                     return Json({{"embedding", texts.embeddings.empty() ? Json::array()
                                                                         : std::move(texts.embeddings[0])}});
                 });
}

} // namespace etna::server::ollama
