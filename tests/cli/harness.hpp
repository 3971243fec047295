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

/// In Harness::agreements: the user stops the turn instead of answering.
constexpr const char* ctrl_c = "\x03";

enum class InputKind { none, pipe, file };

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Exit code and output of a command.
struct Outcome {
    int code = -1;
    std::string output;
    std::string error;
};

/// Runs commands in process, with files for streams and a fake executor with a model's real tokenizer. The
/// home folder is temporary and removed by the destructor; its only model is `stories` (stories260K, which
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

    /// Loads an installed model on the fake executor, as a command does. Borrows this.
    generate::Model load(const std::string& name);

    /// Number of prompt tokens that the last run computed.
    [[nodiscard]] std::size_t prompt_token_count() const { return prompt_tokens_.size(); }

    /// Writes a file below the home folder.
    std::filesystem::path write(const std::string& path, const std::string& content) const;

    /// Writes NAME.gguf into the models folder: the metadata of `stories` with these texts and numbers added.
    void install_model(const std::string& name, const std::vector<std::pair<std::string, std::string>>& texts,
                       const std::vector<std::pair<std::string, float>>& numbers = {}) const;

    InputKind input_kind = InputKind::none;
    std::string input;
    std::optional<std::string> answer =
        " there was a dog.";          ///< the model's answer to every prompt; empty: endless text
    std::vector<std::string> answers; ///< answers of a conversation in order, instead of `answer`
    std::vector<std::string>
        agreements; ///< the user's replies in order, or ctrl_c; afterwards there is no terminal
    std::vector<std::string> questions; ///< questions to the user
    cli::Variables variables;
    bool input_is_terminal = false;
    bool output_is_terminal = false;
    bool error_is_terminal = false;
    bool on_cpu = false;
    bool has_adapted_kv_type = false;
    Result<runtime::KernelTimings> kernel_timings = runtime::KernelTimings{}; ///< of `etna bench --kernels`
    Result<runtime::DeviceRates> rates =
        Error{ErrorKind::no_device, "no device can run models"}; ///< of `etna plan --list`
    std::string rated_device;                                    ///< --device of the last `etna plan --list`
    Result<runtime::TuneReport> tune_report = runtime::TuneReport{}; ///< of `etna tune`
    std::optional<runtime::TuneRequest> tune_request;                ///< of the last `etna tune`
    std::string reset_device;        ///< --device of the last `etna tune --reset`
    std::string kernel_filter;       ///< FILTER of the last `etna bench --kernels`
    std::vector<vk::Timing> timings; ///< of the device's last step
    uint32_t context_tokens = 2048;  ///< that of `stories`
    std::chrono::microseconds step_delay{0};
    uint64_t row_weights = 0; ///< of the model's layers; 0: unknown
    std::optional<uint64_t> lost_at_step;
    std::atomic<bool> interrupted{false};
    std::atomic<int> end_signal{0};
    Result<runtime::DeviceReports> devices = runtime::DeviceReports{}; ///< the devices of `etna devices`
    std::string listed_device;                  ///< --device of the last `etna devices`
    std::filesystem::path devices_cache_folder; ///< cache folder of the last `etna devices`

    std::string prompt;                            ///< prompt of the last run, begin token included
    std::optional<runtime::ExecutorOptions> asked; ///< options of the last executor

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
