#include "server/api/reasoning_control.hpp"

#include "server/api/answer_services.hpp"
#include "server/api/owner.hpp"
#include "server/base/fields.hpp"

namespace etna::server::api {

void ReasoningControls::add(std::string_view id, const storage::Owner& owner,
                            const generate::ReasoningLimit& limit) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(controls_, [](const auto& one) { return one.second.is_over.expired(); });
    controls_.insert_or_assign(std::string(id), Control{.owner = owner, .is_over = limit.is_over});
}

bool ReasoningControls::end(std::string_view id, const storage::Owner& owner) {
    const std::scoped_lock lock(mutex_);
    const auto found = controls_.find(id);
    if (found == controls_.end() || found->second.owner != owner)
        return false;
    const auto is_over = found->second.is_over.lock();
    if (is_over != nullptr)
        *is_over = true;
    return is_over != nullptr;
}

ApiResult<HttpReply> control_answer(AnswerServices& services, const HttpRequest& request, std::string_view id,
                                    const Json& body) {
    Fields fields(body);
    fields.require("action");
    fields.choice("action", {"reasoning_end"});
    ETNA_CHECK(fields.status());
    const bool is_running = services.reasoning_controls.end(id, owner_of(services.options.access, request));
    Json reply = {{"id", id}, {"success", is_running}};
    if (!is_running)
        reply["message"] = "no running answer of this id was requested with `reasoning_control`: true";
    return HttpReply{.body = dump_json(reply) + "\n"};
}

} // namespace etna::server::api
