#pragma once

#include "core/chat/turns.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Internal to core/chat: finds the parts of a conversation that a template drops.
namespace etna::chat {

/// Occurs in no template.
inline constexpr const char* template_free_word = "kestrelquay";

enum class PartKind : uint8_t { content, text_beside_calls, call, tool };

/// One text of a conversation that its prompt has to contain.
struct OutlinePart {
    PartKind kind = PartKind::content;
    std::string role = {};    ///< of its message
    std::size_t position = 0; ///< of its message or tool in the conversation
    std::size_t call = 0;     ///< of a call in its message
};

/// A conversation with the structure of another one, and a unique word in the place of each text. Its prompt
/// shows which texts a template renders, whatever they are: a short text might occur elsewhere in the prompt.
class Outline {
public:
    explicit Outline(const Turns& turns);

    [[nodiscard]] const Turns& turns() const { return turns_; }

    /// Returns the parts whose words are not in the text of the prompt of these turns, or of a changed copy.
    [[nodiscard]] std::vector<OutlinePart> missing(std::string_view text) const;

private:
    std::string add_part(OutlinePart part);
    void replace_texts(Turn& turn, std::size_t position);
    void replace_calls(Turn& turn, std::size_t position);
    void replace_tools();

    Turns turns_;
    std::vector<OutlinePart> parts_; ///< by the number in their words
};

} // namespace etna::chat
