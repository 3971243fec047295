#define CATCH_CONFIG_EXTERNAL_INTERFACES // Catch2 2 declares listeners only then
#include "tests/support/vulkan.hpp"

#include "tests/support/catch.hpp"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace etna::test {
namespace {

struct Opened {
    std::unique_ptr<vk::Instance> instance;
    vk::PhysicalDevice physical;
    vk::DeviceOptions options;
    std::unique_ptr<vk::Device> device; // goes before the instance
    size_t reported_messages = 0;       ///< validation messages that made a test case fail already
};

std::string_view environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

Result<std::unique_ptr<Opened>> open() {
    auto opened = std::make_unique<Opened>();
    ETNA_TRY(opened->instance, vk::Instance::create(vk::Validation::on));
    ETNA_TRY(opened->physical,
             vk::select_device(opened->instance->devices(), environment("ETNA_TEST_DEVICE")));
    opened->options.mask_optional_features = environment("ETNA_TEST_MASK_FEATURES") == "1";
    ETNA_TRY(opened->device, vk::Device::create(*opened->instance, opened->physical, opened->options));
    return opened;
}

Opened* shared = nullptr; // set by the first gpu(); the object lives until the process ends

/// Fails the test case during which a validation message arrived. At a section's end assertions still count
/// for the test case, and both major versions of Catch2 call listeners before the reporter.
#if ETNA_CATCH_MAJOR == 2
using ListenerBase = Catch::TestEventListenerBase;
#else
using ListenerBase = Catch::EventListenerBase;
#endif

class ValidationListener : public ListenerBase {
public:
    using ListenerBase::ListenerBase;

    void sectionEnded(const Catch::SectionStats& statistics) override {
        ListenerBase::sectionEnded(statistics);
        if (shared == nullptr)
            return;
        const std::vector<std::string> messages = shared->instance->validation_messages();
        while (shared->reported_messages < messages.size()) {
            const std::string& message = messages[shared->reported_messages++];
            FAIL_CHECK("validation message: " << message);
        }
    }
};

CATCH_REGISTER_LISTENER(ValidationListener)

} // namespace

Gpu gpu() {
    static const auto opened = open();
    if (!opened)
        FAIL(opened.error().message << " (" << opened.error().hint << ")");
    shared = opened->get();
    return {*shared->instance, *shared->device, shared->physical, shared->options};
}

} // namespace etna::test
