// Code as elements, coloured by highlight.js.

import library from "./lib/highlight.js";
import { h } from "./dom.js";

const longest = 20_000; // characters; longer code stays plain

const entities = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'", "#39": "'" };

/// Replaces the character references of markup by their characters.
export const unescaped = (text) => text.replace(/&(amp|lt|gt|quot|#x27|#39);/g, (_, name) => entities[name]);

/// Makes elements of what highlight.js returns: text, and spans with a class. Anything else stays text.
function elementsOf(markup) {
  const root = document.createDocumentFragment();
  const open = [root];
  for (const part of markup.split(/(<span class="[\w\s-]*">|<\/span>)/)) {
    const [, classes] = part.match(/^<span class="([\w\s-]*)">$/) ?? [];
    if (classes !== undefined) {
      const span = h("span", { class: classes });
      open.at(-1).append(span);
      open.push(span);
    } else if (part === "</span>" && open.length > 1) {
      open.pop();
    } else if (part !== "") {
      open.at(-1).append(unescaped(part));
    }
  }
  return root;
}

/// Returns the code as a fragment; plain text if the language is unknown or the code is long.
export function highlighted(code, language) {
  if (code.length <= longest && language && library.getLanguage(language)) {
    try {
      return elementsOf(library.highlight(code, { language, ignoreIllegals: true }).value);
    } catch {
      // shown plain
    }
  }
  const fragment = document.createDocumentFragment();
  fragment.append(code);
  return fragment;
}
