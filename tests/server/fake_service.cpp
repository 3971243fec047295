#include "tests/server/fake_service.hpp"

#include "core/generate/description.hpp"
#include "core/store/resolve.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <thread>
#include <utility>

namespace etna::test {
namespace {

class Collector : public server::HttpWriter {
public:
    explicit Collector(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    bool write(std::string_view bytes) override {
        text += bytes;
        return text.size() < bytes_max_;
    }
    server::PeerState peer() override {
        return text.size() < bytes_max_ ? server::PeerState::open : server::PeerState::gone;
    }

    std::string text;

private:
    std::size_t bytes_max_;
};

Result<server::ModelFacts> facts_of(const store::ModelSource& source) {
    ETNA_TRY(const auto summary, generate::inspect(source, {}));
    return server::ModelFacts{.context_tokens = static_cast<uint32_t>(summary.trained_context_tokens),
                              .has_chat_template = summary.can_chat,
                              .stand_in_template = summary.stand_in_template,
                              .description = summary.description,
                              .abilities = summary.abilities};
}

server::Models::Options models_of(const FakeService::Options& options) {
    server::Models::Options models = {.named = {}, .folder = options.folder};
    if (options.service.store) {
        models.finder = [folder = options.service.store->folder](std::string_view name) {
            return store::resolve_name(name, folder);
        };
    }
    for (const std::string& name : options.names) {
        models.named.push_back(
            {.name = name, .source = store::resolve(ETNA_TEST_DATA "/models/stories260K.gguf", "").value()});
    }
    return models;
}

} // namespace

FakeService::FakeService(Options options)
    : options_(std::move(options)),
      models_(
          models_of(options_), [this](const store::ModelSource& source, uint64_t) { return load(source); },
          options_.reads_facts ? server::Models::Inspector(facts_of) : server::Models::Inspector()),
      service_{{.options = options_.service, .models = models_, .metrics = metrics_}},
      router_(service_, server::all_routes(options_.service), server::write_unrouted_error) {
    std::vector<std::string> warnings;
    std::optional<server::storage::Store> store;
    if (options_.store) {
        auto opened = server::storage::Store::open(*options_.store, warnings);
        REQUIRE(opened.has_value());
        store = std::move(*opened);
    }
    auto seal = server::Seal::temporary();
    REQUIRE(seal.has_value());
    persistence_ = std::make_unique<server::Persistence>(std::move(store), std::move(*seal));
    service_.persistence = persistence_.get();
    service_.running_responses = &running_responses_;
    service_.state = server::ServiceState::ready;
}

Result<server::Models::Handle> FakeService::load(const store::ModelSource& source) {
    const int number = ++loads_;
    std::this_thread::sleep_for(options_.loading_time); // the work of a load
    if (options_.load_error)
        return *options_.load_error;
    const std::scoped_lock lock(loaded_mutex_);
    std::erase_if(loaded_, [](const auto& model) { return model.expired(); });
    if (loaded_.size() >= options_.models_that_fit)
        return Error{ErrorKind::out_of_memory, "no memory is left for the model"};
    ETNA_TRY(auto handle, load_model(source, options_, number));
    loaded_.push_back(handle);
    return handle;
}

Result<server::Models::Handle> FakeService::load_plain(const store::ModelSource& source) {
    return load_model(source, {}, 1);
}

Result<server::Models::Handle> FakeService::load_model(const store::ModelSource& source,
                                                       const Options& options, int number) {
    bool is_draft = options.draft_says.has_value(); // loaded first
    const auto factory = [&](const gguf::File& file,
                             const runtime::ExecutorOptions&) -> Result<runtime::LoadedExecutor> {
        ETNA_TRY(const auto tokenizer, text::Tokenizer::create(file));
        FakeOptions fake;
        fake.limits.vocabulary = tokenizer.size();
        fake.limits.candidates_max = 64;
        fake.limits.context_tokens = 512;
        fake.limits.groups = {{.page_count = 4096}};
        const std::string says = is_draft ? *options.draft_says : options.says;
        if (!says.empty()) {
            ETNA_TRY(auto tokens, tokenizer.encode(says, {.bos = text::AddBos::never}));
            tokens.push_back(tokenizer.eos().value());
            fake.scripts = {{.prompt = std::nullopt, .continuation = std::move(tokens)}};
        }
        if (options.prepare && !is_draft)
            options.prepare(fake, number);
        is_draft = false;
        return runtime::LoadedExecutor{.device = nullptr,
                                       .executor = std::make_unique<FakeExecutor>(std::move(fake)),
                                       .device_name = "fake",
                                       .memory_bytes = model_bytes};
    };
    generate::LoadOptions load{.speculation = options.speculation,
                               .chat_template = {.name = {}, .text = options.chat_template},
                               .draft = is_draft ? &source : nullptr};
    load.executor.queue_max = options.queue_max;
    ETNA_TRY(auto model, generate::Model::load(source, load, factory));
    return std::make_shared<const generate::Model>(std::move(model));
}

FakeAnswer FakeService::ask(const server::HttpRequest& request, std::size_t bytes_max) {
    server::HttpReply reply = router_.answer(request);
    Collector collector(bytes_max);
    if (reply.stream)
        reply.stream(collector);
    return {.status = reply.status,
            .headers = std::move(reply.headers),
            .body = reply.stream ? collector.text : reply.body};
}

std::string FakeService::drain(server::HttpReply& reply) {
    Collector collector(SIZE_MAX);
    reply.stream(collector);
    return collector.text;
}

FakeAnswer FakeService::post(const std::string& path, const std::string& body, std::size_t bytes_max) {
    return ask({.method = "POST", .path = path, .headers = {{"host", "127.0.0.1"}}, .body = body}, bytes_max);
}

FakeAnswer FakeService::get(const std::string& path) {
    const std::size_t query = std::min(path.find('?'), path.size());
    server::HttpRequest request = {
        .method = "GET", .path = path.substr(0, query), .headers = {{"host", "127.0.0.1"}}};
    for (std::size_t begin = query + 1; begin < path.size();) {
        const std::size_t end = std::min(path.find('&', begin), path.size());
        const std::size_t equals = path.find('=', begin);
        request.query.emplace_back(path.substr(begin, equals - begin),
                                   path.substr(equals + 1, end - equals - 1));
        begin = end + 1;
    }
    return ask(request);
}

FakeAnswer FakeService::remove(const std::string& path) {
    return ask({.method = "DELETE", .path = path, .headers = {{"host", "127.0.0.1"}}});
}

} // namespace etna::test
