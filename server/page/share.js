// The address that opens a conversation on another device.

import { copy } from "./clipboard.js";
import { branch } from "./conversation.js";
import { h, openDialog } from "./dom.js";
import { strings } from "./strings.js";

/// Shows the address of the last answer in the branch that is shown: the server has what led to it.
export function openShare(conversation) {
  const node = branch(conversation).findLast((one) => one.response);
  if (!node) return void openDialog(strings.share, h("p", {}, strings.shareNothing));
  const address = `${location.origin}${location.pathname}#/response/${node.response}`;
  const field = h("input", { value: address, readonly: true, "aria-label": strings.share, dir: "ltr" });
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  openDialog(strings.share, [h("p", { class: "note" }, isLocal ? strings.shareLocal : strings.shareHint), field], [
    h("button", { type: "button", class: "primary", onclick: async (event) => {
      event.target.textContent = await copy(address) ? strings.copied : strings.copyFailed;
    } }, strings.copyAddress)]);
}
