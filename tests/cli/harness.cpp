#include "tests/cli/harness.hpp"

#include "core/gguf/file.hpp"
#include "core/model/model.hpp"
#include "core/store/resolve.hpp"
#include "core/text/tokenizer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/gguf_writer.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <memory>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace etna::test {
namespace {

constexpr const char* stories_file = ETNA_TEST_DATA "/models/stories260K.gguf";

/// A file in memory, closed with the scope.
struct MemoryFile {
    int descriptor = ::memfd_create("etna-test", 0);
    MemoryFile() = default;
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    ~MemoryFile() { ::close(descriptor); }

    [[nodiscard]] std::string content() const {
        std::string text(static_cast<std::size_t>(::lseek(descriptor, 0, SEEK_END)), '\0');
        REQUIRE(::pread(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
        return text;
    }
};

/// A descriptor to read `text` from.
int open_input(InputKind kind, const std::string& text) {
    if (kind == InputKind::none)
        return ::open("/dev/null", O_RDONLY);
    if (kind == InputKind::file) {
        const int file = ::memfd_create("etna-test-input", 0);
        REQUIRE(::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
        ::lseek(file, 0, SEEK_SET);
        return file;
    }
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size())); // fits the pipe
    ::close(ends[1]);
    return ends[0];
}

template <class Item>
void add_value(GgufWriter& writer, const std::string& key, const Item& item) {
    if constexpr (std::is_same_v<Item, std::string_view>) {
        writer.add(key, std::string(item));
    } else if constexpr (std::is_same_v<Item, gguf::Array>) {
        std::visit(
            [&](const auto& items) {
                using Element = typename std::decay_t<decltype(items)>::value_type;
                if constexpr (std::is_same_v<Element, std::string_view>) {
                    writer.add_array(key, std::vector<std::string>(items.begin(), items.end()));
                } else if constexpr (!std::is_same_v<Element, gguf::Array>) {
                    writer.add_array(key, items);
                }
            },
            item.items);
    } else {
        writer.add(key, item);
    }
}

} // namespace

Harness::Harness() {
    (void)std::signal(SIGPIPE, SIG_IGN); // as in the program
    static std::atomic<int> count = 0;
    home_ = std::filesystem::temp_directory_path() /
            ("etna-cli-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::create_directories(models_folder());
    std::filesystem::create_symlink(stories_file, models_folder() / "stories.gguf");
    variables["HOME"] = home_.string();
}

std::filesystem::path Harness::models_folder() const {
    return home_ / ".local/share/etna/models";
}

Harness::~Harness() {
    std::filesystem::remove_all(home_);
}

std::filesystem::path Harness::write(const std::string& path, const std::string& content) const {
    const auto file = home_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file;
}

void Harness::install_model(const std::string& name,
                            const std::vector<std::pair<std::string, std::string>>& texts,
                            const std::vector<std::pair<std::string, float>>& numbers) const {
    const auto stories = gguf::File::open(stories_file);
    REQUIRE(stories.has_value());
    GgufWriter writer;
    for (const gguf::KeyValue& entry : stories->metadata())
        std::visit([&](const auto& item) { add_value(writer, std::string(entry.key), item); }, entry.value);
    for (const auto& [key, text] : texts)
        writer.add(key, text);
    for (const auto& [key, number] : numbers)
        writer.add(key, number);
    const Bytes bytes = writer.bytes();
    write(models_folder() / (name + ".gguf"),
          std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Result<std::vector<FakeScript>> Harness::scripts(const text::Tokenizer& tokenizer) const {
    std::vector<FakeScript> scripts;
    const auto add = [&](const std::string& text, std::optional<uint32_t> answers_before) -> Status {
        // SentencePiece adds a space before the text, so the answer's first space is removed.
        ETNA_TRY(auto tokens, tokenizer.encode(text.starts_with(' ') ? text.substr(1) : text,
                                               {.bos = text::AddBos::never}));
        tokens.push_back(tokenizer.eos().value());
        scripts.push_back({.answers_before = answers_before, .continuation = std::move(tokens)});
        return {};
    };
    for (uint32_t i = 0; i < answers.size(); ++i)
        ETNA_CHECK(add(answers[i], i));
    if (answers.empty() && answer)
        ETNA_CHECK(add(*answer, std::nullopt));
    return scripts;
}

cli::TerminalAnswer Harness::agree(const std::string& question) {
    using Kind = cli::TerminalAnswer::Kind;
    questions.push_back(question);
    if (agreements.empty())
        return {.kind = Kind::no_terminal};
    std::string said = agreements.front();
    agreements.erase(agreements.begin());
    return said == ctrl_c ? cli::TerminalAnswer{.kind = Kind::stopped}
                          : cli::TerminalAnswer{.kind = Kind::line, .line = std::move(said)};
}

Result<runtime::LoadedExecutor> Harness::make_executor(const gguf::File& file,
                                                       const runtime::ExecutorOptions& options) {
    asked = options;
    ETNA_TRY(auto tokenizer, text::Tokenizer::create(file));
    FakeOptions fake;
    fake.limits.vocabulary = tokenizer.size();
    fake.limits.context_tokens = options.context_tokens == 0 ? context_tokens : options.context_tokens;
    const auto is_encoder = model::is_encoder(file);
    fake.limits.is_encoder = is_encoder && *is_encoder;
    fake.limits.candidates_max = 64;
    fake.limits.groups = {{.page_count = 1024}};
    fake.step_delay = step_delay;
    fake.lost_at_step = lost_at_step;
    fake.on_submit = [this](const engine::Batch& batch) {
        for (const engine::Row& row : batch.rows) {
            if (row.kind == engine::RowKind::prefill)
                prompt_tokens_.push_back(row.value);
        }
    };
    ETNA_TRY(fake.scripts, scripts(tokenizer));
    tokenizer_.emplace(std::move(tokenizer));
    return runtime::LoadedExecutor{.device = nullptr,
                                   .executor = std::make_unique<FakeExecutor>(std::move(fake)),
                                   .device_name = "fake device",
                                   .on_cpu = on_cpu,
                                   .weight_reads = {.row_weights = row_weights},
                                   .has_adapted_kv_type = has_adapted_kv_type,
                                   .timings = [this] { return timings; }};
}

generate::Model Harness::load(const std::string& name) {
    const auto source = store::resolve(name, models_folder());
    REQUIRE(source.has_value());
    auto model = generate::Model::load(
        *source, {}, [this](const gguf::File& file, const runtime::ExecutorOptions& options) {
            return make_executor(file, options);
        });
    REQUIRE(model.has_value());
    return std::move(*model);
}

Outcome Harness::run(const std::vector<std::string>& arguments) {
    const MemoryFile output;
    Outcome outcome = run_into(output.descriptor, arguments);
    outcome.output = output.content();
    return outcome;
}

Outcome Harness::run_into(int output, const std::vector<std::string>& arguments) {
    const MemoryFile error;
    prompt_tokens_.clear();
    cli::Environment environment;
    environment.input = open_input(input_kind, input);
    environment.output = output;
    environment.error = error.descriptor;
    environment.input_is_terminal = input_is_terminal;
    environment.output_is_terminal = output_is_terminal;
    environment.error_is_terminal = error_is_terminal;
    environment.variables = variables;
    environment.device_lister = [this](std::string_view wish, const std::filesystem::path& cache_folder) {
        listed_device = wish;
        devices_cache_folder = cache_folder;
        return devices;
    };
    environment.executor_factory = [this](const gguf::File& file, const runtime::ExecutorOptions& options) {
        return make_executor(file, options);
    };
    environment.kernel_bench = [this](const runtime::KernelBenchOptions& options) {
        kernel_filter = options.filter;
        return kernel_timings;
    };
    environment.rate_meter = [this](const runtime::RateRequest& request) {
        rated_device = request.device;
        return rates;
    };
    environment.model_tuner = [this](const gguf::File& /*file*/, const runtime::TuneRequest& request) {
        tune_request = request;
        return tune_report;
    };
    environment.tuning_reset = [this](std::string_view device, const std::filesystem::path&) {
        reset_device = device;
        return Result<std::string>("a GPU");
    };
    environment.ask_at_terminal = [this](const std::string& question, const CancelPoll& /*is_cancelled*/) {
        return agree(question);
    };
    environment.watch_end_signals = [this] { return [this] { return end_signal.load(); }; };
    environment.watch_interrupts = [this](cli::SecondInterrupt /*second*/) {
        return [this] { return interrupted.load(); };
    };
    const cli::ExitCode code = cli::run(arguments, environment);
    ::close(environment.input);

    prompt.clear();
    for (const TokenId token : prompt_tokens_)
        prompt += tokenizer_->bytes(token);
    return {static_cast<int>(code), {}, error.content()};
}

} // namespace etna::test
