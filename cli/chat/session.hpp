#pragma once

#include "cli/chat/settings.hpp"
#include "cli/commands/turn.hpp"
#include "cli/environment.hpp"
#include "cli/terminal/conversation_screen.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/tools/consent.hpp"
#include "cli/tools/tools.hpp"
#include "core/base/cancel.hpp"
#include "core/chat/conversation.hpp"
#include "core/generate/generation.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// Token counts and timings of the answers.
struct ChatStatistics {
    std::optional<generate::Finished> last;
    uint64_t generated_tokens = 0; ///< over all answers
    uint64_t prompt_tokens = 0;    ///< prompt tokens computed over all answers, without cached ones
    uint64_t cached_tokens = 0;
};

/// One conversation with one model at a time: the messages, the tokens that the model has read, and the
/// display of answers. Not thread-safe.
class ChatSession : private TurnDelegate {
public:
    /// Borrows `settings`, `environment` and `diagnostics`.
    ChatSession(generate::Model model, const ChatSettings& settings, Tools tools,
                const Environment& environment, Diagnostics& diagnostics);

    /// Sends a user's message and shows the answer. Ctrl-C stops it; the text written so far remains. If the
    /// context is full, drops the oldest turns first, also while tools fill it. Errors: those of run_turn();
    /// then the message is removed, and attached text is dropped unless the error is cancelled.
    Status send(const std::string& text);

    /// Answers the last message again. Errors: invalid_argument (no message).
    Status retry();

    /// Removes the last message and its answers. Returns the message; empty if no user message exists.
    std::optional<std::string> undo();

    void clear();                      ///< removes all but the system message
    void set_system(std::string text); ///< empty: none
    /// Resets the user's consent for every command; see ToolConsent::reset().
    void set_tools(Tools tools, NamedBy by);
    void set_model(generate::Model model);
    /// Continues with the messages and template arguments of another conversation; tools and thinking are
    /// unchanged.
    void set_conversation(chat::Conversation conversation);
    /// Prepends `text` to the next message. Errors: invalid_argument (too long for the context).
    Status attach(const std::string& text);

    [[nodiscard]] const generate::Model& model() const { return model_; }
    [[nodiscard]] const Tools& tools() const { return tools_; }
    [[nodiscard]] chat::Conversation conversation() const;
    [[nodiscard]] const ChatStatistics& statistics() const { return statistics_; }
    [[nodiscard]] std::size_t turns() const; ///< number of user messages
    [[nodiscard]] std::string_view system() const;
    [[nodiscard]] const Output& output() const { return screen_.output(); }
    /// Turns that ended in an error or without an answer, except stopped ones.
    [[nodiscard]] std::size_t failed_turns() const { return failed_turns_; }

private:
    Status prepare(generate::Request& request) override;
    generate::Request minimal_request(const generate::Request& request) override;
    generate::SinkResult receive(const generate::Event& event) override;
    void on_progress(const AnswerProgress& progress) override { screen_.show_progress(progress); }
    Permission ask(const output::Call& call, std::string_view command,
                   const CancelPoll& is_cancelled) override;
    void on_tool_result(const output::Call& call, const ToolResult& result) override;

    Status answer();
    Status generate_answer();
    void drop_attached();
    void report(const Turn& turn);
    [[nodiscard]] Result<generate::Request> request();

    generate::Model model_;
    const ChatSettings* settings_;
    Tools tools_;
    const Environment* environment_;
    Diagnostics* diagnostics_;
    ConversationScreen screen_;
    ToolConsent consent_;
    std::vector<chat::Message> messages_;  ///< a system message only as the first
    chat::NamedValues template_arguments_; ///< of a loaded conversation
    generate::Transcript transcript_;
    std::string attached_;
    ChatStatistics statistics_;
    std::vector<generate::TokenDelta> tokens_; ///< of this turn, with --logprobs
    std::size_t failed_turns_ = 0;
    bool has_reported_full_context_ = false;
};

/// The content of a file of /save and /load: a chat request as accepted by `etna render` and `etna run
/// --messages`, with the state of the chat in its member `etna`.
struct SavedChat {
    chat::Conversation conversation;
    std::vector<Setting> settings = {}; ///< options that were given or set
    std::string tools_file = {};        ///< empty: no tools, or tools without a file
};

std::string saved_chat_json(const ChatSession& session, const ChatSettings& settings);

/// Parses this or any other chat request. Members that apply to one particular answer are ignored. Errors:
/// invalid_argument, naming the member.
Result<SavedChat> parse_saved_chat(std::string_view text);

} // namespace etna::cli
