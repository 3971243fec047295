#pragma once

#include "cli/chat/settings.hpp"
#include "cli/consent.hpp"
#include "cli/conversation_screen.hpp"
#include "cli/diagnostics.hpp"
#include "cli/environment.hpp"
#include "cli/tools.hpp"
#include "cli/turn.hpp"
#include "core/generate/generate.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etna::cli {

/// What the last answer cost.
struct ChatStatistics {
    std::optional<generate::Finished> last;
    uint64_t generated_tokens = 0; ///< of all answers
    uint64_t prompt_tokens = 0;    ///< computed for all answers: those that were cached are not counted
    uint64_t cached_tokens = 0;
};

/// One conversation with one model at a time: the messages, what the model has read of them, and how an
/// answer is shown. Not thread-safe.
class ChatSession : private TurnWatcher {
public:
    /// Borrows `settings`, `environment` and `diagnostics`.
    ChatSession(generate::Model model, const ChatSettings& settings, Tools tools,
                const Environment& environment, Diagnostics& diagnostics);

    /// Sends a user's message and shows the answer. Ctrl-C stops it; what has come stays. When the context is
    /// full, the oldest turns are forgotten first, also while tools fill it. Errors: those of take_turn();
    /// the message is taken back then, and what was attached is dropped, unless it was only stopped.
    Status say(const std::string& text);

    /// Answers the last message once more. Error: invalid_argument (there is none).
    Status retry();

    /// Takes the last message and its answers back; empty when there is none, else the message.
    std::optional<std::string> undo();

    void clear();                      ///< all but the system message
    void set_system(std::string text); ///< empty: none
    /// The user is asked anew about every command; see ToolConsent::begin_with().
    void set_tools(Tools tools, NamedBy by);
    void set_model(generate::Model model);
    /// Goes on with the messages of another conversation and what its template is given; tools and thinking
    /// stay as they are.
    void set_conversation(chat::Conversation conversation);
    /// Goes in front of the next message. Error: invalid_argument (the context cannot hold it).
    Status attach(const std::string& text);

    [[nodiscard]] const generate::Model& model() const { return model_; }
    [[nodiscard]] const Tools& tools() const { return tools_; }
    [[nodiscard]] chat::Conversation conversation() const;
    [[nodiscard]] const ChatStatistics& statistics() const { return statistics_; }
    [[nodiscard]] std::size_t turns() const; ///< messages of the user
    [[nodiscard]] std::string_view system() const;
    [[nodiscard]] const Output& output() const { return screen_.output(); }
    /// Turns that ended in an error or without an answer, not counting those that were stopped.
    [[nodiscard]] std::size_t failed_turns() const { return failed_turns_; }

private:
    Status prepare(generate::Request& request) override;
    generate::Request essence(const generate::Request& request) override;
    generate::Flow receive(const generate::Event& event) override;
    Leave ask(const chat::output::Call& call, std::string_view command,
              const generate::StopRequested& stop_requested) override;
    void tool_answered(const chat::output::Call& call, const ToolResult& result) override;

    Status answer();
    Status take();
    void drop_attached();
    void tell(const Turn& turn);
    [[nodiscard]] Result<generate::Request> request();

    generate::Model model_;
    const ChatSettings* settings_;
    Tools tools_;
    const Environment* environment_;
    Diagnostics* diagnostics_;
    ConversationScreen screen_;
    ToolConsent consent_;
    std::vector<chat::Message> messages_; ///< a system message only at the front
    std::string template_arguments_;      ///< of a conversation that was loaded
    generate::Transcript transcript_;
    std::string attached_;
    ChatStatistics statistics_;
    std::vector<generate::TokenDelta> tokens_; ///< of this turn, with --logprobs
    std::size_t failed_turns_ = 0;
    bool has_told_of_full_context_ = false;
};

} // namespace etna::cli
