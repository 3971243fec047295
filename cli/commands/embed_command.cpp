#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/load_model.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/compat.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/text_io.hpp"
#include "core/base/bytes.hpp"
#include "core/generate/embedding.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace etna::cli {
namespace {

enum class EmbeddingFormat { jsonl, npy };

/// The validated command line of `etna embed`.
struct EmbedOptions {
    ModelOptions model;
    std::optional<std::string> text; ///< empty: read lines from standard input
    std::string output_file;         ///< empty: standard output
    EmbeddingFormat format = EmbeddingFormat::jsonl;
    generate::EmbeddingRequest request; ///< all but the text
};

/// Maximum texts in a batch.
constexpr uint32_t texts_per_batch = 64;

constexpr std::array embed_positionals = {
    model_positional,
    Positional{.name = "TEXT",
               .description = "the text; if absent or -, each line of standard input is a text",
               .presence = Presence::optional},
};

constexpr std::array<std::string_view, 2> embedding_formats = {"jsonl", "npy"};
constexpr std::array<std::string_view, 4> poolings = {"mean", "cls", "last", "rank"};

constexpr std::array embed_rows = {
    Option{.name = "format",
           .value = "FORMAT",
           .kind = Kind::choice,
           .choices = embedding_formats,
           .default_text = "jsonl",
           .description = "`jsonl`: a JSON object on each line, with index, tokens and embedding; `npy`: a "
                          "NumPy file, f32 [texts, dimensions]"},
    Option{.name = "output",
           .short_name = 'o',
           .value = "FILE",
           .kind = Kind::text,
           .default_text = "standard output",
           .description = "write to this file"},
    Option{.name = "dimensions",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, int32_max},
           .default_text = "all",
           .description = "keep the first N elements, for models trained for it (Matryoshka)"},
    Option{.name = "pooling",
           .value = "POOLING",
           .kind = Kind::choice,
           .choices = poolings,
           .default_text = "the model's own, otherwise `mean` with an encoder and `last` without",
           .description =
               "the mean of all tokens' hidden states, that of the first (`cls`), that of the last, "
               "or a reranker's score of the text"},
    Option{.name = "special",
           .description = "read the names of special tokens in a text, such as [SEP], as those tokens"},
    Option{.name = "no-normalize", .description = "do not divide embeddings by their length"},
};

constexpr auto embed_output_options = in_category(Category::output, embed_rows);
constexpr std::array embed_help = {help_option, help_all_option};

constexpr auto embed_compat =
    joined(compat_model, std::array{CompatOption{.names = "-p, --prompt", .ours = "TEXT"},
                                    CompatOption{.names = "--no-normalise", .ours = "no-normalize"}});

constexpr std::array embed_examples = {
    Example{"etna embed demo-embed \"What is a lava tube?\"", "the embedded model, to try it"},
    Example{"etna embed model.gguf \"What is a lava tube?\"", "one text"},
    Example{"etna embed model.gguf < lines.txt > vectors.jsonl", "each line of a file"},
    Example{"etna embed model.gguf --format npy -o vectors.npy < lines.txt", "a matrix for NumPy"},
};

/// Returns the header of an .npy file, version 1.0 (numpy.lib.format): f32 [rows, columns] in C order.
std::string npy_header(std::size_t rows, std::size_t columns) {
    constexpr std::size_t alignment = 64;
    constexpr std::size_t fixed_bytes = 10; // magic, version, length
    std::string text =
        fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
    text.resize(round_up(fixed_bytes + text.size() + 1, alignment) - fixed_bytes - 1, ' ');
    text += '\n';
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(text.size() & 0xFF);
    header += static_cast<char>(text.size() >> 8);
    return header + text;
}

std::string npy_row(const std::vector<float>& values) {
    static_assert(std::endian::native == std::endian::little);
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string json_row(std::size_t index, const generate::Embedding& embedding) {
    return fmt::format("{{\"index\":{},\"tokens\":{},\"embedding\":[{}]}}\n", index, embedding.tokens,
                       fmt::join(embedding.values, ","));
}

/// Writes embeddings in order.
class EmbeddingWriter {
public:
    /// `texts`: number of embeddings that will be written. Borrows `output`.
    EmbeddingWriter(Output& output, EmbeddingFormat format, std::size_t texts)
        : output_(&output), format_(format), texts_(texts) {}

    OutputState write(const generate::Embedding& embedding) {
        if (format_ == EmbeddingFormat::jsonl)
            return output_->write(json_row(written_++, embedding));
        const std::string header = written_++ == 0 ? npy_header(texts_, embedding.values.size()) : "";
        return output_->write(header + npy_row(embedding.values));
    }

private:
    Output* output_;
    EmbeddingFormat format_;
    std::size_t texts_;
    std::size_t written_ = 0;
};

/// Shows how many texts are done on a terminal, once that has taken a second. Removed by the destructor.
class EmbedProgress {
public:
    /// Borrows `diagnostics`.
    EmbedProgress(Diagnostics& diagnostics, std::size_t texts) : diagnostics_(&diagnostics), texts_(texts) {}
    EmbedProgress(const EmbedProgress&) = delete;
    EmbedProgress& operator=(const EmbedProgress&) = delete;
    ~EmbedProgress() { diagnostics_->status({}); }

    void show(std::size_t done) {
        constexpr auto between = std::chrono::milliseconds(100);
        const auto now = Clock::now();
        if (now < next_)
            return;
        next_ = now + between;
        diagnostics_->status(
            progress_bar("embedding", static_cast<double>(done) / static_cast<double>(texts_),
                         fmt::format("{} of {} texts", done, texts_), diagnostics_->status_columns()));
    }

private:
    using Clock = std::chrono::steady_clock;

    Diagnostics* diagnostics_;
    std::size_t texts_;
    Clock::time_point next_ = Clock::now() + std::chrono::seconds(1); ///< of the next drawing
};

/// Errors: those of Embedder, with the line number, and those of the output.
Status embed(const generate::Model& model, const std::vector<std::string>& texts, const EmbedOptions& options,
             Output& output, Diagnostics& diagnostics) {
    EmbedProgress progress(diagnostics, texts.size());
    EmbeddingWriter writer(output, options.format, texts.size());
    generate::Embedder embedder(model);
    generate::EmbeddingRequest request = options.request;
    std::size_t added = 0;
    for (std::size_t written = 0; written < texts.size(); ++written) {
        for (; added < texts.size() && !embedder.is_full(); ++added) {
            request.input = texts[added];
            const Status status = embedder.add(request);
            if (!status && texts.size() > 1)
                return status.error().while_doing(fmt::format("line {}", added + 1));
            ETNA_CHECK(status);
        }
        ETNA_TRY(const generate::Embedding embedding, embedder.next([&] {
            progress.show(written);
            return false;
        }));
        const OutputState state = writer.write(embedding);
        if (state == OutputState::failed)
            return output.error();
        if (state == OutputState::closed)
            return {};
    }
    return {};
}

/// Descriptor of the output. The caller closes `owned`.
Result<int> open_output(const EmbedOptions& options, const Environment& environment) {
    if (options.output_file.empty())
        return environment.output;
    constexpr mode_t permissions = 0666;
    const int file =
        ::open(options.output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, permissions);
    if (file < 0) {
        return Error{ErrorKind::io,
                     fmt::format("cannot write {}: {}", options.output_file, std::strerror(errno)),
                     "check that its folder exists and has room"};
    }
    return file;
}

/// Runs the command after its usage errors are ruled out. Blocking.
Status embed_texts(const EmbedOptions& options, const std::vector<std::string>& texts,
                   const Environment& environment, Diagnostics& diagnostics) {
    ETNA_TRY(const generate::Model model, load_model(options.model, environment, diagnostics));
    ETNA_TRY(const int descriptor, open_output(options, environment));
    if (options.output_file.empty()) {
        Output output(descriptor);
        return embed(model, texts, options, output, diagnostics);
    }
    Output output(descriptor, options.output_file);
    Status status = embed(model, texts, options, output, diagnostics);
    if (::close(descriptor) != 0 && status)
        status = Error{ErrorKind::io,
                       fmt::format("cannot write to {}: {}", options.output_file, std::strerror(errno))};
    if (output.state() == OutputState::failed || (!status && status.error().kind == ErrorKind::io))
        return Error{ErrorKind::io, status.error().message, "free space there, or name a file elsewhere"};
    return status;
}

/// Returns the texts to embed; may be empty. Errors: those of read_input().
Result<std::vector<std::string>> read_texts(const EmbedOptions& options, const Environment& environment) {
    if (options.text)
        return std::vector{*options.text};
    ETNA_TRY(const auto input, read_input(environment.input, FinalNewline::kept));
    return split_lines(input.value_or(""));
}

/// Errors: invalid_argument.
Result<EmbedOptions> validate_embed(const Command& command, const TypedArguments& arguments) {
    if (arguments.positionals.empty() || arguments.positionals[0].empty()) {
        return invalid_argument("no model given",
                                "try `etna embed demo-embed \"Hello there\"`, or `etna embed --help`");
    }
    EmbedOptions options;
    options.model.model = arguments.positionals[0];
    if (arguments.positionals.size() > 1 && arguments.positionals[1] != "-")
        options.text = arguments.positionals[1];
    const OptionValues values(command, arguments);
    ETNA_TRY(options.model.hub, read_hub(values));
    ETNA_CHECK(read_device(values, options.model.executor));
    options.model.executor.sequences_max = texts_per_batch;
    ETNA_TRY(const auto format, values.choice("format"));
    options.format = format == "npy" ? EmbeddingFormat::npy : EmbeddingFormat::jsonl;
    options.output_file = values.text("output").value_or("");
    ETNA_TRY(options.request.dimensions, values.integer("dimensions"));
    ETNA_TRY(const auto pooling, values.choice("pooling"));
    if (pooling)
        options.request.pooling = generate::pooling_named(*pooling);
    ETNA_TRY(const bool has_special, values.flag("special"));
    if (has_special)
        options.request.special = text::SpecialTokens::parse;
    ETNA_TRY(const bool is_raw, values.flag("no-normalize"));
    if (is_raw)
        options.request.normalisation = generate::Normalisation::none;
    return options;
}

/// Runs `etna embed`. Blocking.
ExitCode embed_command(const EmbedOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const LogToDiagnostics log(diagnostics, Verbosity::quiet);
    const auto fail = [&](const Error& error, ExitCode code) { return diagnostics.error(error), code; };
    if (options.format == EmbeddingFormat::npy && options.output_file.empty() &&
        environment.output_is_terminal) {
        return fail({ErrorKind::invalid_argument, "a NumPy file is not for a terminal",
                     "name a file with -o FILE, or redirect standard output"},
                    ExitCode::usage);
    }
    const auto texts = read_texts(options, environment);
    if (!texts)
        return fail(texts.error(), ExitCode::failed);
    if (texts->empty()) {
        return fail({ErrorKind::invalid_argument, "no text given",
                     "give it as an argument, `etna embed MODEL \"What is lava?\"`, or lines through a pipe"},
                    ExitCode::usage);
    }
    const Status status = embed_texts(options, *texts, environment, diagnostics);
    return status ? ExitCode::done : fail(status.error(), ExitCode::failed);
}

} // namespace

Command embed_spec() {
    static const std::vector<Option> options =
        joined({embed_output_options, hub_options(), device_options(), embed_help});
    return {.name = "embed",
            .summary = "print the embeddings of texts",
            .description =
                "Prints a vector for each text: the hidden states of a model's last layer, pooled as the "
                "model's file says (its mean, its first or its last token), and divided by their length. "
                "Models made for embeddings and plain language models work. Texts are computed together, "
                "and printed in order. The names of special tokens in a text are text.",
            .positionals = embed_positionals,
            .options = options,
            .examples = embed_examples,
            .compat = embed_compat,
            .run = run_validated<validate_embed, embed_command>};
}

} // namespace etna::cli
