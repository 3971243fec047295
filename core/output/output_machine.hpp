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
    OutputMachine(const OutputMachine&) = delete; // members refer to each other
    OutputMachine& operator=(const OutputMachine&) = delete;

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

    /// The meaning of a marker in content, with its index among its kind.
    struct Meaning {
        enum class Kind : uint8_t {
            section,
            hidden,
            message_open,
            message_close,
            reasoning_open,
            reasoning_close
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
    void enter_marker(std::size_t marker);
    void enter_reasoning(std::string_view close);
    void enter_message_text(State state);
    Progress read_reasoning();

    // Headers of messages
    void enter_header();
    Progress read_header();
    void reject_header();
    bool follow_header(std::string_view header);
    bool follow(const Route& route, std::string_view recipient);

    // Sections of calls
    void enter_section(const Section& section);
    void leave_section();
    Progress read_section();
    static Progress progress_after(Match match);
    Match section_part();
    Match choose_call();
    [[nodiscard]] Match may_begin(const Pattern& pattern) const;
    [[nodiscard]] bool may_begin(Field field) const;
    Progress read_other_than_call();
    void enter_call(const Pattern& pattern);
    Progress read_call();
    bool retry_tentative_call();
    void reject_unmarked_section();
    void enter_broken_call();
    Progress read_broken_call();

    static constexpr std::size_t not_retained = std::numeric_limits<std::size_t>::max();

    const Syntax syntax_;
    const Tools tools_;
    const bool is_structured_; ///< see ParserOptions
    EventWriter out_;
    InputBuffer input_;
    std::size_t retained_ = not_retained; ///< offset of the text that is retained for a failed call or header
    State state_ = State::content;

    bool at_span_start_ = true; ///< a span of content could start here
    MarkerSet content_markers_;
    std::vector<Meaning> meanings_; ///< of content_markers_
    MarkerSet reasoning_opens_;
    MarkerSet reasoning_markers_; ///< closes of the reasoning, then the opens of sections
    std::size_t closes_ = 0;      ///< number of closes in reasoning_markers_

    std::size_t header_begin_ = 0; ///< offset; the opening marker lies between retained_ and here
    std::string function_;         ///< the function that the message addresses

    const Section* unmarked_ = nullptr; ///< the section without an opening marker
    Section message_section_;           ///< the body of a message to a function
    const Section* section_ = nullptr;
    std::size_t section_calls_ = 0; ///< complete or broken
    bool bracketed_ = false;
    bool brackets_closed_ = false;
    bool separated_ = false; ///< a separator followed the last call
    CallReader call_;
    MarkerSet broken_ends_;          ///< the section's close, the call's close, then markers of content
    std::size_t section_closes_ = 0; ///< number of section's closes in broken_ends_
    std::size_t call_closes_ = 0;    ///< `section_closes_` plus the number of the call's closes
};

} // namespace etna::output
