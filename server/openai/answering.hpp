#pragma once

#include "server/openai/answer_head.hpp"
#include "server/openai/generation_call.hpp"
#include "server/service.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace etna::server::openai {

/// A request that generates, between its arrival and its last byte. Not thread-safe.
struct Answering {
    Service* service = nullptr; ///< borrowed, as long as the server runs
    const AnswerKind* kind = nullptr;
    std::unique_ptr<InFlight> in_flight;
    std::string request_id;
    std::string model_name;
    Models::Handle model;
    Json body; ///< until it has been read
    Dialect dialect = Dialect::openai;
    bool is_strict = false;  ///< members without effect are refused
    uint64_t cache_salt = 0; ///< of the client's key
    GenerationCall call;
    AnswerHead head;
    std::optional<generate::Generation> generation;
    std::optional<Usage> usage;
    bool was_cut = false; ///< an answer was ended from outside

    /// Reads the body and queues the generation. Precondition: `model`. What it refuses is left in the
    /// request's figures.
    std::optional<ApiError> begin();

    /// Finishes the generation. `deliver` gets every piece, and returns false when nobody wants more. Errors:
    /// those of Generation::finish(), cancelled (the server ends before the answer).
    Status run(const std::function<bool(const Json& piece)>& deliver,
               const std::function<bool()>& is_unwanted);

    /// {"total_ms": ...}, and whatever else is known of its time.
    [[nodiscard]] Json timing() const;

    /// Drops a model whose device is lost, so that the next request gets a new one.
    void discard_lost(const Error& error) const;

private:
    std::optional<ApiError> read();
    void log_prompts(std::size_t prompts) const;
    generate::Flow take(ChoiceWriter& writer, uint32_t choice, const generate::Event& event,
                        const std::function<bool(const Json&)>& deliver);
    void count(uint32_t choice, const generate::Finished& finished);

    std::vector<double> first_s_; ///< of each choice: from the request's arrival to its first event; 0: none
};

} // namespace etna::server::openai
