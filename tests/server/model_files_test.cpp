// Inspection of the models' files, and files that change while they are served.
#include "core/gguf/file.hpp"
#include "server/base/api_error.hpp"
#include "server/models/models.hpp"
#include "tests/server/echo.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/log_recorder.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace etna;
using server::Models;
using test::FakeService;

namespace {

const std::filesystem::path whole_file = ETNA_TEST_DATA "/models/stories260K.gguf";

void wait_for_listing() {
    std::this_thread::sleep_for(std::chrono::milliseconds(1100)); // a listing of a folder is valid for 1 s
}

std::vector<server::NamedSource> named_models(std::size_t count) {
    std::vector<server::NamedSource> named;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string name(1, static_cast<char>('a' + i));
        named.push_back({.name = name, .source = {.name = name, .path = "/none", .bytes = {}}});
    }
    return named;
}

} // namespace

TEST_CASE("files are inspected beside each other, each once for all callers") {
    std::mutex mutex;
    int inspected = 0, running = 0, running_most = 0;
    const bool has_cores = std::thread::hardware_concurrency() > 1;
    Models models(
        {.named = named_models(6), .folder = {}},
        [](const store::ModelSource& source, uint64_t) { return FakeService::load_plain(source); },
        [&](const store::ModelSource&) -> Result<server::ModelFacts> {
            {
                const std::scoped_lock lock(mutex);
                ++inspected;
                running_most = std::max(running_most, ++running);
            }
            (void)test::eventually([&] {
                const std::scoped_lock lock(mutex);
                return !has_cores || running_most > 1;
            });
            const std::scoped_lock lock(mutex);
            --running;
            return server::ModelFacts{.context_tokens = 77};
        });
    std::size_t listed = 0;
    std::thread other([&] { listed = models.list_inspected().size(); });
    const auto mine = models.list_inspected();
    other.join();
    CHECK(inspected == 6);
    CHECK(running_most <= 4);
    CHECK((running_most > 1 || !has_cores));
    CHECK(listed == 6);
    for (const auto& model : mine)
        CHECK(model.facts.context_tokens == 77); // also those that the other call inspected
}

TEST_CASE("an inspection that is cancelled leaves the other files for later") {
    int inspected = 0;
    Models models(
        {.named = named_models(3), .folder = {}},
        [](const store::ModelSource& source, uint64_t) { return FakeService::load_plain(source); },
        [&](const store::ModelSource&) { return ++inspected, server::ModelFacts{}; });
    models.inspect([] { return true; });
    CHECK(inspected == 0);
}

TEST_CASE("a file that was usable and is overwritten gets 503, with its path in the log") {
    const auto load_read = [](const store::ModelSource& source, uint64_t) -> Result<Models::Handle> {
        const auto file = gguf::File::open(source.path);
        if (!file)
            return file.error();
        return FakeService::load_plain(source);
    };
    const std::string whole = [] {
        std::ifstream stream(whole_file, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(stream), {});
    }();
    for (const std::string& content :
         {whole.substr(0, 100), whole.substr(0, 5000), std::string("<!doctype html>"), std::string(),
          std::string(whole.size(), '\0'), "GGUF" + whole.substr(8)}) {
        CAPTURE(content.size());
        const test::LogRecorder log;
        const test::TemporaryFolder folder;
        const auto path = folder.path() / "m.gguf";
        std::filesystem::copy_file(whole_file, path);
        Models models({.named = {}, .folder = folder.path()}, load_read);
        REQUIRE(models.acquire("m"));
        std::ofstream(path, std::ios::binary) << content;
        wait_for_listing();
        for (int i = 0; i < 2; ++i) { // also when it is known
            const auto refused = models.acquire("m");
            REQUIRE(!refused);
            CHECK(refused.error().kind == ErrorKind::io);
            CHECK(refused.error().message.find("`m` was changed on the server") != std::string::npos);
            CHECK(refused.error().message.find(folder.path().string()) == std::string::npos);
            CHECK(server::api_error(refused.error()).status == 503);
            CHECK(server::api_error(refused.error()).retry_after_s);
        }
        CHECK(log.count(path.string()) == 1);
        std::filesystem::copy_file(whole_file, path, std::filesystem::copy_options::overwrite_existing);
        wait_for_listing();
        CHECK(models.acquire("m"));
    }
}
