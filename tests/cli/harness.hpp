#pragma once

#include "cli/environment.hpp"
#include "core/text/tokenizer.hpp"
#include "tests/support/fake_executor.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace etna::test {

/// Of Harness::agreements: the user stops the turn instead of answering.
constexpr const char* ctrl_c = "\x03";

enum class InputKind { none, pipe, file };

/// What a command left behind.
struct Outcome {
    int code = -1;
    std::string output;
    std::string error;
};

/// Runs commands in process, with files for streams and a fake executor behind a model's real tokenizer. The
/// home folder is a temporary one, which goes with the object; its one model is `stories` (stories260K, which
/// has no chat template).
class Harness {
public:
    Harness();
    Harness(const Harness&) = delete;
    Harness& operator=(const Harness&) = delete;
    ~Harness();

    Outcome run(const std::vector<std::string>& arguments);

    /// Runs with `output` as standard output; Outcome::output stays empty.
    Outcome run_into(int output, const std::vector<std::string>& arguments);

    /// An installed model on the fake executor, as a command has it. Borrows this.
    generate::Model load(const std::string& name);

    /// Writes a file below the home folder.
    std::filesystem::path write(const std::string& path, const std::string& content) const;

    /// The metadata of `stories` with texts and numbers added, as NAME.gguf in the models' folder.
    void install_model(const std::string& name, const std::vector<std::pair<std::string, std::string>>& texts,
                       const std::vector<std::pair<std::string, float>>& numbers = {}) const;

    InputKind input_kind = InputKind::none;
    std::string input;
    std::optional<std::string> answer =
        " there was a dog.";          ///< what the model says to everything; none: it rambles
    std::vector<std::string> answers; ///< of a conversation, one after another, instead of `answer`
    std::vector<std::string>
        agreements; ///< what the user says when asked, one after another, or ctrl_c; then there is nobody
    std::vector<std::string> questions; ///< that the user was asked
    cli::Variables variables;
    bool output_is_terminal = false;
    bool error_is_terminal = false;
    bool on_cpu = false;
    uint32_t context_tokens = 2048; ///< that of `stories`
    std::chrono::microseconds step_delay{0};
    std::optional<uint64_t> lost_at_step;
    std::atomic<bool> interrupted{false};
    std::atomic<int> end_signal{0};
    Result<runtime::DeviceReports> devices = runtime::DeviceReports{}; ///< what `etna devices` finds
    std::string wished_device;                                         ///< of the last `etna devices`
    std::filesystem::path devices_cache_folder;                        ///< likewise

    std::string prompt; ///< what the model of the last run was given, begin token included
    std::optional<runtime::ExecutorOptions> asked; ///< how its executor was asked for

private:
    [[nodiscard]] Result<std::vector<FakeScript>> scripts(const text::Tokenizer& tokenizer) const;
    cli::TerminalAnswer agree(const std::string& question);
    Result<runtime::LoadedExecutor> make_executor(const gguf::File& file,
                                                  const runtime::ExecutorOptions& options);

    [[nodiscard]] std::filesystem::path models_folder() const;

    std::filesystem::path home_;
    std::optional<text::Tokenizer> tokenizer_; ///< of the model that was loaded last
    std::vector<TokenId> prompt_tokens_;
};

} // namespace etna::test
