// Fuzzes bodies of chats, completions and responses, from bytes to the generation request. The first byte
// selects the endpoint and the dialect, the rest is the body.

#include "server/responses/request.hpp"

#include "server/openai/generation_call.hpp"
#include "server/responses/items.hpp"
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
void check_call(const openai::GenerationCall& call, const openai::RequestLimits& limits, bool is_chat) {
    require(!call.requests.empty() && call.make_stream && call.make_aggregator);
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
    auto stream = call.make_stream(0, {});
    auto aggregator = call.make_aggregator();
    if (const auto piece = stream->begin())
        aggregator->add(*piece);
    if (const auto piece = stream->take(generate::Finished{}))
        aggregator->add(*piece);
    require(!etna::dump_json(aggregator->result()).empty());
}

/// Returns the chat completion that generates a response.
ApiResult<Json> as_chat(const Json& body) {
    ETNA_TRY(auto request, responses::read_request(body, responses::Purpose::answer));
    require(request.echoed.is_object() && request.input.is_array());
    request.chat["messages"] = responses::messages_of(request.input, request.tool_names);
    return std::move(request.chat);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t bytes) {
    if (bytes == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, bytes - 1);
    auto body = parse_body(text);
    const bool is_response = (data[0] & 4) != 0;
    if (is_response && body)
        body = as_chat(*body);
    if (!body)
        return check_refusal(body.error()), 0;
    const openai::RequestContext context = {.dialect = (data[0] & 1) == 0 ? openai::Dialect::openai
                                                                          : openai::Dialect::ovms,
                                            .limits = {},
                                            .tokenizer = &tokenizer()};
    const bool is_chat = is_response || (data[0] & 2) == 0;
    const auto call = is_chat ? openai::read_chat(*body, context) : openai::read_completion(*body, context);
    if (call) {
        check_call(*call, context.limits, is_chat);
    } else {
        check_refusal(call.error());
    }
    return 0;
}
