#include "cli/chat/edit_reader.hpp"

#include "cli/environment.hpp"
#include "cli/terminal/word_wrap.hpp"
#include "core/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::cli {
namespace {

/// Source of typed characters and terminal events, for a terminal in raw mode. Signal handlers only set
/// flags; the caller of next() acts on them.
class KeySource {
public:
    enum class Event : uint8_t {
        character,
        interrupted, ///< SIGINT from another process: a typed Ctrl-C is a character
        resized,     ///< the terminal size changed
        resumed,     ///< the program was stopped and continued
        silence,     ///< the time limit expired without input
        end,         ///< the terminal is gone, or an end signal arrived
    };

    /// Records SIGWINCH, SIGCONT and SIGINT during its lifetime. At most one per process at a time.
    class Watch {
    public:
        Watch();
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;
        ~Watch();
    };

    /// Borrows the descriptor.
    KeySource(int descriptor, EndSignal end_signal)
        : descriptor_(descriptor), end_signal_(std::move(end_signal)) {}

    /// Reads the next character, a code point; skips bytes that are not UTF-8. Blocks for at most `timeout`,
    /// or without limit. Precondition: there is a Watch.
    Event next(wchar_t& character, std::optional<std::chrono::milliseconds> timeout = std::nullopt);

private:
    bool read_byte();
    bool take_character(wchar_t& character);

    int descriptor_;
    EndSignal end_signal_;
    std::string partial_character_; ///< bytes of an incomplete character
};

constexpr int key_poll_ms = 100; // a signal delivered to another thread does not interrupt poll()
constexpr std::array watched_signals = {SIGCONT, SIGINT, SIGWINCH};

/// One flag per watched signal, and its event.
std::array<volatile std::sig_atomic_t, watched_signals.size()> pending_signals = {};
constexpr std::array events = {KeySource::Event::resumed, KeySource::Event::interrupted,
                               KeySource::Event::resized};
std::array<struct sigaction, watched_signals.size()> previous_actions;

extern "C" void note_signal(int number) {
    for (std::size_t i = 0; i < watched_signals.size(); ++i) {
        if (watched_signals[i] == number)
            pending_signals[i] = 1;
    }
}

KeySource::Watch::Watch() {
    for (auto& flag : pending_signals)
        flag = 0;
    struct sigaction action{};
    action.sa_handler = note_signal;
    for (std::size_t i = 0; i < watched_signals.size(); ++i)
        sigaction(watched_signals[i], &action, &previous_actions[i]);
}

KeySource::Watch::~Watch() {
    for (std::size_t i = 0; i < watched_signals.size(); ++i)
        sigaction(watched_signals[i], &previous_actions[i], nullptr);
}

/// Returns false at the end of the input or on a read error.
bool KeySource::read_byte() {
    char byte = 0;
    const ssize_t count = ::read(descriptor_, &byte, 1);
    if (count == 1)
        partial_character_ += byte;
    return count == 1 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

/// Returns false if there is no complete character.
bool KeySource::take_character(wchar_t& character) {
    while (!partial_character_.empty()) {
        const Utf8Step step = next_utf8(partial_character_);
        if (step.kind == Utf8Kind::truncated)
            return false;
        if (step.kind == Utf8Kind::valid)
            character = static_cast<wchar_t>(code_point_of(partial_character_, step.bytes));
        partial_character_.erase(0, step.bytes);
        if (step.kind == Utf8Kind::valid)
            return true;
    }
    return false;
}

KeySource::Event KeySource::next(wchar_t& character, std::optional<std::chrono::milliseconds> timeout) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    while (true) {
        if (end_signal_() != 0)
            return Event::end;
        for (std::size_t i = 0; i < pending_signals.size(); ++i) {
            if (pending_signals[i] != 0) {
                pending_signals[i] = 0;
                return events[i];
            }
        }
        if (take_character(character))
            return Event::character;
        pollfd typed{descriptor_, POLLIN, 0};
        if (::poll(&typed, 1, key_poll_ms) > 0) {
            if (!read_byte())
                return Event::end;
        } else if (timeout && Clock::now() - begin >= *timeout) {
            return Event::silence;
        }
    }
}

constexpr int history_lines_max = 1000;
constexpr std::wstring_view paste_end = L"\x1b[201~";
constexpr std::string_view paste_on = "\x1b[?2004h"; // xterm's bracketed paste mode
constexpr std::string_view paste_off = "\x1b[?2004l";
constexpr std::string_view clear_rest = "\r\x1b[J"; // ECMA-48's ED
constexpr wchar_t ctrl_c = L'\x03';
constexpr const wchar_t* enter = L"\n";
constexpr const wchar_t* previous_in_history = L"\x10"; // ^P and ^N, libedit's keys
constexpr const wchar_t* next_in_history = L"\x0e";
constexpr std::chrono::milliseconds paste_silence{1000};

/// wchar_t holds a code point here, as everywhere but on Windows.
std::string narrow(std::wstring_view text) {
    std::string result;
    for (const wchar_t character : text)
        append_utf8(result, static_cast<char32_t>(character));
    return repaired_utf8(result);
}

std::wstring wide(std::string_view text) {
    std::wstring result;
    while (!text.empty()) {
        const Utf8Step step = next_utf8(text);
        result +=
            step.kind == Utf8Kind::valid ? static_cast<wchar_t>(code_point_of(text, step.bytes)) : L'\xfffd';
        text.remove_prefix(step.bytes);
    }
    return result;
}

/// libedit decodes input by the locale: without a UTF-8 locale, multi-byte characters would be broken.
void use_utf8_locale() {
    std::setlocale(LC_CTYPE, "");
    if (std::strcmp(::nl_langinfo(CODESET), "UTF-8") != 0)
        std::setlocale(LC_CTYPE, "C.UTF-8");
}

bool terminal_supports_sequences() {
    const char* kind = std::getenv("TERM"); // as libedit itself does
    return kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

/// Returns the longest common prefix of the words, in complete characters.
std::string common_prefix(const std::vector<std::string>& words) {
    std::string common = words.front();
    for (const std::string& other : words) {
        const auto [end, unused] = std::mismatch(common.begin(), common.end(), other.begin(), other.end());
        common.erase(end, common.end());
    }
    common.resize(valid_utf8_prefix(common));
    return common;
}

std::string list_of(const std::vector<std::string>& words) {
    constexpr std::size_t words_max = 100;
    const std::size_t shown = std::min(words.size(), words_max);
    std::string list;
    for (std::size_t i = 0; i < shown; ++i)
        list += words[i] + "  ";
    return shown == words.size() ? list : fmt::format("{}(and {} more)", list, words.size() - shown);
}

struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
struct EditCloser {
    void operator()(EditLine* edit) const { el_end(edit); }
};
struct HistoryCloser {
    void operator()(HistoryW* history) const { history_wend(history); }
};
using HistoryPointer = std::unique_ptr<HistoryW, HistoryCloser>;

/// Returns null if out of memory; an empty history if there is no such file.
HistoryPointer load_history(const std::filesystem::path& file) {
    HistoryPointer history(history_winit());
    HistEventW event;
    if (history) {
        history_w(history.get(), &event, H_SETSIZE, history_lines_max);
        history_w(history.get(), &event, H_SETUNIQUE, 1);
    }
    if (history && !file.empty())
        history_w(history.get(), &event, H_LOAD, file.c_str());
    return history;
}

/// Appends a line under a lock, so that lines added by other chats are preserved.
void add_to_file(const std::filesystem::path& file, const std::wstring& line) {
    const int lock = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (lock < 0)
        return;
    ::flock(lock, LOCK_EX); // released with the descriptor
    if (const HistoryPointer history = load_history(file)) {
        HistEventW event;
        history_w(history.get(), &event, H_ENTER, line.c_str());
        history_w(history.get(), &event, H_SAVE, file.c_str());
    }
    ::close(lock);
}

} // namespace

struct EditReader::Impl {
    EditOptions options;
    KeySource keys;
    std::unique_ptr<std::FILE, FileCloser> output; ///< outlives `edit`, as does `history`
    HistoryPointer history;
    std::unique_ptr<EditLine, EditCloser> edit;
    std::wstring prompt;
    bool is_interrupted = false;
    bool pastes = false; ///< the terminal supports sequences, so bracketed paste is enabled

    explicit Impl(EditOptions given) : options(std::move(given)), keys(STDIN_FILENO, options.end_signal) {}

    static Impl& of(EditLine* edit) {
        void* impl = nullptr;
        el_wget(edit, EL_CLIENTDATA, &impl);
        return *static_cast<Impl*>(impl);
    }

    void write(std::string_view text) const {
        std::fwrite(text.data(), 1, text.size(), output.get());
        std::fflush(output.get());
    }

    static wchar_t* prompt_of(EditLine* edit) { return of(edit).prompt.data(); }

    /// Ends the line as Enter does, which moves the cursor below the last row of the text.
    static unsigned char interrupt(EditLine* edit, wint_t /*character*/) {
        of(edit).is_interrupted = true;
        el_wpush(edit, enter);
        return CC_NORM;
    }

    /// The text before the cursor, and the one behind it.
    struct Halves {
        std::wstring_view before;
        std::wstring_view after;
    };

    static Halves halves_of(EditLine* edit) {
        const LineInfoW* line = el_wline(edit);
        return {{line->buffer, static_cast<std::size_t>(line->cursor - line->buffer)},
                {line->cursor, static_cast<std::size_t>(line->lastchar - line->cursor)}};
    }

    /// Moves to the line above in a text of several lines; on its first line, to the history.
    static unsigned char up(EditLine* edit, wint_t /*character*/) {
        const std::wstring_view before = halves_of(edit).before;
        const std::size_t newline = before.rfind(L'\n');
        if (newline == std::wstring_view::npos) {
            el_wpush(edit, previous_in_history);
            return CC_NORM;
        }
        const std::size_t column = before.size() - newline - 1;
        const std::size_t begin = newline == 0 ? 0 : before.rfind(L'\n', newline - 1) + 1;
        el_cursor(edit,
                  static_cast<int>(std::min(begin + column, newline)) - static_cast<int>(before.size()));
        return CC_CURSOR;
    }

    /// Moves to the line below; on the last line, to the history.
    static unsigned char down(EditLine* edit, wint_t /*character*/) {
        const auto [before, after] = halves_of(edit);
        const std::size_t newline = after.find(L'\n');
        if (newline == std::wstring_view::npos) {
            el_wpush(edit, next_in_history);
            return CC_NORM;
        }
        const std::size_t column = before.size() - (before.rfind(L'\n') + 1);
        const std::size_t end = std::min(after.find(L'\n', newline + 1), after.size());
        el_cursor(edit, static_cast<int>(std::min(newline + 1 + column, end)));
        return CC_CURSOR;
    }

    static unsigned char suspend(EditLine* edit, wint_t /*character*/) {
        el_wset(edit, EL_PREP_TERM, 0);
        ::kill(0, SIGTSTP); // as the terminal does: stops every process of the pipeline
        return CC_REDISPLAY;
    }

    /// Replaces libedit's function, whose signal handlers free and allocate memory that the interrupted code
    /// uses.
    static int next_character(EditLine* edit, wchar_t* character) {
        const KeySource::Event event = of(edit).next_event(*character, std::nullopt);
        if (event == KeySource::Event::interrupted)
            *character = ctrl_c;
        return event == KeySource::Event::end ? 0 : 1;
    }

    /// Handles resize and resume events itself and does not return them.
    KeySource::Event next_event(wchar_t& character, std::optional<std::chrono::milliseconds> timeout) {
        while (true) {
            const KeySource::Event event = keys.next(character, timeout);
            if (event == KeySource::Event::resumed) {
                el_wset(edit.get(), EL_PREP_TERM, 0); // clears libedit's record that the terminal is prepared
                el_wset(edit.get(), EL_PREP_TERM, 1);
                redraw(0);
            } else if (event == KeySource::Event::resized) {
                redraw(rows_above_cursor());
            } else {
                return event;
            }
        }
    }

    /// Redraws the line on a screen that may have another size or other text. `rows_above`: rows of the line
    /// above the cursor's.
    void redraw(uint32_t rows_above) const {
        el_resize(edit.get());
        if (pastes && rows_above > 0)
            write(fmt::format("\x1b[{}A", rows_above)); // ECMA-48's CUU
        write(pastes ? clear_rest : "\n");
        el_wset(edit.get(), EL_REFRESH);
    }

    /// Returns how many rows above the cursor the line begins, on a terminal that rewraps its text when
    /// resized.
    [[nodiscard]] uint32_t rows_above_cursor() const {
        const uint32_t columns = columns_of(::fileno(output.get()));
        const std::wstring text = prompt + std::wstring(halves_of(edit.get()).before);
        uint32_t rows = 0;
        uint32_t column = 0;
        for (const wchar_t character : text) {
            const auto width = static_cast<uint32_t>(std::max(::wcwidth(character), 0));
            const bool is_full = columns > 0 && column + width > columns;
            rows += is_full || character == L'\n' ? 1 : 0;
            column = character == L'\n' ? 0 : (is_full ? width : column + width);
        }
        return rows + (columns > 0 && column == columns ? 1 : 0);
    }

    /// Everything up to the end marker is text, newlines included. A pause also ends the text, so that a
    /// missing marker does not block the user.
    static unsigned char paste(EditLine* edit, wint_t /*character*/) {
        std::wstring text;
        auto event = KeySource::Event::character;
        while (event == KeySource::Event::character && !text.ends_with(paste_end)) {
            wchar_t character = 0;
            event = of(edit).next_event(character, paste_silence);
            if (event == KeySource::Event::character)
                text += character == L'\r' ? L'\n' : character;
        }
        const bool is_given_up = event == KeySource::Event::silence && text.ends_with(ctrl_c);
        if (event == KeySource::Event::interrupted || is_given_up)
            return interrupt(edit, ctrl_c);
        if (text.ends_with(paste_end))
            text.resize(text.size() - paste_end.size());
        std::erase_if(text, [](wchar_t each) { return each < L' ' && each != L'\n' && each != L'\t'; });
        return el_winsertstr(edit, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
    }

    /// Inserts the unambiguous part of the completion; otherwise lists the candidates.
    static unsigned char complete(EditLine* edit, wint_t /*character*/) {
        const LineInfoW* line = el_wline(edit);
        const std::string typed =
            narrow({line->buffer, static_cast<std::size_t>(line->cursor - line->buffer)});
        const Impl& impl = of(edit);
        const LineCompletion completion = impl.options.complete(typed);
        const std::vector<std::string>& words = completion.words;
        if (words.empty())
            return CC_ERROR;
        std::string certain = common_prefix(words);
        if (words.size() == 1 && !certain.ends_with('/'))
            certain += ' ';
        const std::string rest = certain.substr(typed.size() - completion.begin);
        if (!rest.empty())
            return el_winsertstr(edit, wide(rest).c_str()) == 0 ? CC_REFRESH : CC_ERROR;
        impl.write(fmt::format("\n{}\n", list_of(words)));
        return CC_REDISPLAY;
    }

    void bind() {
        EditLine* line = edit.get();
        el_wset(line, EL_CLIENTDATA, this);
        el_wset(line, EL_PROMPT, &Impl::prompt_of);
        el_wset(line, EL_EDITOR, L"emacs");
        el_wset(line, EL_GETCFN, &Impl::next_character);
        el_wset(line, EL_HIST, history_w, history.get());
        el_wset(line, EL_ADDFN, L"etna-interrupt", L"throw the line away", &Impl::interrupt);
        el_wset(line, EL_ADDFN, L"etna-suspend", L"stop the program", &Impl::suspend);
        el_wset(line, EL_ADDFN, L"etna-paste", L"insert pasted text", &Impl::paste);
        el_wset(line, EL_ADDFN, L"etna-up", L"move up in the text, or to the previous one", &Impl::up);
        el_wset(line, EL_ADDFN, L"etna-down", L"move down in the text, or to the next one", &Impl::down);
        el_wset(line, EL_ADDFN, L"etna-complete", L"complete a word", &Impl::complete);
        // Ctrl-C and Ctrl-Z arrive as characters while a line is edited.
        el_wset(line, EL_SETTY, L"-d", L"-isig", nullptr);
        el_wset(line, EL_BIND, L"^C", L"etna-interrupt", nullptr);
        el_wset(line, EL_BIND, L"^Z", L"etna-suspend", nullptr);
        el_wset(line, EL_BIND, L"\x1b[200~", L"etna-paste", nullptr);
        for (const wchar_t* key : {L"\x1b[A", L"\x1bOA"}) // in normal and in application mode
            el_wset(line, EL_BIND, key, L"etna-up", nullptr);
        for (const wchar_t* key : {L"\x1b[B", L"\x1bOB"})
            el_wset(line, EL_BIND, key, L"etna-down", nullptr);
        el_wset(line, EL_BIND, L"^I", L"etna-complete", nullptr);
        el_wset(line, EL_BIND, L"^R", L"em-inc-search-prev", nullptr);
    }
};

Result<std::unique_ptr<EditReader>> EditReader::create(int descriptor, EditOptions options) {
    use_utf8_locale();
    auto impl = std::make_unique<Impl>(std::move(options));
    const int screen = ::dup(descriptor); // closed with the stream
    if (screen >= 0)
        impl->output.reset(::fdopen(screen, "w"));
    impl->history = load_history(impl->options.history_file);
    if (impl->output)
        impl->edit.reset(el_init("etna", stdin, impl->output.get(), impl->output.get()));
    if (!impl->history || !impl->edit)
        return Error{ErrorKind::io, fmt::format("cannot edit lines: {}", std::strerror(errno))};
    impl->pastes = terminal_supports_sequences();
    impl->bind();
    return std::unique_ptr<EditReader>(new EditReader(std::move(impl)));
}

EditReader::EditReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

EditReader::~EditReader() = default;

LineReader::Outcome EditReader::read(std::string_view prompt, std::string& line) {
    impl_->prompt = wide(prompt);
    impl_->is_interrupted = false;
    if (impl_->pastes)
        impl_->write(paste_on);
    const KeySource::Watch watch;
    int count = 0;
    const wchar_t* text = el_wgets(impl_->edit.get(), &count);
    if (impl_->pastes)
        impl_->write(paste_off);
    if (impl_->is_interrupted)
        return Outcome::interrupted;
    if (text == nullptr || count <= 0) {
        impl_->write("\n");
        return Outcome::end;
    }
    line = narrow({text, static_cast<std::size_t>(count)});
    if (line.ends_with('\n'))
        line.pop_back();
    return Outcome::line;
}

void EditReader::remember(const std::string& message) {
    const std::wstring line = wide(message);
    HistEventW event;
    history_w(impl_->history.get(), &event, H_ENTER, line.c_str());
    const std::filesystem::path& file = impl_->options.history_file;
    if (file.empty())
        return;
    std::error_code failure; // a history that cannot be stored is not an error
    std::filesystem::create_directories(file.parent_path(), failure);
    add_to_file(file, line);
}

} // namespace etna::cli
