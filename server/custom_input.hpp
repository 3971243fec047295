#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etna::server {

/// Reads the text of {"input": "..."} while its JSON arrives in pieces, which may end anywhere. Not
/// thread-safe.
class CustomInput {
public:
    /// More of the JSON; the text that it adds: whole characters.
    std::string push(std::string_view json);

    /// Whether the quote that ends the text has come.
    [[nodiscard]] bool is_over() const { return state_ == State::over; }

private:
    enum class State : uint8_t { before, text, escape, code, over };

    void read(char byte, std::string& text);
    void end_code(std::string& text);
    void end_surrogate(std::string& text);

    State state_ = State::before;
    std::string seen_;       ///< before the text, or the digits of an escape
    unsigned surrogate_ = 0; ///< the first half of a pair; 0: none
    std::string character_;  ///< bytes of one that is not whole
};

} // namespace etna::server
