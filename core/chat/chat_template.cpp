#include "core/chat/chat_template.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace etna::chat {
namespace {

enum class System : uint8_t { own_turn, with_first_user, with_last_user, unknown };
enum class Turns : uint8_t { any, alternate };
enum class Trim : uint8_t { none, assistant, all };

/// What stands around a turn's content. {bos} and {eos} are replaced by the model's tokens.
struct Frame {
    std::string_view before;
    std::string_view after;
};

} // namespace

struct Shape {
    std::string_view family;
    std::array<std::string_view, 2>
        markers; ///< a template of this family contains both (the empty text is in all)
    System system;
    Frame system_frame; ///< inside the user's frame when the system message has no turn of its own
    Frame user_frame;
    Frame assistant_frame;
    std::string_view generation; ///< what opens the assistant's turn
    Turns turns;
    Trim trim;
};

namespace {

/// In the order of recognition: an earlier marker wins, so that the general ones stand last.
constexpr std::array shapes = {
    Shape{.family = "ChatML",
          .markers = {"<|im_start|>"},
          .system = System::own_turn,
          .system_frame = {"<|im_start|>system\n", "<|im_end|>\n"},
          .user_frame = {"<|im_start|>user\n", "<|im_end|>\n"},
          .assistant_frame = {"<|im_start|>assistant\n", "<|im_end|>\n"},
          .generation = "<|im_start|>assistant\n",
          .turns = Turns::any,
          .trim = Trim::none},
    Shape{.family = "Llama 3",
          .markers = {"<|start_header_id|>"},
          .system = System::own_turn,
          .system_frame = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"},
          .user_frame = {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},
          .assistant_frame = {"<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"},
          .generation = "<|start_header_id|>assistant<|end_header_id|>\n\n",
          .turns = Turns::any,
          .trim = Trim::all},
    Shape{.family = "Gemma 2",
          .markers = {"<start_of_turn>", "System role not supported"},
          .system = System::unknown,
          .system_frame = {},
          .user_frame = {"<start_of_turn>user\n", "<end_of_turn>\n"},
          .assistant_frame = {"<start_of_turn>model\n", "<end_of_turn>\n"},
          .generation = "<start_of_turn>model\n",
          .turns = Turns::alternate,
          .trim = Trim::all},
    Shape{.family = "Gemma",
          .markers = {"<start_of_turn>"},
          .system = System::with_first_user,
          .system_frame = {"", "\n\n"},
          .user_frame = {"<start_of_turn>user\n", "<end_of_turn>\n"},
          .assistant_frame = {"<start_of_turn>model\n", "<end_of_turn>\n"},
          .generation = "<start_of_turn>model\n",
          .turns = Turns::alternate,
          .trim = Trim::all},
    Shape{.family = "Mistral V7",
          .markers = {"[/SYSTEM_PROMPT]"},
          .system = System::own_turn,
          .system_frame = {"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"},
          .user_frame = {"[INST]", "[/INST]"},
          .assistant_frame = {"", "{eos}"},
          .generation = "",
          .turns = Turns::alternate,
          .trim = Trim::none},
    Shape{.family = "Llama 2",
          .markers = {"<<SYS>>"},
          .system = System::with_first_user,
          .system_frame = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
          .user_frame = {"{bos}[INST] ", " [/INST]"},
          .assistant_frame = {" ", " {eos}"},
          .generation = "",
          .turns = Turns::alternate,
          .trim = Trim::all},
    Shape{.family = "Mistral V1",
          .markers = {" [/INST]"},
          .system = System::unknown,
          .system_frame = {},
          .user_frame = {"[INST] ", " [/INST]"},
          .assistant_frame = {"", "{eos} "},
          .generation = "",
          .turns = Turns::alternate,
          .trim = Trim::none},
    Shape{.family = "Mistral V3",
          .markers = {"[INST] "},
          .system = System::with_last_user,
          .system_frame = {"", "\n\n"},
          .user_frame = {"[INST] ", "[/INST]"},
          .assistant_frame = {" ", "{eos}"},
          .generation = "",
          .turns = Turns::alternate,
          .trim = Trim::assistant},
    Shape{.family = "Mistral Tekken",
          .markers = {"[INST]"},
          .system = System::with_last_user,
          .system_frame = {"", "\n\n"},
          .user_frame = {"[INST]", "[/INST]"},
          .assistant_frame = {"", "{eos}"},
          .generation = "",
          .turns = Turns::alternate,
          .trim = Trim::none},
};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\n\r\f\v";
    const std::size_t first = text.find_first_not_of(blank);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::string expanded(std::string_view piece, const SpecialText& special) {
    std::string result(piece);
    for (const auto& [name, text] :
         {std::pair{std::string_view("{bos}"), special.bos}, {"{eos}", special.eos}}) {
        if (const std::size_t at = result.find(name); at != std::string::npos)
            result.replace(at, name.size(), text);
    }
    return result;
}

std::string framed(const Frame& frame, std::string_view content, const SpecialText& special) {
    return expanded(frame.before, special) + std::string(content) + expanded(frame.after, special);
}

Error refused(std::string message) {
    return {ErrorKind::invalid_argument, std::move(message)};
}

/// The order of turns that the shape asks for. `turns` has no leading system message.
Status check_turns(const Shape& shape, std::span<const Message> turns) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
        if (turns[i].role == Role::system)
            return refused("a system message must be the first message");
        if (shape.turns == Turns::alternate && (turns[i].role == Role::user) != (i % 2 == 0)) {
            return refused(
                fmt::format("{} models need user and assistant messages in turn, user first", shape.family));
        }
    }
    if (turns.empty() && shape.system != System::own_turn)
        return refused("there is no user message");
    return {};
}

} // namespace

Result<ChatTemplate> ChatTemplate::create(std::string_view template_text) {
    for (const Shape& shape : shapes) {
        const auto lacks = [&](std::string_view marker) {
            return template_text.find(marker) == std::string_view::npos;
        };
        if (std::any_of(shape.markers.begin(), shape.markers.end(), lacks))
            continue;
        // Llama 2 writes the begin token before every user turn, by its frame.
        const bool starts_with_bos = template_text.find("bos_token") != std::string_view::npos &&
                                     shape.user_frame.before.find("{bos}") == std::string_view::npos;
        return ChatTemplate(shape, starts_with_bos);
    }
    return Error{ErrorKind::unsupported, "the model's chat template is of a kind that etna does not know yet",
                 "use --raw and write the prompt in the model's own format"};
}

std::string_view ChatTemplate::family() const {
    return shape_->family;
}

Result<std::string> ChatTemplate::render(std::span<const Message> messages,
                                         const SpecialText& special) const {
    if (messages.empty())
        return refused("there are no messages");
    std::optional<std::string_view> system;
    if (messages.front().role == Role::system) {
        if (shape_->system == System::unknown) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("{} models know no system message", shape_->family),
                         "put its text at the beginning of the user's message"};
        }
        system = messages.front().content;
        messages = messages.subspan(1);
    }
    ETNA_CHECK(check_turns(*shape_, messages));

    const auto content_of = [&](std::string_view text, Role role) {
        const bool trim =
            shape_->trim == Trim::all || (shape_->trim == Trim::assistant && role == Role::assistant);
        return trim ? trimmed(text) : text;
    };
    std::string prompt(starts_with_bos_ ? special.bos : std::string_view());
    if (system && shape_->system == System::own_turn)
        prompt += framed(shape_->system_frame, content_of(*system, Role::system), special);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const Message& message = messages[i];
        const bool carries_system =
            system && ((shape_->system == System::with_first_user && i == 0) ||
                       (shape_->system == System::with_last_user && i + 1 == messages.size()));
        std::string content(message.content);
        if (carries_system && message.role == Role::user)
            content.insert(0, framed(shape_->system_frame, *system, special));
        const Frame& frame = message.role == Role::user ? shape_->user_frame : shape_->assistant_frame;
        prompt += framed(frame, content_of(content, message.role), special);
    }
    prompt += shape_->generation;
    return prompt;
}

} // namespace etna::chat
