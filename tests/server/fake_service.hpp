#pragma once

#include "server/api/persistence.hpp"
#include "server/app/endpoints.hpp"
#include "server/faces/responses/response_stream.hpp"
#include "tests/support/fake_executor.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace etna::test {

/// The answer of a FakeService to a client.
struct FakeAnswer {
    int status = 0;
    server::Headers headers;
    std::string body; ///< of a stream: its frames, joined
};

/// A server without sockets and devices: fake executors with the tokenizer of stories260K.
class FakeService {
public:
    static constexpr uint64_t model_bytes = 1000; ///< the memory of every model, and of its draft model

    struct Options {
        server::ServiceOptions service = {};
        std::vector<std::string> names = {"stories"}; ///< of the named models
        std::filesystem::path folder = {};            ///< of further models; empty: none
        bool reads_facts = false;                     ///< models are inspected, as the executable does
        std::size_t models_that_fit = SIZE_MAX;       ///< in memory; loading another one fails
        uint32_t queue_max = 256;
        std::chrono::milliseconds loading_time{0};
        std::function<void(FakeOptions& options, int load)> prepare =
            {};                               ///< called for each load; `load` counts from 1
        std::optional<Error> load_error = {}; ///< returned by each load
        std::string chat_template = {};       ///< empty: none
        std::string says = {};                ///< the answer to every prompt; empty: pseudo-random tokens
        std::optional<std::string> draft_says = {};      ///< that of the draft model; empty: no draft model
        generate::SpeculationOverrides speculation = {}; ///< the options of the server
        /// Options of the store, in memory unless they name a file; empty: no store.
        std::optional<server::storage::StoreOptions> store =
            server::storage::StoreOptions{.responses = {.entries_max = 1000},
                                          .conversations = {.entries_max = 1000},
                                          .completions = {.entries_max = 1000}};
    };

    explicit FakeService(Options options);

    /// Sends a request, and reads the answer to its end, or up to `bytes_max`.
    FakeAnswer ask(const server::HttpRequest& request, std::size_t bytes_max = SIZE_MAX);
    FakeAnswer post(const std::string& path, const std::string& body, std::size_t bytes_max = SIZE_MAX);
    FakeAnswer get(const std::string& path); ///< the path may have a query
    FakeAnswer remove(const std::string& path);

    /// Loads a fake model without a service; a Models::Loader.
    static Result<server::Models::Handle> load_plain(const store::ModelSource& source);

    [[nodiscard]] int loads() const { return loads_; }
    [[nodiscard]] server::Service& service() { return service_; }
    [[nodiscard]] const server::Router& router() const { return router_; }

    /// Reads a streamed reply to its end.
    static std::string drain(server::HttpReply& reply);

private:
    Result<server::Models::Handle> load(const store::ModelSource& source);

    static Result<server::Models::Handle> load_model(const store::ModelSource& source, const Options& options,
                                                     int number);

    Options options_;
    std::atomic<int> loads_{0};
    std::vector<std::weak_ptr<const generate::Model>> loaded_;
    std::mutex loaded_mutex_;
    server::Metrics metrics_;
    server::Models models_;
    server::Service service_;
    server::Router router_;
    std::unique_ptr<server::Persistence> persistence_;
    server::responses::RunningResponses
        running_responses_; ///< destroyed first: its threads use the members above
};

} // namespace etna::test
