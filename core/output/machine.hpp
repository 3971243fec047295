#pragma once

#include "core/base/utf8_gate.hpp"
#include "core/output/call_object.hpp"
#include "core/output/event_writer.hpp"
#include "core/output/json_scanner.hpp"
#include "core/output/marks.hpp"
#include "core/output/notation.hpp"
#include "core/output/parser.hpp"
#include "core/output/tools.hpp"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::output {

constexpr std::size_t max_header_bytes = 1024;

/// State machine of the parser. Each step consumes text, changes the state, or waits for more text to decide.
/// The result of a step depends on the text alone, never on chunk boundaries.
class Parser::Machine {
public:
    Machine(const Syntax& syntax, Tools tools, const ParserOptions& options);

    std::span<const Event> push(std::string_view text);
    std::span<const Event> finish(Ending ending);

private:
    enum class State : uint8_t {
        content,
        reasoning,
        header,  ///< in a message header
        dropped, ///< in a message body that is discarded
        section, ///< between calls
        call,
        broken, ///< in a broken call, looking for its end
    };
    enum class Progress : uint8_t { again, wait };

    /// The meaning of a mark in content, with its index among its kind.
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
    Progress skip_space(); ///< wait: all text is consumed, and more may come
    Match match(std::string_view mark) const;

    // machine_text.cpp: content and reasoning
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

    // machine_section.cpp: starts of calls
    void enter_section(const Section& section);
    Progress section();
    Match section_part();
    void leave_section();
    Match choose_call();
    [[nodiscard]] Match may_begin(const Pattern& pattern) const;
    [[nodiscard]] bool may_begin(Slot slot) const;
    Progress no_call_begins();
    void enter_call(const Pattern& pattern);

    // machine_call.cpp: fixed texts, start and end of calls
    Progress part_text();
    void end_pattern();
    void next_part();
    [[nodiscard]] bool slots_follow() const;
    bool begin_call();
    void end_call();
    void fail();
    Progress broken();

    // machine_slots.cpp: slots between the fixed texts
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
        const Pattern* outer = nullptr; ///< in a parameter: the call's pattern and the part in it
        std::size_t outer_part = 0;
        bool tentative = false; ///< may turn out not to be a call
        bool begun = false;     ///< call_begun has been written
        bool done = false;
        bool has_parameters = false;
        std::string name;
        std::string id;
        std::string sent_id;
    };

    struct Value {
        bool begun = false;
        bool verbatim = false;
        uint8_t types = no_type; ///< strings are streamed, other values are sent when complete
        std::string key;
        std::string kind;
        std::string text; ///< the whole value; for strings, the held-back part
    };

    static constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();

    const Syntax syntax_;
    const Tools tools_;
    const bool is_form_; ///< see ParserOptions
    EventWriter out_;
    More more_ = More::may_come;
    Utf8Gate gate_;
    std::string input_;
    std::size_t at_ = 0;         ///< consumed bytes of input_
    std::size_t kept_ = nothing; ///< start of the text that is retained for a failed call or header

    State state_ = State::content;
    bool fresh_ = true; ///< a span of content could start here
    MarkSet content_marks_;
    std::vector<Meaning> meanings_;
    MarkSet reasoning_opens_;
    MarkSet reasoning_marks_;       ///< closes of the reasoning, then the opens of sections
    std::size_t closes_ = 0;        ///< number of closes of the reasoning, or of a broken section
    std::size_t call_closes_ = 0;   ///< `closes_` plus the number of closes of a broken call
    const Section* bare_ = nullptr; ///< the section without an opening mark
    std::size_t header_begin_ = 0;  ///< offset in input_; its opening mark lies between kept_ and here
    std::string function_;          ///< the function that the message addresses

    const Section* section_ = nullptr;
    Section message_section_;
    std::size_t section_calls_ = 0;
    bool bracketed_ = false;
    bool brackets_closed_ = false;
    bool separated_ = false; ///< a separator followed the last call
    Call call_;
    Value value_;
    MarkSet ends_; ///< marks that end the slot
    std::optional<CallObject> object_;
    std::optional<JsonScanner> json_;
    std::optional<NotationScanner> notation_;
    std::string text_;           ///< text of the slot
    std::size_t slot_begin_ = 0; ///< start of the slot, offset in input_
};

} // namespace etna::output
