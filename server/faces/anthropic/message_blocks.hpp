#pragma once

#include "core/generate/events.hpp"
#include "server/base/json.hpp"
#include "server/faces/anthropic/request.hpp"
#include "server/faces/anthropic/thinking_seal.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace etna::server::anthropic {

/// Options of an answer's blocks.
struct BlockOptions {
    ThinkingDisplay display = ThinkingDisplay::shown;
    bool has_parallel_calls = true;               ///< false: an answer ends after its first call
    std::vector<std::string> stop_sequences = {}; ///< stop sequences of the request
    uint32_t context_tokens = 0;                  ///< context of the model
};

/// The content blocks of an answer, and the stream events that build them. Source: Anthropic's API reference,
/// 2023-06-01, "Streaming Messages". Not thread-safe.
class MessageBlocks {
public:
    MessageBlocks(BlockOptions options, ThinkingSeal seal)
        : options_(std::move(options)), seal_(std::move(seal)) {}

    /// Returns a list of stream events.
    Json take(const generate::Event& event);

    /// Returns whether the answer is complete for the client, so that generation can stop.
    [[nodiscard]] bool is_complete() const { return !options_.has_parallel_calls && calls_ > 0; }

    /// Returns the blocks so far. A call that was cut off has an empty input; broken calls are text.
    [[nodiscard]] const Json& content() const { return content_; }

    /// Returns {"stop_reason", "stop_sequence", ...}; all members are null before the end.
    [[nodiscard]] Json stop() const {
        return {{"stop_reason", stop_reason_},
                {"stop_sequence", sequence_},
                {"stop_details", nullptr},
                {"container", nullptr}};
    }

private:
    enum class Open : uint8_t { nothing, text, thinking, call };
    enum class BlockEnd : uint8_t {
        complete,
        cut,    ///< a call without its last arguments: the answer ended there
        broken, ///< not a call: its text follows
    };

    void take_output(const output::Event& event);
    void add_text(std::string_view text);
    void add_thinking(std::string_view text);
    void begin_call(const output::Event& event);
    void add_arguments(std::string_view text);
    void finish(const generate::Finished& finished);
    void open(Open kind, Json block);
    void close(BlockEnd end = BlockEnd::complete);
    void send_delta(Json delta);

    BlockOptions options_;
    ThinkingSeal seal_;
    Json events_ = Json::array();
    Json content_ = Json::array();
    Json block_; ///< the open block
    Open open_ = Open::nothing;
    std::string text_;       ///< text of the open block
    std::size_t blocks_ = 0; ///< number of closed blocks
    std::size_t calls_ = 0;  ///< number of complete calls
    Json stop_reason_ = nullptr;
    Json sequence_ = nullptr;
};

} // namespace etna::server::anthropic
