#pragma once

#include "core/base/result.hpp"
#include "server/base/json.hpp"
#include "server/batch/input.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The lines of OpenAI's Batch format: requests in an input, and records of their answers in an output.
// Source: OpenAI API 2.3.0, BatchRequestInput and BatchRequestOutput.
namespace etna::server::batch {

/// The endpoints that a line can call.
inline constexpr std::array<std::string_view, 4> endpoint_urls = {"/v1/chat/completions", "/v1/completions",
                                                                  "/v1/responses", "/v1/embeddings"};

/// Maximum bytes of a custom_id.
constexpr std::size_t custom_id_bytes_max = 512;

/// Default limit on the bytes of a line.
constexpr std::size_t default_line_bytes_max = 32 * 1024 * 1024;

/// Upper bound of that limit.
constexpr std::size_t line_bytes_limit = 1024UL * 1024 * 1024;

/// A request of a batch.
struct LineRequest {
    uint64_t number = 0; ///< line number
    std::string custom_id = {};
    std::string url = {};
    Json body = {};
};

/// An error of a single line.
struct LineError {
    std::string code;
    std::string message; ///< without the line number
};

/// Returns the custom_id of a line; empty if the line has none or is not JSON.
std::optional<std::string> custom_id_of(std::string_view text);

/// Parses a line. Precondition: it is not too long. `endpoint`: the only accepted URL; empty: all of
/// endpoint_urls.
Result<LineRequest, LineError> read_line(const InputLine& line, std::string_view endpoint);

/// The response of an endpoint.
struct LineAnswer {
    int status = 200;
    std::string request_id = {};
    std::string body = {}; ///< JSON text
};

/// Returns the record of a status 200 response: one line, with its line end.
std::string result_record(const std::string& custom_id, const LineAnswer& answer);

/// Returns the record of a line that failed. `custom_id` is empty if it is unknown, `answer` null if no
/// endpoint was called.
std::string error_record(uint64_t number, const std::optional<std::string>& custom_id, const LineError& error,
                         const LineAnswer* answer);

/// Returns the error in an endpoint's answer.
LineError error_of_answer(const LineAnswer& answer);

/// Tokens of one or more answers.
struct TokenUsage {
    uint64_t input = 0;
    uint64_t cached = 0; ///< part of `input` that came from the prompt cache
    uint64_t output = 0;
    uint64_t reasoning = 0; ///< part of `output`

    TokenUsage& operator+=(const TokenUsage& more);
    bool operator==(const TokenUsage&) const = default;
};

/// The parts of a record that are read again: those that identify its line, and the facts of its answer.
struct RecordSummary {
    std::optional<std::string> custom_id = {};
    std::optional<uint64_t> line = {}; ///< line number; errors only
    std::string model = {};            ///< that answered; empty: none
    TokenUsage usage = {};
};

/// Parses a record, without its line end. Empty if it is damaged.
std::optional<RecordSummary> read_record(std::string_view text);

} // namespace etna::server::batch
