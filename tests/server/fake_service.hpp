#pragma once

#include "server/endpoints.hpp"
#include "server/persistence.hpp"
#include "tests/support/fake_executor.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace etna::test {

/// What a client of FakeService gets.
struct FakeAnswer {
    int status = 0;
    server::Headers headers;
    std::string body; ///< a stream's frames, one after the other
};

/// A server without sockets and devices: stories260K's tokenizer over fake executors.
class FakeService {
public:
    struct Options {
        server::ServiceOptions service = {};
        std::vector<std::string> names = {"stories"}; ///< of the models
        std::filesystem::path folder = {};            ///< of further ones; empty: none
        std::size_t models_that_fit = SIZE_MAX;       ///< in memory; one more is out of it
        uint32_t queue_max = 256;
        std::chrono::milliseconds loading_time{0};
        std::function<void(FakeOptions& options, int load)> prepare = {}; ///< sees each load, from 1
        std::optional<Error> load_error = {};                             ///< instead of a model
        std::string chat_template = {};                                   ///< empty: none
        std::string says = {};                      ///< to everything; empty: what the fake model makes up
        std::optional<std::string> draft_says = {}; ///< the same of a draft model; none: there is no such
        generate::SpeculationOverrides speculation = {}; ///< options of the server's
        /// What is kept, in memory unless it names a file; empty: nothing.
        std::optional<server::storage::StoreOptions> store =
            server::storage::StoreOptions{.responses = {.entries_max = 1000},
                                          .conversations = {.entries_max = 1000},
                                          .completions = {.entries_max = 1000}};
    };

    explicit FakeService(Options options);

    /// Asks and reads to the end, or until the answer has so many bytes.
    FakeAnswer ask(const server::HttpRequest& request, std::size_t bytes_max = SIZE_MAX);
    FakeAnswer post(const std::string& path, const std::string& body, std::size_t bytes_max = SIZE_MAX);
    FakeAnswer get(const std::string& path); ///< with a query, if it has one
    FakeAnswer remove(const std::string& path);

    /// A fake model that no service knows, as a Models::Loader gives it.
    static Result<server::Models::Handle> load_plain(const store::ModelSource& source);

    [[nodiscard]] int loads() const { return loads_; }
    [[nodiscard]] server::Service& service() { return service_; }
    [[nodiscard]] const server::Router& router() const { return router_; }

    /// Reads an answer that comes in pieces to its end.
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
    std::unique_ptr<server::Persistence> persistence_; ///< ends before what its threads use
};

} // namespace etna::test
