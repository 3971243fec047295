#include "server/openai/answering.hpp"

#include "server/ids.hpp"

#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::openai {

std::optional<ApiError> Answering::read() {
    auto result = kind->read(body, {.dialect = dialect,
                                    .limits = service->options.limits,
                                    .tokenizer = &model->tokenizer(),
                                    .can_fill_gaps = model->infill_tokens().has_value()});
    if (auto* error = std::get_if<ApiError>(&result))
        return std::move(*error);
    call = std::get<GenerationCall>(std::move(result));
    body = nullptr;
    if (is_strict && !call.delivery.ignored.empty())
        return ApiError{.status = 400,
                        .message = fmt::format("unknown: {}", fmt::join(call.delivery.ignored, ", ")),
                        .param = call.delivery.ignored.front(),
                        .code = "unknown_parameter"};
    const sampling::Parameters defaults = with_wishes(openai_defaults(), model->recommended_sampling());
    for (generate::Request& request : call.requests) {
        request.sampling_defaults = defaults;
        request.unread_max = service->options.unread_max;
        request.now_unix_s = std::time(nullptr);
        request.cache_salt ^= cache_salt;
    }
    return std::nullopt;
}

std::optional<ApiError> Answering::begin() {
    std::optional<ApiError> refusal = read();
    if (!refusal) {
        const std::size_t prompts = call.requests.size();
        auto begun = generate::Generation::begin_all(*model, std::move(call.requests));
        if (begun) {
            generation.emplace(std::move(*begun));
            usage.emplace(*generation, prompts);
            log_prompts(prompts);
            head = {.id = new_id(kind->id_prefix),
                    .object = std::string(call.delivery.is_streamed ? kind->chunk_object : kind->object),
                    .created_unix_s = std::time(nullptr),
                    .model = model_name,
                    .seed = generation->seed()};
            return std::nullopt;
        }
        discard_lost(begun.error());
        refusal = api_error(begun.error());
        if (refusal->status == 400 && refusal->message.find("but the context holds") != std::string::npos) {
            refusal->code = "context_length_exceeded";
            refusal->param = std::string(kind->prompt_member);
        }
    }
    in_flight->set_status(refusal->status);
    return refusal;
}

void Answering::log_prompts(std::size_t prompts) const {
    for (std::size_t prompt = 0; service->options.logs_prompts && prompt < prompts; ++prompt)
        service->log(prompt_line(service->options.log_format, request_id, generation->prompt_text(prompt)));
}

Status Answering::run(const std::function<bool(const Json&)>& deliver,
                      const std::function<bool()>& is_unwanted) {
    std::vector<std::unique_ptr<ChoiceWriter>> writers;
    for (uint32_t choice = 0; choice < generation->choices(); ++choice)
        writers.push_back(call.writer(choice));
    first_s_.assign(writers.size(), 0);
    for (const auto& writer : writers) {
        if (const auto piece = writer->begin())
            deliver(*piece);
    }
    ETNA_CHECK(generation->finish(
        [&](uint32_t choice, const generate::Event& event) {
            return take(*writers[choice], choice, event, deliver);
        },
        [&] { return service->is_aborting || is_unwanted(); }));
    if (service->is_aborting && was_cut)
        return Error{ErrorKind::cancelled, "the server is shutting down, and the answer did not end in time"};
    return {};
}

generate::Flow Answering::take(ChoiceWriter& writer, uint32_t choice, const generate::Event& event,
                               const std::function<bool(const Json&)>& deliver) {
    if (const auto* finished = std::get_if<generate::Finished>(&event)) {
        usage->add(choice, *finished);
        count(choice, *finished);
        was_cut = was_cut || finished->finish_reason == generate::FinishReason::cancelled;
    } else if (first_s_[choice] == 0) {
        first_s_[choice] = in_flight->elapsed_s();
    }
    const auto piece = writer.take(event);
    const bool goes_on = !piece || deliver(*piece);
    return goes_on && !writer.has_enough() ? generate::Flow::go_on : generate::Flow::stop;
}

void Answering::count(uint32_t choice, const generate::Finished& finished) {
    constexpr double ms_per_second = 1000;
    const std::size_t tokens = finished.tokens.size();
    const double generation_s = finished.timings.generation_ms / ms_per_second;
    service->metrics.add(
        {.model = head.model,
         .prompt_tokens = finished.prompt_tokens,
         .cached_tokens = finished.cached_tokens,
         .completion_tokens = static_cast<uint32_t>(tokens),
         .queue_s = finished.timings.queue_ms / ms_per_second,
         .first_token_s = first_s_[choice],
         .prompt_s = finished.timings.prompt_ms / ms_per_second,
         .between_tokens_s = tokens > 1 ? generation_s / static_cast<double>(tokens - 1) : 0});
}

Json Answering::timing() const {
    constexpr double ms_per_second = 1000;
    Json json = {{"total_ms", in_flight->elapsed_s() * ms_per_second}};
    if (!first_s_.empty() && first_s_.front() > 0)
        json["first_token_ms"] = first_s_.front() * ms_per_second;
    return json;
}

void Answering::discard_lost(const Error& error) const {
    if (error.kind == ErrorKind::device_lost)
        service->models.discard(model);
}

} // namespace etna::server::openai
