#include "core/vk/instance.hpp"

#include "core/vk/error.hpp"
#include "core/vk/impl.hpp"
#include "core/vk/loader.hpp"
#include "core/vk/physical_device.hpp"

#include <algorithm>
#include <cstring>

namespace etna::vk {
namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

bool has_layer(const char* name) {
    uint32_t count = 0;
    vkEnumerateInstanceLayerProperties(&count, nullptr);
    std::vector<VkLayerProperties> layers(count);
    vkEnumerateInstanceLayerProperties(&count, layers.data());
    layers.resize(count);
    return std::any_of(layers.begin(), layers.end(), [name](const VkLayerProperties& layer) {
        return std::strcmp(layer.layerName, name) == 0;
    });
}

/// Of the loader, the drivers and the implicit layers, or of one layer.
bool has_extension(const char* layer, const char* name) {
    uint32_t count = 0;
    vkEnumerateInstanceExtensionProperties(layer, &count, nullptr);
    std::vector<VkExtensionProperties> extensions(count);
    vkEnumerateInstanceExtensionProperties(layer, &count, extensions.data());
    extensions.resize(count);
    return std::any_of(extensions.begin(), extensions.end(), [name](const VkExtensionProperties& extension) {
        return std::strcmp(extension.extensionName, name) == 0;
    });
}

VKAPI_ATTR VkBool32 VKAPI_CALL keep_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                            VkDebugUtilsMessageTypeFlagsEXT types,
                                            const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
    // The loader reports every odd driver file as a general warning; that is unrelated to etna.
    const bool of_validation = (types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) != 0;
    if (!of_validation && severity < VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT)
        return VK_FALSE;
    // etna never calls vkGetDeviceProcAddr, but the layers that NVIDIA's driver adds do, with any name.
    if (data->pMessageIdName != nullptr &&
        std::strcmp(data->pMessageIdName, "WARNING-vkGetDeviceProcAddr-device") == 0)
        return VK_FALSE;
    auto& impl = *static_cast<Instance::Impl*>(user);
    const std::scoped_lock lock(impl.mutex);
    impl.messages.emplace_back(data->pMessage);
    return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(Instance::Impl& impl) {
    VkDebugUtilsMessengerCreateInfoEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    info.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType =
        VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    info.pfnUserCallback = keep_message;
    info.pUserData = &impl;
    return info;
}

template <class Function>
void load(VkInstance instance, const char* name, Function& function) {
    function = reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, name));
}

DebugFunctions load_debug_functions(VkInstance instance) {
    DebugFunctions debug;
    load(instance, "vkCreateDebugUtilsMessengerEXT", debug.create_messenger);
    load(instance, "vkDestroyDebugUtilsMessengerEXT", debug.destroy_messenger);
    load(instance, "vkSetDebugUtilsObjectNameEXT", debug.set_name);
    load(instance, "vkCmdBeginDebugUtilsLabelEXT", debug.begin_label);
    load(instance, "vkCmdEndDebugUtilsLabelEXT", debug.end_label);
    return debug;
}

Status create_handle(Instance::Impl& impl, Validation validation) {
    std::vector<const char*> layers;
    std::vector<const char*> extensions;
    if (validation == Validation::on) {
        if (!has_layer(validation_layer)) {
            return unsupported("the Vulkan validation layer is not installed",
                               "on Debian and Ubuntu: `apt install vulkan-validationlayers`");
        }
        layers.push_back(validation_layer);
    }
    const bool debug_utils =
        has_extension(nullptr, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) ||
        (validation == Validation::on && has_extension(validation_layer, VK_EXT_DEBUG_UTILS_EXTENSION_NAME));
    if (validation == Validation::on && !debug_utils) {
        return unsupported("the validation layer lacks VK_EXT_debug_utils",
                           "update the package vulkan-validationlayers");
    }
    if (debug_utils)
        extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);

    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "etna";
    application.apiVersion = impl.version;
    const VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(impl);
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pNext =
        validation == Validation::on ? &messenger : nullptr; // messages of creation and destruction itself
    info.pApplicationInfo = &application;
    info.enabledLayerCount = static_cast<uint32_t>(layers.size());
    info.ppEnabledLayerNames = layers.data();
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    const VkResult created = vkCreateInstance(&info, nullptr, &impl.handle);
    if (created == VK_ERROR_INCOMPATIBLE_DRIVER)
        return Error{ErrorKind::no_device, "no Vulkan driver is installed", install_hint};
    if (created == VK_ERROR_OUT_OF_HOST_MEMORY) { // the loader also reports unreadable manifests this way
        return Error{
            ErrorKind::no_device, "the Vulkan loader could not load any driver",
            "a driver's manifest may be damaged (is VK_DRIVER_FILES or VK_ICD_FILENAMES set?), or memory is "
            "short; see `vulkaninfo`"};
    }
    if (created != VK_SUCCESS)
        return vulkan_error(created, "creating the Vulkan instance");
    load_instance_functions(impl.handle);
    if (debug_utils)
        impl.debug = load_debug_functions(impl.handle);
    if (validation == Validation::on)
        impl.debug.create_messenger(impl.handle, &messenger, nullptr, &impl.messenger);
    return {};
}

Status list_devices(Instance::Impl& impl) {
    uint32_t count = 0;
    VkResult listed = vkEnumeratePhysicalDevices(impl.handle, &count, nullptr);
    std::vector<VkPhysicalDevice> handles(count);
    if (listed == VK_SUCCESS && count != 0)
        listed = vkEnumeratePhysicalDevices(impl.handle, &count, handles.data());
    if (listed < 0 && listed != VK_ERROR_INITIALIZATION_FAILED)
        return vulkan_error(listed, "listing Vulkan devices");
    // A driver that finds no hardware of its kind reports VK_ERROR_INITIALIZATION_FAILED: there is no device
    // then.
    if (listed < 0 || count == 0)
        return Error{ErrorKind::no_device, "no Vulkan driver found a device", install_hint};
    handles.resize(count);
    for (uint32_t index = 0; index < count; ++index)
        impl.devices.push_back(read_physical_device(impl.handle, handles[index], index, impl.version));
    return {};
}

} // namespace

Instance::Impl::~Impl() {
    if (messenger != VK_NULL_HANDLE)
        debug.destroy_messenger(handle, messenger, nullptr);
    if (handle == VK_NULL_HANDLE)
        return;
    forget_instance(handle);
    vkDestroyInstance(handle, nullptr);
}

Instance::Instance(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Instance::~Instance() = default;

Result<std::unique_ptr<Instance>> Instance::create(Validation validation) {
    ETNA_CHECK(open_loader());
    auto impl = std::make_unique<Impl>();
    impl->version = std::min(volkGetInstanceVersion(), VK_API_VERSION_1_3);
    impl->validation = validation;
    ETNA_CHECK(create_handle(*impl, validation));
    ETNA_CHECK(list_devices(*impl));
    return std::unique_ptr<Instance>(new Instance(std::move(impl)));
}

const std::vector<PhysicalDevice>& Instance::devices() const {
    return impl_->devices;
}

std::vector<std::string> Instance::validation_messages() const {
    const std::scoped_lock lock(impl_->mutex);
    return impl_->messages;
}

} // namespace etna::vk
