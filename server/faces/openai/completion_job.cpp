#include "server/faces/openai/completion_job.hpp"

#include "core/base/duration.hpp"
#include "server/api/sampling_fields.hpp"
#include "server/base/ids.hpp"
#include "server/http/sse.hpp"

#include <array>
#include <ctime>
#include <utility>

namespace etna::server::openai {

Json usage_json(const api::Usage& usage) {
    const Metrics::Tokens counts = usage.tokens();
    return {{"prompt_tokens", counts.prompt},
            {"completion_tokens", counts.completion},
            {"total_tokens", counts.prompt + counts.completion},
            {"prompt_tokens_details", {{"cached_tokens", counts.cached}}},
            {"completion_tokens_details",
             {{"reasoning_tokens", usage.reasoning_tokens()},
              {"accepted_prediction_tokens", counts.accepted_drafts},
              {"rejected_prediction_tokens", counts.rejected_drafts}}}};
}

Json to_json(const ResponseEnvelope& envelope) {
    return {{"id", envelope.id},
            {"object", envelope.object},
            {"created", envelope.created_unix_s},
            {"model", envelope.model},
            {"system_fingerprint", "etna-" ETNA_VERSION},
            {"seed", envelope.seed},
            {"choices", Json::array()}};
}

ApiStatus CompletionJob::begin(const CancelPoll& is_cancelled) {
    const sampling::Parameters defaults = api::sampling_defaults(active.dialect());
    auto read = spec_->read(body_, active.context(defaults));
    body_ = nullptr;
    if (!read)
        return read.error();
    request_ = std::move(*read);
    ETNA_CHECK(active.begin(std::move(request_.call), defaults, is_cancelled));
    envelope_ = {.id = new_id(spec_->id_prefix),
                 .object =
                     std::string(request_.output_options.is_streamed ? spec_->chunk_object : spec_->object),
                 .created_unix_s = std::time(nullptr),
                 .model = active.model_name(),
                 .seed = active.generation()->seed()};
    active.allow_control(envelope_.id);
    clocks_.resize(active.generation()->choices());
    return {};
}

/// Returns the index of the choice's prompt.
std::size_t CompletionJob::prompt_of(uint32_t choice) const {
    return choice / (active.generation()->choices() / active.prompt_count());
}

/// Writes the pieces of a stream. Collects all of them only if they are stored.
Status CompletionJob::run_streams(const std::function<bool(const Json& piece)>& deliver,
                                  const CancelPoll& is_cancelled) {
    const generate::Generation& generation = *active.generation();
    std::vector<std::unique_ptr<ChoiceStream>> streams;
    streams.reserve(generation.choices());
    for (uint32_t choice = 0; choice < generation.choices(); ++choice)
        streams.push_back(request_.make_stream(choice, generation.prompt_tokens(prompt_of(choice))));
    for (const auto& stream : streams) {
        if (const auto piece = stream->begin())
            deliver(*piece);
    }
    return run(
        request_.stored_chat ? request_.collected : generate::CollectedAnswer::Options(),
        [&](uint32_t choice, const generate::Event& event) {
            clocks_[choice].take(event);
            const auto piece = streams[choice]->take(event);
            return !piece || deliver(*piece);
        },
        is_cancelled);
}

ApiResult<std::string> CompletionJob::complete(const CancelPoll& is_cancelled) {
    const Status status = run(
        request_.collected,
        [&](uint32_t choice, const generate::Event& event) { return clocks_[choice].take(event), true; },
        is_cancelled);
    if (!status)
        return active.report_failure(status.error());
    const Json json = whole();
    if (request_.stored_chat && !is_cancelled())
        ETNA_CHECK(store_chat(*this, json));
    return dump_json(json) + "\n";
}

ApiResult<bool> CompletionJob::stream(EventStream& stream) {
    for_each_prompt_annotation(
        *this, [&](std::string_view name, const Json& value) { stream.send(annotation_frame(name, value)); });
    const Status status =
        run_streams([&](const Json& piece) { return stream.send(sse::data(dump_json(chunk_of(piece)))); },
                    [&] { return stream.is_disconnected(); });
    if (!status)
        return active.report_failure(status.error());
    // Stored before the end is sent: a client never sees a complete answer that is not stored.
    if (request_.stored_chat && !stream.is_disconnected())
        ETNA_CHECK(store_chat(*this, whole()));
    if (request_.output_options.includes_usage) {
        Json last = to_json(envelope_);
        last["usage"] = usage_json(active.usage());
        if (request_.output_options.has_timings)
            last["timings"] = timings_of_choice(0);
        stream.send(sse::data(dump_json(last)));
    }
    if (request_.output_options.includes_timing)
        stream.send(annotation_frame("timing", timing()));
    return stream.send(sse::done);
}

/// The done frame follows, because clients wait for it after errors, too.
void CompletionJob::send_failure(EventStream& stream, const ApiError& error) {
    stream.send(sse::error({error.message}, error_json(error)) + std::string(sse::done));
}

Json CompletionJob::chunk_of(const Json& piece) const {
    Json chunk = to_json(envelope_);
    chunk["choices"].push_back(piece);
    if (request_.output_options.counts_each_chunk) {
        chunk["usage"] = usage_so_far(piece["index"].get<uint32_t>());
    } else if (request_.output_options.includes_usage) {
        chunk["usage"] = nullptr;
    }
    const auto choice = piece["index"].get<uint32_t>();
    if (request_.output_options.has_timings && clocks_[choice].has_token())
        chunk["timings"] = timings_of_choice(choice);
    for (const auto transform : request_.transforms)
        transform(chunk);
    return chunk;
}

Json CompletionJob::usage_so_far(uint32_t choice) const {
    const std::size_t prompt = active.generation()->prompt_tokens(prompt_of(choice)).size();
    const std::size_t completion = active.tokens_so_far(choice);
    return {
        {"prompt_tokens", prompt}, {"completion_tokens", completion}, {"total_tokens", prompt + completion}};
}

Json CompletionJob::timing() const {
    Json json = {{"total_ms", active.elapsed_s() * ms_per_second}};
    if (const auto first_token_s = active.first_token_s())
        json["first_token_ms"] = *first_token_s * ms_per_second;
    return json;
}

Json CompletionJob::timings_of_choice(uint32_t choice) const {
    return api::timings_json(
        clocks_[choice].timings(active.generation()->prompt_progress(prompt_of(choice))));
}

/// Returns the response object of the collected answers.
Json CompletionJob::whole() const {
    Json json = to_json(envelope_);
    json["object"] = spec_->object;
    for (uint32_t choice = 0; choice < answers.size(); ++choice) {
        const auto prompt = active.generation()->prompt_tokens(prompt_of(choice));
        json["choices"].push_back(request_.write_choice(choice, prompt, answers[choice]));
    }
    for (const auto transform : request_.transforms)
        transform(json);
    json["usage"] = usage_json(active.usage());
    if (request_.output_options.has_timings)
        json["timings"] = timings_of_choice(0);
    if (Json annotations = annotations_of(*this); !annotations.is_null())
        json["nvext"] = std::move(annotations);
    return json;
}

namespace {

struct PromptAnnotation {
    std::string_view name;
    bool OutputOptions::* is_requested;
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

constexpr std::array prompt_annotations = {
    PromptAnnotation{"formatted_prompt", &OutputOptions::includes_prompt, text_of_prompt},
    PromptAnnotation{"token_ids", &OutputOptions::includes_prompt_tokens, tokens_of_prompt}};

} // namespace

std::string annotation_frame(std::string_view name, const Json& value) {
    return sse::write({.data = dump_json(value), .event = std::string(name), .comments = {dump_json(value)}});
}

void for_each_prompt_annotation(const CompletionJob& job,
                                const std::function<void(std::string_view name, Json value)>& send) {
    for (const PromptAnnotation& annotation : prompt_annotations) {
        if (!(job.request().output_options.*annotation.is_requested))
            continue;
        for (std::size_t prompt = 0; prompt < job.active.prompt_count(); ++prompt) {
            Json value = annotation.value(*job.active.generation(), prompt);
            if (job.active.prompt_count() > 1)
                value = Json({{"index", prompt}, {annotation.name, std::move(value)}});
            send(annotation.name, std::move(value));
        }
    }
}

Json annotations_of(const CompletionJob& job) {
    Json all;
    for_each_prompt_annotation(job, [&](std::string_view name, Json value) {
        Json& annotation = all[std::string(name)];
        if (job.active.prompt_count() > 1) {
            annotation.push_back(std::move(value));
        } else {
            annotation = std::move(value);
        }
    });
    if (job.request().output_options.includes_timing)
        all["timing"] = job.timing();
    return all;
}

} // namespace etna::server::openai
