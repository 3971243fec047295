// What only the server that sealed it opens.
#include "server/seal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

using namespace etna;
using server::Seal;
namespace fs = std::filesystem;

namespace {

std::string sealed(const Seal& seal, std::string_view text, std::string_view purpose = "test") {
    auto result = seal.seal(text, purpose);
    REQUIRE(result);
    return *result;
}

} // namespace

TEST_CASE("what is sealed opens to the same text, whatever bytes it has") {
    const Seal seal = Seal::temporary().value();
    for (const std::size_t size : {0U, 1U, 2U, 3U, 15U, 16U, 17U, 100'000U}) {
        std::string text(size, '\0');
        for (std::size_t i = 0; i < size; ++i)
            text[i] = static_cast<char>(i * 37);
        CHECK(seal.unseal(sealed(seal, text), "test").value() == text);
    }
}

TEST_CASE("the same text is never sealed twice alike") {
    const Seal seal = Seal::temporary().value();
    std::set<std::string> all;
    for (int i = 0; i < 100; ++i)
        all.insert(sealed(seal, "the same"));
    CHECK(all.size() == 100);
}

TEST_CASE("what was changed anywhere, or sealed for something else or by another, stays closed") {
    const Seal seal = Seal::temporary().value();
    const Seal other = Seal::temporary().value();
    const std::string good = sealed(seal, "a secret of some length");
    CHECK_FALSE(seal.unseal(good, "another purpose"));
    CHECK_FALSE(other.unseal(good, "test"));
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string bad = good;
        bad[i] = bad[i] == 'A' ? 'B' : 'A';
        CHECK_FALSE(seal.unseal(bad, "test"));
        CHECK_FALSE(seal.unseal(good.substr(0, i), "test"));
    }
    for (const std::string nonsense : {"", "=", "====", "AAAA", "not base64!", "\xFF\xFE"})
        CHECK_FALSE(seal.unseal(nonsense, "test"));
}

TEST_CASE("a key in a file is made once, is its owner's alone, and opens later what it has sealed") {
    const test::TemporaryFolder folder;
    const fs::path file = folder.path() / "store.key";
    const std::string kept = sealed(Seal::open(file).value(), "kept");
    CHECK(Seal::open(file).value().unseal(kept, "test").value() == "kept");
    struct stat status = {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600U);
    CHECK(status.st_size == 32);
}

TEST_CASE("a key that is none is told, with its file") {
    const test::TemporaryFolder folder;
    const fs::path file = folder.path() / "store.key";
    std::ofstream(file) << "too short";
    const auto result = Seal::open(file);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::corrupt);
    CHECK(result.error().message.find(file.string()) != std::string::npos);
    CHECK_FALSE(result.error().hint.empty());
    CHECK(Seal::open(folder.path() / "nowhere" / "key").error().kind == ErrorKind::io);
}

TEST_CASE("a key that can only be read opens what was sealed with it") {
    const test::TemporaryFolder folder;
    const fs::path file = folder.path() / "store.key";
    const std::string kept = sealed(Seal::open(file).value(), "kept");
    fs::permissions(file, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
    fs::permissions(folder.path(), fs::perms(0755));
    constexpr uid_t nobody = 65534;
    const bool is_root = ::geteuid() == 0; // who may write everything
    if (is_root)
        REQUIRE(::seteuid(nobody) == 0);
    const auto seal = Seal::open(file);
    if (is_root)
        REQUIRE(::seteuid(0) == 0);
    REQUIRE(seal);
    CHECK(seal->unseal(kept, "test").value() == "kept");
}
