#include "server/openai/whole_answer.hpp"

#include "server/openai/annotations.hpp"

#include <string>
#include <utility>

namespace etna::server::openai {

WholeAnswer::WholeAnswer(const Answering& answering) : answering_(&answering) {
    for (uint32_t choice = 0; choice < answering.generation->choices(); ++choice)
        choices_.push_back(answering.call.whole());
}

void WholeAnswer::add(const Json& piece) {
    choices_[piece["index"].get<std::size_t>()]->add(piece);
}

Json WholeAnswer::json() const {
    Json json = to_json(answering_->head);
    json["object"] = answering_->kind->object;
    for (const auto& choice : choices_)
        json["choices"].push_back(choice->result());
    for (const auto change : answering_->call.rearrange)
        change(json);
    json["usage"] = answering_->usage->json();
    if (Json annotations = annotations_of(*answering_); !annotations.is_null())
        json["nvext"] = std::move(annotations);
    return json;
}

} // namespace etna::server::openai
