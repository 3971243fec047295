// The column at the left: conversations, search, and the other views.

import { forget, onAnswer } from "./answers.js";
import * as conversations from "./conversation.js";
import { debounce, h, iconButton, openDialog, openNotice, replace } from "./dom.js";
import * as store from "./store.js";
import { openShare } from "./share.js";
import { strings } from "./strings.js";

const day_ms = 86_400_000;

function download(name, value) {
  const address = URL.createObjectURL(new Blob([JSON.stringify(value, null, 1)], { type: "application/json" }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/// Groups that the list shows, in order: [heading, conversations].
function groupsOf(all) {
  const pinned = all.filter((one) => one.pinned);
  const today = all.filter((one) => !one.pinned && Date.now() - one.updated < day_ms);
  const earlier = all.filter((one) => !one.pinned && Date.now() - one.updated >= day_ms);
  return [[strings.pinned, pinned], [strings.today, today], [strings.earlier, earlier]].filter(([, some]) => some.length > 0);
}

const narrow = matchMedia("(max-width: 719px)");
const drawer_ms = 130; // the motion of style/layout.css, and a little

/// `go(hash)`: opens a view. `current()`: the id of the conversation that is shown, or null. `onDrawer(isOpen)`: called when the
/// drawer covers the view, or does not.
export function sidebar({ go, current, onChange, onDrawer }) {
  const list = h("div", { class: "conversations", role: "region", "aria-label": strings.title });
  const search = h("input", { type: "search", placeholder: strings.search, "aria-label": strings.search, oninput: debounce(() => refresh(), 100) });
  const picker = h("input", { type: "file", accept: "application/json,.json", hidden: true, onchange: () => importFile() });
  const close = () => element.classList.remove("is-open");
  const views = [["models", strings.models], ["machine", strings.machine], ["requests", strings.requests]].map(([name, label]) =>
    h("button", { type: "button", data: { view: name }, onclick: () => { close(); go(`#/${name}`); } }, label));
  const element = h("aside", { class: "side", "aria-label": strings.menu },
    h("div", { class: "brand" }, h("img", { src: "icon.svg", alt: "" }), strings.title, iconButton("close", strings.closeMenu, () => toggle(false))),
    h("button", { type: "button", class: "outlined new", onclick: () => { close(); go("#/new"); } }, strings.newChat),
    search, list, h("nav", { "aria-label": strings.menu }, views), picker);
  const shade = h("div", { class: "shade", hidden: true, onclick: () => toggle(false) });
  const subscriptions = new Map();

  /// Opens or closes the drawer of a narrow window. Returns whether that changed anything.
  function toggle(isOpen) {
    const wasOpen = element.classList.contains("is-open");
    element.classList.toggle("is-open", isOpen);
    shade.hidden = !isOpen;
    onDrawer(isOpen && narrow.matches);
    if (isOpen) setTimeout(() => search.focus(), drawer_ms); // it is hidden until then
    return wasOpen !== isOpen;
  }

  async function importFile() {
    const [file] = picker.files;
    picker.value = "";
    const read = await file.text().then((text) => conversations.importOf(JSON.parse(text))).catch(() => null);
    if (read === null) return openNotice(strings.notAnExport);
    for (const one of read) await store.put(one);
    await refresh();
    openNotice(strings.imported(read.length));
  }

  async function change({ id }, values) {
    const conversation = await store.get(id);
    Object.assign(conversation, values);
    conversations.touch(conversation);
    await store.put(conversation);
    await refresh();
    onChange(conversation.id);
  }

  function rename(conversation) {
    const field = h("input", { value: conversations.titleOf(conversation), maxlength: 200, "aria-label": strings.renameTitle });
    const form = h("form", { method: "dialog", onsubmit: () => change(conversation, { title: field.value.trim() }) }, field,
      h("div", { class: "actions" }, h("button", { class: "primary" }, strings.done)));
    openDialog(strings.renameTitle, form);
    field.select();
  }

  function remove(conversation) {
    const dialog = openDialog(strings.removeQuestion(conversations.titleOf(conversation) || strings.untitled), h("p", {}, strings.removeHint), [
      h("button", { type: "button", class: "outlined", autofocus: true, onclick: () => dialog.close() }, strings.cancel),
      h("button", { type: "button", class: "primary", onclick: async () => {
        dialog.close();
        const whole = await store.get(conversation.id) ?? conversation;
        await store.remove(conversation.id);
        await refresh();
        if (current() === conversation.id) go("#/new");
        await forget(whole);
      } }, strings.remove)]);
  }

  function openMenu(conversation) {
    const title = conversations.titleOf(conversation) || strings.untitled;
    const item = (label, work) => h("button", { type: "button", onclick: () => { dialog.close(); work(); } }, label);
    const dialog = openDialog(title, h("div", { class: "menu-list" },
      item(conversation.pinned ? strings.unpin : strings.pin, () => change(conversation, { pinned: !conversation.pinned })),
      item(strings.rename, () => rename(conversation)),
      item(strings.share, () => openShare(conversation)),
      item(strings.exportOne, () => download("conversation.json", conversations.exportOf([conversation]))),
      item(strings.exportAll, async () => download("conversations.json", conversations.exportOf(await store.list()))),
      item(strings.importAll, () => picker.click()),
      item(strings.remove, () => remove(conversation))));
  }

  function row(conversation) {
    const title = conversations.titleOf(conversation) || strings.untitled;
    const isCurrent = current() === conversation.id;
    const isRunning = Object.values(conversation.nodes).some(conversations.isRunning);
    return h("li", { class: isCurrent && "current" },
      isRunning && h("span", { class: "running", role: "img", "aria-label": strings.waiting }),
      h("button", { type: "button", class: "open", dir: "auto", title, "aria-current": isCurrent && "page",
        onclick: () => { toggle(false); go(`#/chat/${conversation.id}`); } }, title),
      iconButton("more", strings.conversationMenu(title), () => openMenu(conversation)));
  }

  /// Shows the stored conversations.
  async function refresh() {
    const all = await store.list().catch(() => []);
    const words = search.value.trim();
    const shown = words ? all.filter((one) => conversations.matches(one, words)) : all;
    const { scrollTop } = list;
    const focused = list.contains(document.activeElement);
    replace(list,
      shown.length === 0 && h("p", { class: "note" }, words ? strings.searchEmpty : strings.noConversations),
      shown.length === 0 && !words && h("p", { class: "note" }, h("button", { type: "button", class: "link", onclick: () => picker.click() }, strings.importAll)),
      groupsOf(shown).map(([heading, some]) => [h("h2", {}, heading), h("ul", {}, some.map(row))]));
    list.scrollTop = scrollTop;
    if (focused) list.querySelector(".current .open")?.focus();
    for (const one of all)
      for (const node of Object.values(one.nodes))
        if (conversations.isRunning(node) && !subscriptions.has(node.id)) watch(node);
  }

  function watch(node) {
    const stopWatching = onAnswer(node.id, (changed) => {
      if (conversations.isRunning(changed)) return;
      stopWatching();
      subscriptions.delete(node.id);
      setTimeout(refresh, 200);
    });
    subscriptions.set(node.id, stopWatching);
  }

  function setView(name) {
    for (const button of views) {
      if (button.dataset.view === name) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
    }
  }

  store.onOtherTab(debounce(() => refresh(), 300));
  refresh();
  return { element, shade, refresh, setView, toggle, focusSearch: () => { if (narrow.matches) toggle(true); else search.focus(); } };
}
