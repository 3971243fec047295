#include "cli/chat/edit_reader.hpp"

#include "cli/chat/key_source.hpp"
#include "core/base/utf8.hpp"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

namespace etna::cli {
namespace {

constexpr int history_lines_max = 1000;
constexpr std::wstring_view paste_end = L"\x1b[201~";
constexpr std::string_view paste_on = "\x1b[?2004h"; // xterm's bracketed paste mode
constexpr std::string_view paste_off = "\x1b[?2004l";
constexpr std::string_view clear_rest = "\r\x1b[J"; // ECMA-48's ED
constexpr wchar_t ctrl_c = L'\x03';

/// wchar_t holds a code point here, as everywhere but on Windows.
std::string narrow(std::wstring_view text) {
    std::string result;
    for (const wchar_t letter : text)
        append_utf8(result, static_cast<char32_t>(letter));
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

/// libedit decodes what is typed by the locale: without one for UTF-8, half of every accent would be lost.
void use_utf8_locale() {
    std::setlocale(LC_CTYPE, "");
    if (std::strcmp(::nl_langinfo(CODESET), "UTF-8") != 0)
        std::setlocale(LC_CTYPE, "C.UTF-8");
}

bool knows_sequences() {
    const char* kind = std::getenv("TERM"); // as libedit itself asks
    return kind != nullptr && std::strcmp(kind, "dumb") != 0;
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

} // namespace

struct EditReader::Content {
    EditOptions options;
    KeySource keys;
    std::unique_ptr<std::FILE, FileCloser> output; ///< outlives `edit`, as does `history`
    std::unique_ptr<HistoryW, HistoryCloser> history;
    std::unique_ptr<EditLine, EditCloser> edit;
    std::wstring prompt;
    bool is_interrupted = false;
    bool pastes = false; ///< the terminal knows sequences: it is told to mark what is pasted

    explicit Content(EditOptions wanted)
        : options(std::move(wanted)), keys(STDIN_FILENO, options.end_signal) {}

    static Content& of(EditLine* edit) {
        void* content = nullptr;
        el_wget(edit, EL_CLIENTDATA, &content);
        return *static_cast<Content*>(content);
    }

    void write(std::string_view text) const {
        std::fwrite(text.data(), 1, text.size(), output.get());
        std::fflush(output.get());
    }

    static wchar_t* prompt_of(EditLine* edit) { return of(edit).prompt.data(); }

    static unsigned char interrupt(EditLine* edit, wint_t /*letter*/) {
        of(edit).is_interrupted = true;
        return CC_NEWLINE;
    }

    static unsigned char suspend(EditLine* edit, wint_t /*letter*/) {
        el_wset(edit, EL_PREP_TERM, 0);
        ::kill(0, SIGTSTP); // as the terminal does: whoever is in the pipe stops too
        return CC_REDISPLAY;
    }

    /// In place of libedit's own, whose signal handlers free and allocate what they interrupt the use of.
    static int next_letter(EditLine* edit, wchar_t* letter) {
        Content& content = of(edit);
        while (true) {
            switch (content.keys.next(*letter)) {
            case KeySource::Event::letter:
                return 1;
            case KeySource::Event::interrupted:
                *letter = ctrl_c;
                return 1;
            case KeySource::Event::resumed:
                el_wset(edit, EL_PREP_TERM, 0); // it forgets that the terminal had been prepared
                el_wset(edit, EL_PREP_TERM, 1);
                content.redraw();
                break;
            case KeySource::Event::resized:
                content.redraw();
                break;
            case KeySource::Event::end:
                return 0;
            }
        }
    }

    /// The whole line anew, on a screen that may have another size or other text.
    void redraw() const {
        el_resize(edit.get());
        write(pastes ? clear_rest : "\n");
        el_wset(edit.get(), EL_REFRESH);
    }

    /// Everything up to the mark is text, newlines too.
    static unsigned char paste(EditLine* edit, wint_t /*letter*/) {
        std::wstring text;
        wchar_t letter = 0;
        while (!text.ends_with(paste_end) && el_wgetc(edit, &letter) == 1)
            text += letter == L'\r' ? L'\n' : letter;
        if (text.ends_with(paste_end))
            text.resize(text.size() - paste_end.size());
        std::erase_if(text, [](wchar_t each) { return each < L' ' && each != L'\n' && each != L'\t'; });
        return el_winsertstr(edit, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
    }

    /// The first word is completed by the options, any other as a file's name.
    static unsigned char complete(EditLine* edit, wint_t letter) {
        const LineInfoW* line = el_wline(edit);
        const std::wstring_view typed(line->buffer, static_cast<std::size_t>(line->cursor - line->buffer));
        const Content& content = of(edit);
        if (typed.find(L' ') != std::wstring_view::npos)
            return _el_fn_complete(edit, static_cast<int>(letter));
        const std::string word = narrow(typed);
        const std::vector<std::string> words = content.options.complete(word);
        if (words.empty())
            return CC_ERROR;
        std::string common = words.front();
        for (const std::string& other : words) {
            const auto [end, unused] =
                std::mismatch(common.begin(), common.end(), other.begin(), other.end());
            common.erase(end, common.end());
        }
        const std::string rest = common.substr(word.size()) + (words.size() == 1 ? " " : "");
        if (!rest.empty())
            return el_winsertstr(edit, wide(rest).c_str()) == 0 ? CC_REFRESH : CC_ERROR;
        std::string list = "\n";
        for (const std::string& each : words)
            list += each + "  ";
        content.write(list + "\n");
        return CC_REDISPLAY;
    }

    void bind() {
        EditLine* line = edit.get();
        el_wset(line, EL_CLIENTDATA, this);
        el_wset(line, EL_PROMPT, &Content::prompt_of);
        el_wset(line, EL_EDITOR, L"emacs");
        el_wset(line, EL_GETCFN, &Content::next_letter);
        el_wset(line, EL_HIST, history_w, history.get());
        el_wset(line, EL_ADDFN, L"etna-interrupt", L"throw the line away", &Content::interrupt);
        el_wset(line, EL_ADDFN, L"etna-suspend", L"stop the program", &Content::suspend);
        el_wset(line, EL_ADDFN, L"etna-paste", L"insert what is pasted", &Content::paste);
        el_wset(line, EL_ADDFN, L"etna-complete", L"complete a word", &Content::complete);
        // Ctrl-C and Ctrl-Z come as letters while a line is typed.
        el_wset(line, EL_SETTY, L"-d", L"-isig", nullptr);
        el_wset(line, EL_BIND, L"^C", L"etna-interrupt", nullptr);
        el_wset(line, EL_BIND, L"^Z", L"etna-suspend", nullptr);
        el_wset(line, EL_BIND, L"\x1b[200~", L"etna-paste", nullptr);
        el_wset(line, EL_BIND, L"^I", L"etna-complete", nullptr);
        el_wset(line, EL_BIND, L"^R", L"em-inc-search-prev", nullptr);
    }
};

Result<std::unique_ptr<EditReader>> EditReader::create(int descriptor, EditOptions options) {
    use_utf8_locale();
    auto content = std::make_unique<Content>(std::move(options));
    const int screen = ::dup(descriptor); // closed with the stream
    if (screen >= 0)
        content->output.reset(::fdopen(screen, "w"));
    content->history.reset(history_winit());
    if (content->output)
        content->edit.reset(el_init("etna", stdin, content->output.get(), content->output.get()));
    if (!content->history || !content->edit)
        return Error{ErrorKind::io, fmt::format("cannot edit lines: {}", std::strerror(errno))};
    HistEventW event;
    history_w(content->history.get(), &event, H_SETSIZE, history_lines_max);
    history_w(content->history.get(), &event, H_SETUNIQUE, 1);
    if (!content->options.history_file.empty())
        history_w(content->history.get(), &event, H_LOAD, content->options.history_file.c_str());
    content->pastes = knows_sequences();
    content->bind();
    return std::unique_ptr<EditReader>(new EditReader(std::move(content)));
}

EditReader::EditReader(std::unique_ptr<Content> content) : content_(std::move(content)) {}

EditReader::~EditReader() = default;

LineReader::Outcome EditReader::read(std::string_view prompt, std::string& line) {
    content_->prompt = wide(prompt);
    content_->is_interrupted = false;
    if (content_->pastes)
        content_->write(paste_on);
    const KeySource::Watch watch;
    int count = 0;
    const wchar_t* text = el_wgets(content_->edit.get(), &count);
    if (content_->pastes)
        content_->write(paste_off);
    if (content_->is_interrupted) {
        content_->write("\n");
        return Outcome::interrupted;
    }
    if (text == nullptr || count <= 0) {
        content_->write("\n");
        return Outcome::end;
    }
    line = narrow({text, static_cast<std::size_t>(count)});
    if (line.ends_with('\n'))
        line.pop_back();
    return Outcome::line;
}

void EditReader::remember(const std::string& message) {
    HistEventW event;
    history_w(content_->history.get(), &event, H_ENTER, wide(message).c_str());
    const std::filesystem::path& file = content_->options.history_file;
    if (file.empty())
        return;
    std::error_code failure; // a history that cannot be kept is no reason to stop
    std::filesystem::create_directories(file.parent_path(), failure);
    history_w(content_->history.get(), &event, H_SAVE, file.c_str());
}

} // namespace etna::cli
