// Tokenizers of encoders, built from parts of a published one: WordPiece as in BERT, and a unigram model as in
// XLM-RoBERTa, without its map of characters.

const isLetters = (text) => /^[\p{L}\p{N}]+$/u.test(text);
const special = (names) => names.map((content, id) => ({ id, content, special: true, normalized: false }));

/// Letters that begin and continue words, in lower case and without accents, and single characters of other kinds.
export function bertJson(json) {
  const names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
  const added = special(names);
  const pieces = new Set(names);
  for (const piece of Object.keys(json.model.vocab)) {
    const text = piece.replaceAll("▁", "").normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase();
    if (text === "" || (!isLetters(text) && [...text].length > 1)) continue;
    pieces.add(text);
    if (isLetters(text)) pieces.add("##" + text);
  }
  return {
    added_tokens: added,
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: true, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: null,
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100,
      vocab: Object.fromEntries([...pieces].map((piece, id) => [piece, id])),
    },
  };
}

/// All pieces, scored by their order; spaces only before them.
export function unigramJson(json) {
  const names = ["<s>", "<pad>", "</s>", "<unk>"];
  const vocab = names.map((name) => [name, 0]);
  let order = 0;
  for (const piece of Object.keys(json.model.vocab)) {
    if (/^<.*>$/.test(piece) || piece.lastIndexOf("▁") > 0 || /\s/u.test(piece)) continue;
    vocab.push([piece, Math.fround(-3 - Math.log(++order))]);
  }
  return {
    added_tokens: special(names),
    normalizer: null,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [{ type: "WhitespaceSplit" }, { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true }],
    },
    post_processor: null,
    decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
    model: { type: "Unigram", unk_id: 3, unk_token: "<unk>", vocab },
  };
}

/// A unigram model whose special tokens have names that no text has: with their own, they are pieces like others.
export function withoutNames(json) {
  if (!Array.isArray(json.model.vocab)) return json;
  const ids = new Set(json.added_tokens.map(({ id }) => id));
  const vocab = json.model.vocab.map(([name, score], id) => [ids.has(id) ? `\u{10fffe}${id}` : name, score]);
  return { ...json, model: { ...json.model, vocab } };
}
