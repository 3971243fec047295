#pragma once

#include "core/base/utf8_gate.hpp"
#include "core/chat/output/call_object.hpp"
#include "core/chat/output/event_writer.hpp"
#include "core/chat/output/json_scanner.hpp"
#include "core/chat/output/marks.hpp"
#include "core/chat/output/notation.hpp"
#include "core/chat/output/parser.hpp"
#include "core/chat/output/tools.hpp"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::chat::output {

constexpr std::size_t max_header_bytes = 1024;

/// The parser: a state, and a step that consumes text, changes the state, or finds that more text must come
/// before anything is certain. What a step does depends on the text only, never on how it was cut.
class Parser::Machine {
public:
    Machine(const Syntax& syntax, Tools tools, const ParserOptions& options);

    std::span<const Event> push(std::string_view text);
    std::span<const Event> finish(Ending ending);

private:
    enum class State : uint8_t {
        content,
        reasoning,
        header,  ///< of a message
        dropped, ///< a message's text that is for nobody here
        section, ///< between calls
        call,
        broken, ///< after something that is no call, looking for the end of it
    };
    enum class Progress : uint8_t { again, wait };

    /// What a mark in content means, and which one of its kind it is.
    struct Meaning {
        enum class Kind : uint8_t {
            section,
            hidden,
            message_open,
            message_close,
            reasoning_open,
            reasoning_close
        } kind;
        std::size_t which = 0;
    };

    // machine.cpp
    bool may_be_no_call();
    void run();
    Progress step();
    void forget_consumed();
    [[nodiscard]] std::string_view rest() const { return std::string_view(input_).substr(at_); }
    Progress skip_space(); ///< wait: nothing but white space is left, and more may come
    Match match(std::string_view mark) const;

    // machine_text.cpp: what is no call
    void collect_marks();
    void enter_content();
    Progress content();
    bool reasoning_opens(Progress& progress);
    void content_mark(std::size_t mark);
    void enter_reasoning(std::string_view close);
    void enter_message_text(State state);
    Progress reasoning();

    // machine_header.cpp: headers of messages
    void enter_header();
    Progress header();
    void not_a_header();
    [[nodiscard]] bool may_begin_header(std::string_view text) const;
    [[nodiscard]] bool names_channel_or_recipient(std::string_view header) const;
    bool read_header(std::string_view header);
    [[nodiscard]] bool fits(const Route& route, std::string_view channel, std::string_view recipient) const;
    bool follow(const Route& route, std::string_view recipient);

    // machine_section.cpp: where calls begin
    void enter_section(const Section& section);
    Progress section();
    Match section_part();
    void leave_section();
    Match choose_call();
    [[nodiscard]] Match may_begin(const Pattern& pattern) const;
    [[nodiscard]] bool may_begin(Slot slot) const;
    Progress no_call_begins();
    void enter_call(const Pattern& pattern);

    // machine_call.cpp: the fixed texts of calls, their beginning and end
    Progress part_text();
    void end_pattern();
    void next_part();
    [[nodiscard]] bool slots_follow() const;
    bool begin_call();
    void end_call();
    void fail();
    Progress broken();

    // machine_slots.cpp: what stands between the fixed texts
    void enter_slot();
    Progress slot();
    Progress word_slot(Slot slot);
    Progress object_slot();
    bool deliver_object();
    Progress end_object();
    Progress arguments_slot();
    Progress notation_slot(Slot slot);
    bool send_arguments(std::string_view json);
    void collect_ends(std::size_t part);

    // machine_values.cpp: tagged values and programs
    Progress parameters_slot();
    Progress value_slot();
    Progress begin_value();
    void end_value();
    Progress code_slot();

    struct Call {
        const Pattern* pattern = nullptr;
        std::size_t part = 0;
        bool in_slot = false;
        std::size_t begin = 0;          ///< offset in input_
        const Pattern* outer = nullptr; ///< of a parameter: the call's pattern, and where it is there
        std::size_t outer_part = 0;
        bool tentative = false; ///< it may turn out to be none
        bool begun = false;     ///< call_begun is out
        bool done = false;
        bool has_parameters = false;
        std::string name;
        std::string id;
        std::string sent_id;
    };

    struct Value {
        bool begun = false;
        bool verbatim = false;
        uint8_t types = no_type; ///< a text goes out while it comes, other values when they are whole
        std::string key;
        std::string kind;
        std::string text; ///< all of it, or what is held back
    };

    static constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();

    const Syntax syntax_;
    const Tools tools_;
    const bool is_form_; ///< see ParserOptions
    EventWriter out_;
    More more_ = More::may_come;
    Utf8Gate gate_;
    std::string input_;
    std::size_t at_ = 0;         ///< how far input_ is consumed
    std::size_t kept_ = nothing; ///< where the text of the call begins, which may be needed again

    State state_ = State::content;
    bool fresh_ = true; ///< a stretch of content could begin here
    MarkSet content_marks_;
    std::vector<Meaning> meanings_;
    MarkSet reasoning_opens_;
    MarkSet reasoning_marks_;       ///< where the reasoning ends; the sections begin after its closes
    std::size_t closes_ = 0;        ///< of reasoning, or of a broken section
    std::size_t call_closes_ = 0;   ///< after those, of a broken call
    const Section* bare_ = nullptr; ///< the section that needs no mark
    std::size_t header_begin_ = 0;  ///< offset in input_; before it, from kept_ on, the mark that opened it
    std::string function_;          ///< whom the message is for

    const Section* section_ = nullptr;
    Section message_section_;
    std::size_t section_calls_ = 0;
    bool bracketed_ = false;
    bool brackets_closed_ = false;
    bool separated_ = false; ///< a separator came after the last call
    Call call_;
    Value value_;
    MarkSet ends_; ///< of the slot
    std::optional<CallObject> object_;
    std::optional<JsonScanner> json_;
    std::optional<NotationScanner> notation_;
    std::string text_;           ///< of the slot
    std::size_t slot_begin_ = 0; ///< offset in input_
};

} // namespace etna::chat::output
