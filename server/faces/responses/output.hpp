#pragma once

#include "core/generate/events.hpp"
#include "core/generate/pending_logprobs.hpp"
#include "server/api/custom_input.hpp"
#include "server/base/ids.hpp"
#include "server/faces/responses/dialect.hpp"
#include "server/faces/responses/tools.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace etna::server::responses {

/// Output options of a response.
struct ResponseOptions {
    bool includes_logprobs = false;
    bool includes_summary = false; ///< the first paragraph of the reasoning
    bool has_parallel_calls = true;
    std::optional<uint32_t> calls_max = {}; ///< maximum calls, after which the answer ends
    ToolNames tool_names = {};
    ResponseStandard standard = ResponseStandard::openai;
    /// Makes the id of the next item from its prefix; the same ids each time that a response is generated.
    std::function<std::string(std::string_view prefix)> new_id = server::new_id;
    /// Encrypts reasoning so that only this server can read it; empty: no encrypted reasoning.
    std::function<std::string(const std::string& reasoning)> seal = {};
    generate::PendingLogprobs pending = {}; ///< initial state for each answer
};

/// The accumulated output of an answer.
struct Output {
    Json items = Json::array();
    std::string text; ///< the text of all messages
    generate::FinishReason finish_reason = generate::FinishReason::cancelled;
    bool was_cancelled = false; ///< it was stopped from outside before it was complete
};

/// Converts generation events to items and stream events. Source: OpenAI API 2.3.0, ResponseStreamEvent. Not
/// thread-safe.
class ItemStream {
public:
    /// Shares ownership of the output with the caller.
    ItemStream(ResponseOptions options, std::shared_ptr<Output> output)
        : options_(std::move(options)), output_(std::move(output)) {}

    /// Returns a list of stream events, without sequence numbers.
    Json take(const generate::Event& event);

    /// Returns whether the answer is complete for the client, so that generation can stop.
    [[nodiscard]] bool is_complete() const;

private:
    enum class Open : uint8_t { nothing, message, reasoning, call, custom_call };

    void take_output(const output::Event& event);
    void take_call(const output::Event& event);
    void add_text(std::string_view text);
    void add_reasoning(std::string_view text);
    void begin_call(const output::Event& event);
    void end_call(const char* status);
    void add_arguments(std::string_view text);
    void finish(const generate::Finished& finished);
    void open(Open kind, Json item);
    void close(const char* status = "completed");
    void close_message(Json& item);
    void close_reasoning(Json& item);
    void send_summary(Json& item, const std::string& text);
    void send(std::string_view type, const Json& members);
    void send_item(std::string_view type);
    void send_part(std::string_view type, const Json& part);
    [[nodiscard]] Json item_position() const;
    [[nodiscard]] Json logprobs_of(const std::vector<generate::EmittedToken>& tokens);
    void send_delta(std::string_view text, Json logprobs);

    ResponseOptions options_;
    std::shared_ptr<Output> output_;
    Json events_ = Json::array();
    Open open_ = Open::nothing;
    std::string text_;              ///< text of the open item
    std::string custom_input_;      ///< the part of a custom call's input sent so far
    Json logprobs_ = Json::array(); ///< logprobs of the open item's text
    CustomInput input_parser_;      ///< parser for a custom call's input
    uint32_t calls_done_ = 0;
};

} // namespace etna::server::responses
