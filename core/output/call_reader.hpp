#pragma once

#include "core/output/call_object.hpp"
#include "core/output/event_writer.hpp"
#include "core/output/input_buffer.hpp"
#include "core/output/json_scanner.hpp"
#include "core/output/markers.hpp"
#include "core/output/notation.hpp"
#include "core/output/syntax.hpp"
#include "core/output/tools.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::output {

/// Reads one call at a time by its pattern and writes its events. Not thread-safe.
class CallReader {
public:
    /// Borrows all arguments.
    CallReader(const Syntax& syntax, const Tools& tools, InputBuffer& input, EventWriter& out)
        : syntax_(&syntax), tools_(&tools), input_(&input), out_(&out) {}

    /// Reads and writes these instead, in a copy.
    void attach(InputBuffer& input, EventWriter& out) {
        input_ = &input;
        out_ = &out;
    }

    /// When the events of a call are delivered.
    enum class Certainty : uint8_t {
        certain,     ///< immediately
        needs_end,   ///< once the call is complete; until then it may prove to be something else
        needs_start, ///< once it names an offered function and has arguments
        held,        ///< by the caller, who holds them back; the call must name an offered function
    };

    struct Start {
        const Section& section; ///< borrowed
        const Pattern& pattern; ///< borrowed; one of the section's
        Certainty certainty = Certainty::certain;
        std::string_view function; ///< known from a message header; may be empty
    };

    /// Starts a call at the read position.
    void start(const Start& start);

    enum class Progress : uint8_t {
        again,
        wait,   ///< more text is needed to decide
        ended,  ///< the call is complete and the pattern consumed
        failed, ///< this is not a call, or a broken one
    };
    Progress step();

    /// Whether the call may still prove not to be one.
    [[nodiscard]] bool is_tentative() const { return call_.certainty != Certainty::certain; }
    [[nodiscard]] bool is_complete() const { return call_.is_complete; }
    [[nodiscard]] std::size_t begin() const { return call_.begin; } ///< offset in the input

    /// Follows InputBuffer::erase_before().
    void shift_offsets(std::size_t count);

private:
    // Fixed texts, start and end of the call
    Progress read_text();
    Progress read_other_text();
    Progress end_pattern();
    Progress next_part();
    [[nodiscard]] const PatternPart& part() const { return (*call_.pattern)[call_.part]; }
    [[nodiscard]] const PatternPart* following_part() const;
    [[nodiscard]] bool fields_follow() const;
    bool begin_call();
    Progress end_call();

    // Fields
    void enter_field();
    void collect_ends(std::size_t part);
    Progress read_field();
    Progress read_word(Field field);
    Progress read_object();
    Progress read_python_object();
    bool deliver_object();
    Progress end_object();
    Progress read_arguments();
    Progress read_notation(Field field);
    bool send_arguments(std::string_view json);
    Progress read_program();

    // Parameters
    Progress read_parameters();
    Progress read_value();
    Progress begin_value();
    void collect_value_ends();
    [[nodiscard]] bool ends_value(const MarkerMatch& found) const;
    void end_value(bool is_closed);

    struct Call {
        const Pattern* pattern = nullptr;
        std::size_t part = 0;
        bool in_field = false;
        std::size_t begin = 0;
        const Pattern* outer = nullptr; ///< in a parameter: the call's pattern and the part in it
        std::size_t outer_part = 0;
        Certainty certainty = Certainty::certain;
        bool is_started = false; ///< call_started has been written
        bool is_complete = false;
        bool has_parameters = false;
        std::string name;
        std::string id;
        std::string sent_id;
        const Section* section = nullptr;
        bool must_be_offered = false;         ///< see Presence::expected
        std::vector<std::string> terminators; ///< see value_terminators(); collected for the first value
        std::vector<std::string_view> closes; ///< see call_closes(); collected with them
    };

    struct Value {
        bool is_started = false;
        bool is_verbatim = false;
        std::size_t closing_ends = 0;    ///< the first of ends_: the value's own closing text
        std::size_t terminator_ends = 0; ///< ends_ up to here, with the terminators; call_closes() follow
        uint8_t types = no_type;         ///< strings are streamed, other values are sent when complete
        std::string key;
        std::string kind;
        std::string text; ///< the complete value; for strings, the held-back part
    };

    const Syntax* syntax_;
    const Tools* tools_;
    InputBuffer* input_;
    EventWriter* out_;
    Call call_;
    Value value_;
    MarkerSet ends_;      ///< markers that end the field
    MarkerSet followers_; ///< texts that may follow a call whose closing texts are missing
    std::optional<CallObject> object_;
    std::optional<JsonScanner> json_;
    std::optional<NotationScanner> notation_;
    std::string text_;            ///< text of the field
    std::size_t field_begin_ = 0; ///< offset in the input
};

} // namespace etna::output
