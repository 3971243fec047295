#pragma once

#include "core/base/result.hpp"
#include "core/generate/defaults.hpp"
#include "core/generate/model_file.hpp"
#include "core/generate/runtime.hpp"
#include "core/grammar/grammar_cache.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace etna::generate {

/// Options for loading a model.
struct LoadOptions {
    runtime::ExecutorOptions executor = {};
    SpeculationOverrides speculation = {}; ///< used if neither the request nor generation_config.json sets it
    ChatTemplateChoice chat_template = {};
    /// How embeddings are pooled; empty: as the file says. `rank` has an effect only on files with a head for
    /// it.
    std::optional<Pooling> pooling = {};
    SamplingOverrides sampling = {}; ///< these override the recommendations of the model's file
    std::string system = {};         ///< system message of conversations that have none; empty: none
    RequestDefaults requests = {};
    /// A smaller model of the same vocabulary that drafts tokens, on the same device; borrowed, null: none.
    const store::ModelSource* draft = nullptr;
};

/// A loaded model: the state shared by its requests. Thread-safe for generate() once loaded.
class Model {
public:
    /// Opens and validates the file, builds the tokenizer, uploads the weights to a device and starts the
    /// engine. Blocking. Errors: those of open_file(), ModelFile::read(), Runtime::load(), read_pooling() and
    /// ModelFile::read_heads().
    static Result<Model> load(const store::ModelSource& source, const LoadOptions& options,
                              const runtime::ExecutorFactory& factory);

    /// What the model's file says.
    [[nodiscard]] const ModelFile& file() const { return file_; }

    /// What a request gets if it says nothing.
    [[nodiscard]] const Defaults& defaults() const { return defaults_; }

    /// What runs.
    [[nodiscard]] const Runtime& runtime() const { return runtime_; }
    [[nodiscard]] engine::Engine& engine() const { return *runtime_.engine; }

    /// Maximum tokens per sequence.
    [[nodiscard]] uint32_t context_tokens() const { return engine().limits().context_tokens; }

    /// The grammar cache for the model's vocabulary. Built on the first call, which blocks.
    [[nodiscard]] grammar::GrammarCache& grammars() const;

    [[nodiscard]] double load_ms() const { return load_ms_; }

private:
    struct LazyGrammars;

    Model(ModelFile file, Defaults defaults, Runtime runtime);

    ModelFile file_;
    Defaults defaults_;
    std::shared_ptr<LazyGrammars> grammars_; ///< never null
    double load_ms_ = 0;
    Runtime runtime_;
};

} // namespace etna::generate
