#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etna::server {

/// Incremental parser for the text of {"input": "..."}; chunks of the JSON may end anywhere. Not thread-safe.
class CustomInput {
public:
    /// Consumes the next chunk of JSON and returns the text it adds, in complete characters.
    std::string push(std::string_view json);

    /// Whether the closing quote of the text has been read.
    [[nodiscard]] bool is_over() const { return state_ == State::over; }

private:
    enum class State : uint8_t { before, text, escape, code, over };

    void read(char byte, std::string& text);
    void end_code(std::string& text);
    void end_surrogate(std::string& text);

    State state_ = State::before;
    std::string seen_;       ///< the JSON before the text, or the digits of an escape
    unsigned surrogate_ = 0; ///< the high surrogate of a pair; 0: none
    std::string character_;  ///< bytes of an incomplete character
};

} // namespace etna::server
