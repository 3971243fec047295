#include "core/base/build_id.hpp"
#include "core/runtime/self_check.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

using namespace etna;
using namespace etna::runtime;
using kernels::PlanFamily;
using kernels::SelfCheckVerdict;

namespace {

struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("etna-self-check-" + std::to_string(::getpid()));
    Folder() { std::filesystem::remove_all(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
};

vk::DeviceProfile device(uint32_t driver_version) {
    vk::DeviceProfile profile;
    profile.name = "device";
    profile.driver_version = driver_version;
    return profile;
}

SelfCheckVerdict some_verdict() {
    SelfCheckVerdict verdict;
    verdict.right.add(kernels::variant_named("soft_cap").value());
    verdict.right.add(kernels::variant_named("embed_q4_k_rows").value());
    verdict.wrong.add(kernels::variant_named("linear_prompt_q4_0_rows").value());
    return verdict;
}

} // namespace

TEST_CASE("a verdict is stored per device, driver, build and family") {
    const Folder folder;
    const StoredVerdict stored(folder.path, device(1), PlanFamily::amd);
    CHECK(stored.read() == SelfCheckVerdict{});
    stored.write(some_verdict());
    CHECK(stored.read() == some_verdict());
    CHECK(StoredVerdict(folder.path, device(1), PlanFamily::amd).read() == some_verdict());
    CHECK(StoredVerdict(folder.path, device(2), PlanFamily::amd).read() == SelfCheckVerdict{});
    CHECK(StoredVerdict(folder.path, device(1), PlanFamily::intel).read() == SelfCheckVerdict{});
    CHECK(StoredVerdict(folder.path, device(1), PlanFamily::amd, kernels::Precision::fast).read() ==
          SelfCheckVerdict{});

    const StoredVerdict emptied(folder.path, device(1), PlanFamily::amd);
    emptied.write({});
    const DeviceFile other_build(folder.path, device(1), "self-check",
                                 "amd exact etna " ETNA_VERSION " 1234");
    other_build.write(std::as_bytes(std::span(std::string_view("right soft_cap\n"))));
    CHECK(emptied.read() == SelfCheckVerdict{});
}

TEST_CASE("without a folder no verdict is stored") {
    const StoredVerdict stored({}, device(1), PlanFamily::amd);
    stored.write(some_verdict());
    CHECK(stored.read() == SelfCheckVerdict{});
}

TEST_CASE("an unreadable verdict is ignored") {
    const Folder folder;
    const StoredVerdict stored(folder.path, device(1), PlanFamily::amd);
    stored.write(some_verdict());
    const DeviceFile same(folder.path, device(1), "self-check",
                          "amd exact etna " ETNA_VERSION " " + build_id());
    REQUIRE_FALSE(same.read().empty());
    for (const std::string_view text :
         {"right soft_cap", "right soft_caps\n", "left soft_cap\n", "\n", "right soft_cap\nwrong soft_cap\n",
          "right soft_cap\n\n", "right \n", "right", "wrong soft_cap \n"}) {
        same.write(std::as_bytes(std::span(text)));
        INFO(text);
        CHECK(stored.read() == SelfCheckVerdict{});
    }
    same.write(std::as_bytes(std::span(std::string_view("right soft_cap\n"))));
    CHECK(stored.read().right.names() == std::vector<std::string_view>{"soft_cap"});
}
