// Machines without loader, driver or validation layer, and a loader that aborts where others answer: child
// processes of this executable open Vulkan there.
#include "core/vk/device.hpp"
#include "core/vk/instance.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <dlfcn.h>
#include <unistd.h>

using namespace etna;

// Hidden: run by the test cases below only.
TEST_CASE("child: opens Vulkan", "[.child]") {
    const auto validation =
        std::getenv("ETNA_CHILD_VALIDATION") == nullptr ? vk::Validation::off : vk::Validation::on;
    const auto instance = vk::Instance::create(validation);
    if (instance) {
        std::printf("opened %zu devices\n", (*instance)->devices().size());
    } else {
        std::printf("%s: %s (%s)\n", std::string(to_string(instance.error().kind)).c_str(),
                    instance.error().message.c_str(), instance.error().hint.c_str());
    }
    SUCCEED();
}

// Hidden: run by a test case below only.
TEST_CASE("child: opens and closes Vulkan", "[.child]") {
    for (int round = 0; round < 3; ++round) {
        const auto instance = vk::Instance::create(vk::Validation::off);
        REQUIRE(instance);
        const auto chosen = vk::select_device((*instance)->devices(), "");
        REQUIRE(chosen);
        REQUIRE(vk::Device::create(**instance, *chosen));
    }
    std::printf("opened 3 times\n");
}

namespace {

/// Output of a test case above, run in a process with `environment` ("NAME=value ...").
std::string output_of_child(const std::string& environment,
                            const std::string& test_case = "child: opens Vulkan") {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string command = "env " + environment + " '" + self + "' '" + test_case + "' 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    REQUIRE(pipe != nullptr);
    std::string output;
    std::array<char, 256> chunk{};
    while (std::fgets(chunk.data(), chunk.size(), pipe.get()) != nullptr)
        output += chunk.data();
    return output;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("the child opens Vulkan where everything is there") {
    const std::string output = output_of_child("ETNA_CHILD_VALIDATION=1");
    CAPTURE(output);
    CHECK(contains(output, "opened "));
}

TEST_CASE("an instance can be opened after the last one has gone, with a loader that aborts on dead ones") {
    void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    Dl_info loader{};
    REQUIRE(dladdr(dlsym(library, "vkGetInstanceProcAddr"), &loader) != 0);
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "strict_loader";
    REQUIRE(std::filesystem::exists(folder / "libvulkan.so.1"));
    const std::string output =
        output_of_child("LD_LIBRARY_PATH='" + folder.string() + "' ETNA_TEST_VULKAN_LOADER='" +
                            std::filesystem::canonical(loader.dli_fname).string() + "'",
                        "child: opens and closes Vulkan");
    dlclose(library);
    CAPTURE(output);
    CHECK(contains(output, "opened 3 times"));
}

TEST_CASE("a missing driver is an error that names the packages to install") {
    const std::string output = output_of_child("VK_DRIVER_FILES=/dev/null VK_ICD_FILENAMES=/dev/null");
    CAPTURE(output);
    CHECK(contains(output, "no_device: no Vulkan driver"));
    CHECK(contains(output, "apt install libvulkan1 mesa-vulkan-drivers"));
}

TEST_CASE("a missing loader is an error that names the packages to install") {
    // A library search path on which the loader's names are files that are not libraries.
    const auto folder =
        std::filesystem::temp_directory_path() / ("etna-no-loader-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    for (const char* name : {"libvulkan.so.1", "libvulkan.so"}) {
        std::ofstream(folder / name) << "this is not a library, and long enough to hold the header of one"
                                     << std::string(64, ' ');
    }
    const std::string output = output_of_child("LD_LIBRARY_PATH='" + folder.string() + "'");
    std::filesystem::remove_all(folder);
    CAPTURE(output);
    CHECK(contains(output, "no_device: the Vulkan loader (libvulkan.so.1) cannot be opened"));
    for (const char* command :
         {"apt install libvulkan1 mesa-vulkan-drivers", "dnf install vulkan-loader mesa-vulkan-drivers",
          "pacman -S vulkan-icd-loader", "zypper install libvulkan1"}) {
        CHECK(contains(output, command));
    }
}

TEST_CASE("a file under the loader's name that is not a loader is treated as a missing loader") {
    const auto folder =
        std::filesystem::temp_directory_path() / ("etna-other-loader-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    // Any shared library will do; the mathematical one is always there.
    Dl_info library{};
    REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "cbrt"), &library) != 0);
    std::filesystem::copy_file(std::filesystem::canonical(library.dli_fname), folder / "libvulkan.so.1",
                               std::filesystem::copy_options::overwrite_existing);
    const std::string output = output_of_child("LD_LIBRARY_PATH='" + folder.string() + "'");
    std::filesystem::remove_all(folder);
    CAPTURE(output);
    CHECK(contains(output, "no_device: the Vulkan loader (libvulkan.so.1) cannot be opened"));
}

TEST_CASE("a missing validation layer is an error that names the packages to install") {
    const std::string output = output_of_child("ETNA_CHILD_VALIDATION=1 VK_LAYER_PATH=/nonexistent");
    CAPTURE(output);
    CHECK(contains(output, "unsupported: the Vulkan validation layer is not installed"));
    CHECK(contains(output, "apt install vulkan-validationlayers"));
}
