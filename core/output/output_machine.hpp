#pragma once

#include "core/output/call_reader.hpp"
#include "core/output/event_writer.hpp"
#include "core/output/input_buffer.hpp"
#include "core/output/markers.hpp"
#include "core/output/parser.hpp"
#include "core/output/tools.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::output {

/// Implements Parser as a state machine. Each step consumes text, changes the state, or waits for more text
/// to decide. The result of a step depends on the text alone, never on chunk boundaries. Not thread-safe.
class OutputMachine {
public:
    OutputMachine(const Syntax& syntax, Tools tools, const ParserOptions& options);
    OutputMachine& operator=(const OutputMachine&) = delete;

    [[nodiscard]] std::unique_ptr<OutputMachine> copy() const;

    std::span<const Event> push(std::string_view text);
    std::span<const Event> finish(Ending ending);

    /// See Parser.
    [[nodiscard]] std::string_view held_space() const;
    [[nodiscard]] std::size_t undecided_bytes() const;
    [[nodiscard]] std::optional<OpenReasoning> open_reasoning() const;

private:
    OutputMachine(const OutputMachine&) = default; // see copy(): members refer to each other

    /// What the output is read by. Copies share it, so that their pointers into it stay valid.
    struct Rules {
        Syntax syntax;
        Tools tools;
        Section message_section; ///< the body of a message to a function
    };

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

    /// What has to be read before a section is known to hold calls. Until then it is an attempt, whose text
    /// may prove to be something else.
    enum class Proof : uint8_t {
        none,         ///< it is known
        call_begun,   ///< what can begin a call
        call_named,   ///< the name of an offered function, and the start of its arguments
        call_done,    ///< a complete call of an offered function
        section_done, ///< the complete section
    };

    struct Attempt {
        Proof lacks = Proof::none;
        State before = State::content; ///< the state to return to
        std::size_t section = 0;       ///< index in Syntax::sections
        std::string_view marker;       ///< the opening marker; empty: none
        std::size_t begin = 0;         ///< offset
    };

    /// The meaning of a marker in content, with its index among its kind.
    struct Meaning {
        enum class Kind : uint8_t {
            section,
            call_close, ///< a tag, of a section or a call that is not open; also written in prose
            hidden,
            message_open,
            message_close,
            reasoning_open,
            reasoning_close,
            answer_close
        } kind;
        std::size_t index = 0;
    };

    void run();
    Progress step();
    void forget_consumed();
    void retain_from_here() { retained_ = input_.offset(); }

    // Content and reasoning
    void collect_markers();
    void enter_content();
    Progress read_content();
    bool reasoning_opens(Progress& progress);
    bool answer_opens(Progress& progress);
    void take_content(std::size_t bytes);
    [[nodiscard]] Match is_alone_on_line(std::string_view marker) const;
    Progress enter_marker(std::size_t marker);
    void enter_reasoning(std::string_view close);
    void enter_message_text(State state);
    void add_reasoning_marker(std::string_view marker, Meaning meaning);
    void add_sections_to_reasoning();
    Progress read_reasoning();

    // Sections that may prove to be something else
    [[nodiscard]] bool is_recognised(const Section& section) const;
    [[nodiscard]] bool ends_reasoning() const;
    [[nodiscard]] std::optional<std::size_t> find_section(std::size_t first, std::string_view marker,
                                                          State before) const;
    bool begin_unmarked();
    bool begin_marked(std::size_t section, std::string_view marker, State before);
    void begin_attempt(const Attempt& attempt);
    void prove();
    void reject();
    [[nodiscard]] bool is_proven_by_end() const;

    // Headers of messages
    void enter_header();
    Progress read_header();
    void reject_header();
    bool follow_header(std::string_view header);
    bool follow(const Route& route, std::string_view recipient);

    // Sections of calls
    void enter_section(const Section& section);
    void leave_section();
    void leave_unmarked_section();
    Progress read_section();
    static Progress progress_after(Match match);
    Match section_part();
    Match section_fence();
    Match choose_call();
    [[nodiscard]] Match may_begin(const Pattern& pattern) const;
    [[nodiscard]] bool may_begin(Field field) const;
    Progress read_other_than_call();
    Progress read_empty_message();
    void enter_call(const Pattern& pattern);
    Progress read_call();
    bool retry_tentative_call();
    void enter_broken_call();
    Progress read_broken_call();

    static constexpr std::size_t not_retained = std::numeric_limits<std::size_t>::max();

    const std::shared_ptr<const Rules> rules_;
    const Syntax& syntax_; ///< of rules_, like the next two
    const Tools& tools_;
    const Section& message_section_;
    const bool is_structured_;           ///< see ParserOptions
    const bool has_strict_calls_;        ///< see ParserOptions
    const bool mentions_answer_markers_; ///< see ParserOptions
    EventWriter out_;
    InputBuffer input_;
    std::size_t retained_ = not_retained; ///< offset of the text that is retained for a failed call or header
    State state_ = State::content;

    bool at_span_start_ = true;       ///< a span of content could start here
    bool at_line_start_ = false;      ///< the content read last ends with a line
    bool is_line_blank_ = false;      ///< the line of content read last holds white space alone
    bool in_block_ = false;           ///< in a block of code that holds no calls
    bool is_after_reasoning_ = false; ///< no content has been read since
    std::string_view answer_close_;   ///< of the open AnswerMarkers; empty: none
    MarkerSet content_markers_;
    std::vector<Meaning> meanings_; ///< of content_markers_
    std::string_view line_starts_;  ///< what begins calls without a marker on a line of content
    MarkerSet reasoning_opens_;
    MarkerSet reasoning_markers_;
    std::vector<Meaning> reasoning_meanings_; ///< of reasoning_markers_

    std::size_t header_begin_ = 0; ///< offset; the opening marker lies between retained_ and here
    std::string function_;         ///< the function that the message addresses

    Attempt attempt_;
    std::size_t reread_bytes_ = 0; ///< of attempts that proved to be something else
    const Section* section_ = nullptr;
    std::size_t section_calls_ = 0; ///< complete or broken
    bool bracketed_ = false;
    bool brackets_closed_ = false;
    bool fenced_ = false;       ///< a code fence around the calls is open
    bool separated_ = false;    ///< a separator followed the last call
    std::size_t calls_end_ = 0; ///< offset of the end of the last call, or of the brackets around all
    CallReader call_;
    MarkerSet broken_ends_;          ///< the section's close, the call's close, then markers of content
    std::size_t section_closes_ = 0; ///< number of section's closes in broken_ends_
    std::size_t call_closes_ = 0;    ///< `section_closes_` plus the number of the call's closes
};

} // namespace etna::output
