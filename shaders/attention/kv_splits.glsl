// The keys that a row attends to, and the KV splits that contain them. attention.comp finishes a row whose keys lie in
// one KV split; for other rows it writes partials, which attention_merge.comp merges in order.
uint first_kv_split(RowInfo row) { return row.attend_begin / a.kv_split_tokens; }
uint last_kv_split(RowInfo row) { return (row.attend_end - 1) / a.kv_split_tokens; }
uint partial_at(uint row, uint q_head, uint kv_split) {
    return ((row * a.q_heads + q_head) * a.kv_splits + kv_split) * (head_stride + 2);
}
