#pragma once

#include "cli/chat/complete.hpp"
#include "cli/chat/line_reader.hpp"
#include "cli/environment.hpp"
#include "core/base/result.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace etna::cli {

struct EditOptions {
    std::filesystem::path history_file = {}; ///< empty: no history is stored
    /// Completes the last word of the line up to the cursor.
    std::function<LineCompletion(std::string_view line)> complete;
    EndSignal end_signal; ///< a reported signal ends the input
};

/// Line editor for the terminal, with history, completion and bracketed paste, through libedit. Reads
/// standard input and writes to `descriptor`, both terminals. At most one per process at a time.
class EditReader : public LineReader {
public:
    /// Error: io.
    static Result<std::unique_ptr<EditReader>> create(int descriptor, EditOptions options);
    ~EditReader() override;

    Outcome read(std::string_view prompt, std::string& line) override;
    void remember(const std::string& message) override;

private:
    struct Content;
    explicit EditReader(std::unique_ptr<Content> content);

    std::unique_ptr<Content> content_;
};

} // namespace etna::cli
