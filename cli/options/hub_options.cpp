#include "cli/options/hub_options.hpp"

#include "core/store/hub.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr std::array hub_rows = {
    Option{.name = "hub",
           .value = "URL",
           .kind = Kind::text,
           .default_text = "https://huggingface.co",
           .description =
               "address of the Hugging Face hub, of a mirror or of a private hub; a token in HF_TOKEN is "
               "sent to this host only",
           .second_environment_name = "HF_ENDPOINT"},
    Option{.name = "offline",
           .description = "use no network: only models that are stored",
           .second_environment_name = "HF_HUB_OFFLINE"},
};

constexpr auto hub_table = in_category(Category::models, hub_rows);

} // namespace

std::span<const Option> hub_options() {
    return hub_table;
}

Result<HubOptions> read_hub(const OptionValues& values) {
    HubOptions options;
    options.url = values.text("hub").value_or(std::string(store::public_hub));
    while (options.url.ends_with('/'))
        options.url.pop_back();
    if (store::origin_of(options.url).empty() || options.url.find('@') != std::string::npos) {
        return invalid_argument(fmt::format("--hub {} is not an http or https address of a host",
                                            store::printable_url(options.url)),
                                "write https://HOST; a token belongs into HF_TOKEN");
    }
    ETNA_TRY(const bool is_offline, values.flag("offline"));
    options.network = is_offline ? Network::unused : Network::used;
    return options;
}

} // namespace etna::cli
