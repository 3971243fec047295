// Fuzzes bodies of chats, completions, responses, messages and requests of Ollama's and llama.cpp's APIs,
// from bytes to the generation request. The first byte selects the endpoint and the dialect, the rest is the
// body.

#include "server/faces/responses/request.hpp"

#include "server/api/request_body.hpp"
#include "server/faces/anthropic/request.hpp"
#include "server/faces/llamacpp/request.hpp"
#include "server/faces/llamacpp/settings.hpp"
#include "server/faces/ollama/answer_pieces.hpp"
#include "server/faces/ollama/request.hpp"
#include "server/faces/openai/generation_request.hpp"
#include "server/faces/responses/items.hpp"
#include "tests/text/small_vocabularies.hpp"

#include <cstdint>
#include <cstdlib>

using namespace etna;
using namespace etna::server;

namespace {

void require(bool holds) {
    if (!holds)
        std::abort();
}

const text::Tokenizer& tokenizer() {
    static const text::Tokenizer small = test::build(test::small_bpe()).value();
    return small;
}

void check_refusal(const ApiError& error) {
    require(error.status == 400 && !error.message.empty() && !error_json(error).empty());
}

/// Checks the guarantees of an accepted request to the core.
void check_call(const api::GenerationCall& call, const api::RequestLimits& limits, bool is_chat) {
    require(!call.requests.empty() && !call.prompt_member.empty());
    uint64_t answers = 0;
    for (const generate::Request& request : call.requests) {
        require(request.choices >= 1 && request.choices <= limits.choices_max);
        require(!is_chat || request.max_tokens != 0U); // a completion may only score its prompt
        require(request.logprobs.value_or(0) <= generate::logprobs_max);
        for (const std::string& stop : request.stop)
            require(!stop.empty());
        for (const sampling::LogitBias& bias : request.logit_bias)
            require(bias.token < tokenizer().size());
        answers += request.beams ? request.beams->width : request.best_of.value_or(request.choices);
    }
    require(answers <= limits.answers_max);
}

/// Writes an answer without text.
void check_writer(const openai::GenerationRequest& request) {
    require(request.make_stream && request.write_choice);
    auto stream = request.make_stream(0, {});
    stream->begin();
    require(stream->take(generate::Finished{}).has_value());
    generate::CollectedAnswer answer(request.collected);
    answer.take(generate::Finished{});
    require(!etna::dump_json(request.write_choice(0, {}, answer)).empty());
}

ApiResult<api::GenerationCall> read_response(const Json& body, const api::RequestContext& context) {
    ETNA_TRY(const auto request, responses::read_request(body, responses::Purpose::answer));
    require(request.echoed.is_object() && request.input.is_array());
    return responses::generation_call(request, responses::messages_of(request.input, request.tools.names),
                                      context);
}

ApiResult<api::GenerationCall> read_message(const Json& body, const api::RequestContext& context) {
    static const Seal seal = Seal::temporary().value();
    ETNA_TRY(auto request, anthropic::read_messages_request(body, "", anthropic::Purpose::answer,
                                                            anthropic::ThinkingSeal(seal, {}), context));
    return std::move(request.call);
}

ApiResult<api::GenerationCall> read_ollama(const Json& body, ollama::Form form,
                                           const api::RequestContext& context) {
    ETNA_TRY(const auto head, ollama::read_head(body, form));
    require(!head.model.empty());
    if (head.keep_alive && head.keep_alive->time)
        require(head.keep_alive->time->count() >= 0);
    ETNA_TRY(auto call, ollama::read_request(body, form, context));
    ollama::AnswerPieces pieces(form, std::nullopt);
    generate::CollectedAnswer answer;
    answer.take(generate::Finished{});
    require(pieces.take(generate::Finished{}, answer).contains("done_reason"));
    require(!etna::dump_json(ollama::answer_members(form, answer)).empty());
    return call;
}

ApiResult<api::GenerationCall> read_llamacpp(const Json& body, bool is_infill,
                                             const api::RequestContext& context) {
    constexpr text::InfillTokens gap = {
        .prefix = 1, .suffix = 2, .middle = 3, .repository = 4, .file_separator = 5};
    ETNA_TRY(auto request, is_infill ? llamacpp::read_infill(body, context, gap)
                                     : llamacpp::read_completion(body, context));
    const generate::Request& first = request.call.requests.front();
    require(llamacpp::settings_json(with_overrides({}, first.sampling), first, request).is_object());
    return std::move(request.call);
}

/// Reads the body by the endpoint that `selector` names.
ApiResult<api::GenerationCall> read_body(const Json& body, uint8_t selector,
                                         const api::RequestContext& context) {
    if ((selector & 16) != 0)
        return read_ollama(body, (selector & 2) == 0 ? ollama::Form::chat : ollama::Form::generate, context);
    if ((selector & 64) != 0)
        return read_llamacpp(body, (selector & 2) != 0, context);
    if ((selector & 8) != 0)
        return read_message(body, context);
    if ((selector & 4) != 0)
        return read_response(body, context);
    ETNA_TRY(auto request,
             (selector & 2) == 0 ? openai::read_chat(body, context) : openai::read_completion(body, context));
    check_writer(request);
    return std::move(request.call);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t bytes) {
    if (bytes == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, bytes - 1);
    const auto body = parse_body(text);
    if (!body)
        return check_refusal(body.error()), 0;
    const uint8_t selector = data[0];
    const api::RequestContext context = {.dialect =
                                             (selector & 1) == 0 ? api::Dialect::openai : api::Dialect::ovms,
                                         .limits = {},
                                         .tokenizer = &tokenizer()};
    const bool is_completion = (selector & 14) == 2 || (selector & 64) != 0;
    if (const auto call = read_body(*body, selector, context)) {
        check_call(*call, context.limits, !is_completion);
    } else {
        check_refusal(call.error());
    }
    return 0;
}
