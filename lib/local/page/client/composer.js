/** The message form: text, attached files, send button. */
import { $, h } from "../../web/dom.js";
import { act, errorBox, upload } from "../../web/server.js";
import { sizeOf } from "./draw-thread.js";

const suggestions = ["What is a sekisho?", "progress", "ask me", "ask form", "long", "file", "stream", "fail"];

/** `where()` is the channel, the thread and the person at that moment. */
export function startComposer({ where, leaveThread }) {
  const problem = errorBox("Not sent: ");
  $("composer").append(problem.box);
  let attached = [];

  /** Resolves to undefined after it has shown why it failed. */
  function send(text, files = []) {
    const { channel, threadTs, user } = where();
    return problem.attempt(async () => {
      const ids = [];
      for (const file of files) {
        const query = new URLSearchParams({ name: file.name, type: file.type, user });
        ids.push((await upload(`/local/files?${query}`, file)).id);
      }
      return act("/local/messages", { text, channel, user, file_ids: ids, thread_ts: threadTs });
    });
  }

  function attach(files) {
    attached = [...attached, ...files].slice(0, 10);
    drawAttached();
    $("text").focus();
  }

  function drawAttached() {
    const items = attached.map((file) => {
      const onclick = () => {
        attached = attached.filter((each) => each !== file);
        drawAttached();
      };
      const remove = h("button.link", { "aria-label": `Remove ${file.name}`, onclick }, "×");
      return h("li", `${file.name} · ${sizeOf(file.size)} `, remove);
    });
    $("attached").replaceChildren(...items);
  }

  $("composer").onsubmit = async (event) => {
    event.preventDefault();
    const text = $("text").value.trim();
    const files = attached;
    if (text === "" && files.length === 0) return;
    // Cleared at once: what is typed meanwhile stays, and a second Enter does not send it again.
    $("text").value = "";
    attached = [];
    drawAttached();
    if (await send(text, files)) return;
    $("text").value = [text, $("text").value].filter(Boolean).join("\n");
    attach(files);
  };
  $("text").onkeydown = (event) => {
    // While an input method composes (Japanese), Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    $("composer").requestSubmit();
  };
  $("text").onpaste = ({ clipboardData }) => clipboardData.files.length > 0 && attach(clipboardData.files);
  $("files").onchange = ({ target }) => {
    attach(target.files);
    target.value = "";
  };
  $("messages").ondragover = (event) => event.preventDefault();
  $("messages").ondrop = (event) => {
    event.preventDefault();
    attach(event.dataTransfer.files);
  };
  $("stop-replying").onclick = leaveThread;
  $("suggestions").append(...suggestions.map((text) => h("button", { onclick: () => send(text) }, text)));
  $("text").focus();

  return {
    send,
    clickButton: (clicked) => problem.attempt(() => act("/local/clicks", { ...clicked, user: where().user })),
    askAbout: (message) => problem.attempt(() => act("/local/shortcuts", { ...message, user: where().user })),
    converse: () => problem.attempt(() => act("/local/conversations", { user: where().user })),
  };
}
