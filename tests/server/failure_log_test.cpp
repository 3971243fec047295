// The log of models that cannot be loaded.
#include "server/models/models.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/log_recorder.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

using namespace etna;
using server::Models;
using test::FakeService;

TEST_CASE("a failed load is logged once per cause until the model loads or its file changes") {
    const test::LogRecorder log;
    const test::TemporaryFolder folder;
    const auto file = folder.path() / "m.gguf";
    const std::filesystem::path source = ETNA_TEST_DATA "/models/stories260K.gguf";
    std::filesystem::copy_file(source, file);
    const auto find_file = [&](std::string_view name) -> Result<store::ModelSource> {
        return store::ModelSource{.name = std::string(name), .path = file, .bytes = {}};
    };
    std::optional<Error> failure;
    const auto fail_with = [&](ErrorKind kind, const std::string& message) {
        failure = Error{kind, message};
    };
    Models models({.named = {}, .folder = {}, .finder = find_file},
                  [&](const store::ModelSource& found, uint64_t) -> Result<Models::Handle> {
                      if (failure)
                          return *failure;
                      return FakeService::load_plain(found);
                  });
    const auto try_thrice = [&] {
        for (int i = 0; i < 3; ++i)
            CHECK(!models.acquire("m").has_value());
    };
    fail_with(ErrorKind::out_of_memory, "m needs 5 GiB; 3 are free");
    try_thrice();
    fail_with(ErrorKind::out_of_memory, "m needs 5 GiB; 4 are free"); // the same cause
    try_thrice();
    CHECK(log.count("a model cannot be loaded: m needs") == 1);
    fail_with(ErrorKind::corrupt, "m is odd");
    try_thrice();
    CHECK(log.count("a model cannot be loaded: m is odd") == 1);
    std::filesystem::copy_file(source, folder.path() / "new");
    std::filesystem::rename(folder.path() / "new", file);
    try_thrice();
    CHECK(log.count("a model cannot be loaded: m is odd") == 2);
    failure.reset();
    CHECK(models.acquire("m").has_value());
    (void)models.unload("m");
    fail_with(ErrorKind::corrupt, "m is odd");
    try_thrice();
    CHECK(log.count("a model cannot be loaded: m is odd") == 3);
}
