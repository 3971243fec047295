#include "core/engine/finisher.hpp"

#include <utility>

namespace etna::engine {

void Finisher::end(Sequence& sequence, Finished finished, Updates& updates) {
    const RequestId request = sequence.id.request;
    if (sequence.continuations > 0)
        return beams_.end(request, std::move(finished), updates);
    store_.retire(sequence, finished.error ? &*finished.error : nullptr);
    emit(updates, request, 0, std::move(finished));
}

void Finisher::end(Sequence& sequence, FinishReason reason, Updates& updates, Clock::time_point now) {
    Finished finished = describe_end(sequence, now);
    finished.reason = reason;
    end(sequence, std::move(finished), updates);
}

void Finisher::fail(Sequence& sequence, const Error& error, Updates& updates, Clock::time_point now) {
    end(sequence, describe_failure(sequence, error, now), updates);
}

} // namespace etna::engine
