#pragma once

#include "core/generate/request.hpp"
#include "server/api/reply.hpp"
#include "server/base/api_error.hpp"
#include "server/base/json.hpp"
#include "server/storage/store.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace etna::server {
struct AnswerServices;
}

namespace etna::server::api {

/// The running answers whose reasoning other requests may end: those that ask for it with
/// `reasoning_control`. Thread-safe.
class ReasoningControls {
public:
    /// Lists the answer of this id as long as its request has the limit.
    void add(std::string_view id, const storage::Owner& owner, const generate::ReasoningLimit& limit);

    /// Ends the reasoning of an owner's answer at its next token. Returns whether it is listed.
    bool end(std::string_view id, const storage::Owner& owner);

private:
    struct Control {
        storage::Owner owner;
        std::weak_ptr<std::atomic<bool>> is_over;
    };

    std::mutex mutex_;
    std::map<std::string, Control, std::less<>> controls_;
};

/// Carries out the `action` of a body, `reasoning_end`, on an answer of the client. An answer that has ended,
/// or that is not under control, is not an error: the reply says so. Errors: 400 (another action).
/// Source: llama.cpp's server, /v1/chat/completions/control.
ApiResult<HttpReply> control_answer(AnswerServices& services, const HttpRequest& request, std::string_view id,
                                    const Json& body);

} // namespace etna::server::api
