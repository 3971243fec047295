// Text on the clipboard.

import { h } from "./dom.js";
import { strings } from "./strings.js";

const shown_ms = 1500; // of what a button says after a copy

/// Puts text on the clipboard, also where the page is not a secure context. Returns whether it is there.
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const field = h("textarea", { class: "hidden-label" });
  field.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(field); // what lies outside a modal dialog takes no focus
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  return isCopied;
}

/// A button that copies what `textOf()` returns, and says for a moment whether that worked.
export function copyButton(textOf, properties = {}, label = strings.copy) {
  const button = h("button", { type: "button", class: "quiet", ...properties, onclick: async () => {
    button.textContent = await copy(textOf()) ? strings.copied : strings.copyFailed;
    setTimeout(() => { button.textContent = label; }, shown_ms);
  } }, label);
  return button;
}
