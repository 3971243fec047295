#pragma once

#include "core/base/result.hpp"
#include "server/base/json.hpp"
#include "server/faces/responses/services.hpp"
#include "server/http/http.hpp"
#include "server/storage/store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// A background response whose process has ended is generated again from its request, with the same ids and
// the same seed. Equal requests give equal tokens, so that a client that follows it by `starting_after` sees
// neither a gap nor a double.
namespace etna::server::responses {

/// The request of a pending response, stored with it.
struct Rerun {
    Json body = Json::object();      ///< with the seed, and the ids of the input items
    std::string dialect = {};        ///< the header `etna-dialect`
    std::string remote_address = {}; ///< of the client, as in HttpRequest
    std::string remote_network = {};
    uint32_t begun = 1; ///< processes that have begun to generate it, the first one included
};

/// Processes that may begin a response; one that ends each of them is not tried for ever.
constexpr uint32_t runs_max = 3;

std::string rerun_text(const Rerun& rerun);

/// Empty if the text is not one of rerun_text(), or the response may not run again.
std::optional<Rerun> read_rerun(std::string_view text);

/// Why a response has failed that its process did not finish.
constexpr std::string_view interrupted_message = "the server was stopped before the response was complete";

/// Fails a response that its process did not finish. Errors: those of Store::put().
Status interrupt(storage::Store& store, storage::Response response,
                 std::string_view reason = interrupted_message);

/// Runs the responses that an earlier process left pending, each on a thread of its own; those that cannot
/// run are failed. Call once, when models can be found, before clients ask for them.
void run_pending(const Services& services);

} // namespace etna::server::responses
