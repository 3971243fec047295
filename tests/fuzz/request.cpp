// Bodies of chat and completion requests, from bytes to what is generated. The first byte chooses the
// endpoint and the dialect, the rest is the body.

#include "server/openai/chat_request.hpp"
#include "server/openai/completion_request.hpp"
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

/// What an accepted request promises to the core.
void check_call(const openai::GenerationCall& call, const openai::RequestLimits& limits) {
    require(!call.requests.empty() && call.writer && call.whole);
    uint64_t answers = 0;
    for (const generate::Request& request : call.requests) {
        require(request.choices >= 1 && request.choices <= limits.choices_max);
        require(!request.max_tokens || *request.max_tokens >= 1);
        require(request.logprobs.value_or(0) <= generate::logprobs_max);
        for (const std::string& stop : request.stop)
            require(!stop.empty());
        for (const sampling::LogitBias& bias : request.logit_bias)
            require(bias.token < tokenizer().size());
        answers += request.choices;
    }
    require(answers <= limits.answers_max);
    auto writer = call.writer(0, {});
    auto whole = call.whole();
    if (const auto piece = writer->begin())
        whole->add(*piece);
    if (const auto piece = writer->take(generate::Finished{}))
        whole->add(*piece);
    require(!text_of(whole->result()).empty());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t bytes) {
    if (bytes == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, bytes - 1);
    const auto body = parse_body(text);
    if (const auto* error = std::get_if<ApiError>(&body))
        return check_refusal(*error), 0;
    const openai::RequestContext context = {.dialect = (data[0] & 1) == 0 ? openai::Dialect::openai
                                                                          : openai::Dialect::ovms,
                                            .limits = {},
                                            .tokenizer = &tokenizer()};
    const bool is_chat = (data[0] & 2) == 0;
    const auto call = is_chat ? openai::read_chat(std::get<Json>(body), context)
                              : openai::read_completion(std::get<Json>(body), context);
    if (const auto* error = std::get_if<ApiError>(&call)) {
        check_refusal(*error);
    } else {
        check_call(std::get<openai::GenerationCall>(call), context.limits);
    }
    return 0;
}
