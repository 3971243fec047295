// Keys that a row attends to, and the runs they fall into. A row whose keys lie in one run is finished by
// attention.comp; the others write partials that attention_merge.comp merges in order.
uint first_key(uint index) { return a.window != 0 && index + 1 > a.window ? index + 1 - a.window : 0; }
uint first_run(uint index) { return first_key(index) / a.run_tokens; }
uint last_run(uint index) { return index / a.run_tokens; }
uint partial_at(uint row, uint q_head, uint run) {
    return ((row * a.q_heads + q_head) * a.runs + run) * (head_stride + 2);
}
