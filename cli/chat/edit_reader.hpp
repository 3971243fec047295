#pragma once

#include "cli/chat/line_reader.hpp"
#include "cli/environment.hpp"
#include "core/base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// Completions of the last word of a partial line.
struct LineCompletion {
    std::size_t begin = 0;               ///< start of that word, in bytes
    std::vector<std::string> words = {}; ///< candidates that begin with it
};

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
    struct Impl;
    explicit EditReader(std::unique_ptr<Impl> impl);

    std::unique_ptr<Impl> impl_;
};

} // namespace etna::cli
