#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace etna::server {

/// The phases of a generated answer in order; the first begins at the request's arrival.
struct AnswerTimes {
    double before_queue_ms = 0; ///< reading the request, loading the model, tokenizing
    double queue_ms = 0;        ///< in the engine's queue
    double prefill_ms = 0;      ///< to the first token
    double decode_ms = 0;       ///< to the last one
};

/// Data about a request that generates, embeds or ranks, for the RequestJournal.
struct JournalNote {
    uint64_t client = 0;           ///< client_of() the request
    std::string client_label = {}; ///< client_label() of the request
    std::optional<uint32_t> cached_tokens = {};
    std::optional<double> load_ms = {}; ///< from the request's arrival until its model was in memory
    std::shared_ptr<const std::string> prompt = {}; ///< rendered; null: not kept
};

/// Data about a response for the request log, in addition to its head.
struct AnswerLog {
    std::optional<int> final_status = {}; ///< if different: stream failed after its head, or disconnect
    std::string error = {};               ///< `error.code`, else `error.type`; empty: no error
    std::string param = {};               ///< `error.param`, the field that the error is about
    std::string model = {};               ///< the model's name; empty: no model was selected
    std::optional<uint32_t> prompt_tokens = {};
    std::optional<uint32_t> completion_tokens = {};
    int32_t priority = 0;                    ///< shown unless it is 0
    std::optional<AnswerTimes> times = {};   ///< of the first choice; not shown in the log, but in traces
    std::optional<JournalNote> journal = {}; ///< empty: the request is not in the journal
};

} // namespace etna::server
