#include "cli/terminal/diagnostics.hpp"

#include "cli/terminal/printable.hpp"
#include "core/base/utf8.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace etna::cli {
namespace {

// SGR sequences of ECMA-48.
constexpr std::string_view red = "\x1b[1;31m";
constexpr std::string_view yellow = "\x1b[1;33m";
constexpr std::string_view cyan = "\x1b[1;36m";
constexpr std::string_view clear_line = "\r\x1b[K";

/// A terminal without control sequences sets TERM to "dumb" (terminfo's name).
bool supports_sequences(const Environment& environment) {
    const auto kind = environment.variables.find("TERM");
    return environment.error_is_terminal && (kind == environment.variables.end() || kind->second != "dumb");
}

bool uses_colour(const Environment& environment) {
    const auto no_color = environment.variables.find("NO_COLOR");
    const bool refused = no_color != environment.variables.end() && !no_color->second.empty();
    return supports_sequences(environment) && !refused;
}

constexpr std::size_t line_bytes_max = 2000;

/// Cuts the text unless `length` is full, because names and paths may have any length.
std::string shown(std::string_view text, Length length) {
    return length == Length::full ? printable(text)
                                  : cut(printable(cut(text, line_bytes_max)), line_bytes_max);
}

/// Returns the first characters of the text; each counts as one column.
std::string_view first_columns(std::string_view text, uint32_t columns) {
    std::size_t end = 0;
    for (uint32_t column = 0; column < columns && end < text.size(); ++column)
        end += next_utf8(text.substr(end)).bytes;
    return text.substr(0, end);
}

} // namespace

OutputState Output::write(std::string_view text) {
    while (state_ == OutputState::open && !text.empty()) {
        const ssize_t written = ::write(descriptor_, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) { // the terminal was made non-blocking
            pollfd ready{descriptor_, POLLOUT, 0};
            ::poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            error_number_ = errno;
            state_ = errno == EPIPE ? OutputState::closed : OutputState::failed;
        }
    }
    return state_;
}

Error Output::error() const {
    return {ErrorKind::io, fmt::format("cannot write to {}: {}", name_, std::strerror(error_number_))};
}

Diagnostics::Diagnostics(const Environment& environment)
    : output_(environment.error), descriptor_(environment.error), is_terminal_(environment.error_is_terminal),
      supports_sequences_(supports_sequences(environment)), in_colour_(uses_colour(environment)) {}

void Diagnostics::labelled(std::string_view colour, std::string_view label, std::string_view text,
                           Length length) {
    const std::string lines = in_lines(fmt::format("{}: {}", label, shown(text, length)), 0);
    const std::string_view rest =
        std::string_view(lines).substr(label.size() + 1); // lines break only between words
    write_line(in_colour_ ? fmt::format("{}{}:{}{}", colour, label, reset_style, rest) : lines);
}

void Diagnostics::error(const Error& error) {
    labelled(red, "error", error.message);
    if (!error.hint.empty())
        labelled(cyan, "hint", error.hint);
}

void Diagnostics::note(std::string_view text, Length length) {
    labelled(cyan, "note", text, length);
}

void Diagnostics::warning(std::string_view text) {
    labelled(yellow, "warning", text);
}

void Diagnostics::line(std::string_view text) {
    write_line(shown(text, Length::cut));
}

void Diagnostics::paragraph(std::string_view text, uint32_t indent) {
    write_line(in_lines(shown(text, Length::cut), indent));
}

std::string Diagnostics::in_lines(std::string text, uint32_t indent) const {
    const uint32_t columns = is_terminal_ && lines_ == LineWrap::words ? columns_of(descriptor_) : 0;
    if (columns == 0)
        return text;
    WordWrap wrap(indent);
    const std::string lines = wrap.add(text, columns);
    return lines + wrap.finish();
}

void Diagnostics::write_line(std::string_view text) {
    const std::scoped_lock lock(writing_);
    replace_status({});
    output_.write(fmt::format("{}\n", text));
}

uint32_t Diagnostics::status_columns() const {
    constexpr uint32_t usual_columns = 80;
    const uint32_t columns = columns_of(descriptor_);
    return (columns == 0 ? usual_columns : columns) - 1; // in the last column, some terminals begin a line
}

void Diagnostics::status(std::string_view text) {
    const std::scoped_lock lock(writing_);
    replace_status(text);
}

/// Precondition: `writing_` is locked.
void Diagnostics::replace_status(std::string_view text) {
    if (!supports_sequences_ || (text.empty() && !has_status_))
        return;
    output_.write(fmt::format("{}{}", clear_line, first_columns(text, status_columns())));
    has_status_ = !text.empty();
}

} // namespace etna::cli
