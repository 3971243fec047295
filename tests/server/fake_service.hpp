#pragma once

#include "server/endpoints.hpp"
#include "tests/support/fake_executor.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace etna::test {

/// What a client of FakeService gets.
struct FakeAnswer {
    int status = 0;
    server::Headers headers;
    std::string body; ///< a stream's frames, one after the other
};

/// A server without sockets and devices: stories260K's tokenizer over fake executors, under the name
/// "stories".
class FakeService {
public:
    struct Options {
        server::ServiceOptions service = {};
        uint32_t queue_max = 256;
        std::chrono::milliseconds loading_time{0};
        std::function<void(FakeOptions& options, int load)> prepare = {}; ///< sees each load, from 1
        std::optional<Error> load_error = {};                             ///< instead of a model
    };

    explicit FakeService(Options options);

    /// Asks and reads to the end, or until the answer has so many bytes.
    FakeAnswer post(const std::string& path, const std::string& body, std::size_t bytes_max = SIZE_MAX);
    FakeAnswer get(const std::string& path);

    [[nodiscard]] int loads() const { return loads_; }

private:
    FakeAnswer ask(const server::HttpRequest& request, std::size_t bytes_max);
    Result<server::Models::Handle> load(const store::ModelSource& source);

    Options options_;
    std::atomic<int> loads_{0};
    server::Metrics metrics_;
    server::Models models_;
    server::Service service_;
    server::Router router_;
};

} // namespace etna::test
