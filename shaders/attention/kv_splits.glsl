// The keys that a row attends to, and the KV splits that contain them. attention.comp finishes a row whose keys lie in
// one KV split; for other rows it writes partials, which attention_merge.comp merges in order.
uint first_key(uint index) { return a.window != 0 && index + 1 > a.window ? index + 1 - a.window : 0; }
uint first_kv_split(uint index) { return first_key(index) / a.kv_split_tokens; }
uint last_kv_split(uint index) { return index / a.kv_split_tokens; }
uint partial_at(uint row, uint q_head, uint kv_split) {
    return ((row * a.q_heads + q_head) * a.kv_splits + kv_split) * (head_stride + 2);
}
