#pragma once

#include "core/generate/collected_answer.hpp"
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
    bool ends_after_call = false;                 ///< an answer has at most one call
    std::vector<std::string> stop_sequences = {}; ///< stop sequences of the request
    uint32_t context_tokens = 0;                  ///< context of the model
};

/// Returns {"stop_reason", "stop_sequence", "stop_details", "container"}.
Json stop_json(const BlockOptions& options, const generate::CollectedAnswer& answer);

/// Returns the content blocks of a whole answer. A call that was cut off has an empty input; broken calls are
/// text.
Json content_json(const BlockOptions& options, const ThinkingSeal& seal,
                  const generate::CollectedAnswer& answer);

/// The stream events that build the content blocks of an answer. Source: Anthropic's API reference,
/// 2023-06-01, "Streaming Messages". Not thread-safe.
class MessageBlocks {
public:
    MessageBlocks(BlockOptions options, ThinkingSeal seal)
        : options_(std::move(options)), seal_(std::move(seal)) {}

    /// Returns a list of stream events.
    Json take(const generate::Event& event);

private:
    enum class Open : uint8_t { nothing, text, thinking, call };

    void take_output(const output::Event& event);
    void add_text(std::string_view text);
    void add_thinking(std::string_view text);
    void begin_call(const output::Event& event);
    void add_arguments(std::string_view text);
    void open(Open kind, Json block);
    void close();
    void send_delta(Json delta);

    BlockOptions options_;
    ThinkingSeal seal_;
    Json events_ = Json::array();
    Open open_ = Open::nothing;
    std::string thinking_;   ///< text of the open block of thinking
    std::size_t blocks_ = 0; ///< number of closed blocks
};

} // namespace etna::server::anthropic
