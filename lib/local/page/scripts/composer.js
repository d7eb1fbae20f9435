/** What is typed, attached and sent. */
import { $, button, element } from "../../web/dom.js";
import { sizeOf } from "./draw-thread.js";

const suggestions = ["What is a sekisho?", "progress", "ask me", "long", "file", "stream", "fail"];

/** `where()` is the channel, the thread and the person at that moment. */
export function startComposer({ where, leaveThread }) {
  let attached = [];

  function say(problem) {
    $("problem").textContent = problem;
    return problem === "";
  }

  /** Resolves to the answer, or to undefined where the problem is shown. */
  async function post(path, headers, body) {
    say("");
    try {
      const response = await fetch(path, { method: "POST", headers, body });
      if (response.ok) return await response.json();
      say(`Not sent: ${await response.text()}`);
    } catch {
      say("Not sent: is npm start still running?");
    }
    return undefined;
  }

  const json = (path, body) => post(path, { "content-type": "application/json" }, JSON.stringify(body));

  async function upload(file, user) {
    const query = new URLSearchParams({ name: file.name, type: file.type, user });
    const answer = await post(`/local/files?${query}`, { "content-type": "application/octet-stream" }, file);
    return answer?.id;
  }

  async function send(text, files = []) {
    const { channel, threadTs, user } = where();
    const ids = [];
    for (const file of files) {
      const id = await upload(file, user);
      if (id === undefined) return false;
      ids.push(id);
    }
    const thread = threadTs === undefined ? {} : { thread_ts: threadTs };
    return (await json("/local/messages", { text, channel, user, file_ids: ids, ...thread })) !== undefined;
  }

  function drawAttached() {
    const items = attached.map((file, index) => {
      const onClick = () => {
        attached = attached.filter((each) => each !== file);
        drawAttached();
      };
      const remove = button({ className: "link", label: "×", key: `detach/${index}`, onClick });
      remove.setAttribute("aria-label", `Remove ${file.name}`);
      return element("li", "", `${file.name} · ${sizeOf(file.size)} `, remove);
    });
    $("attached").replaceChildren(...items);
  }

  function attach(files) {
    attached = [...attached, ...files].slice(0, 10);
    drawAttached();
    $("text").focus();
  }

  $("composer").onsubmit = async (event) => {
    event.preventDefault();
    const text = $("text").value.trim();
    const files = attached;
    if (text === "" && files.length === 0) return;
    // At once: what is typed meanwhile stays, and a second Enter does not send it again.
    $("text").value = "";
    attached = [];
    drawAttached();
    if (await send(text, files)) return;
    $("text").value = [text, $("text").value].filter(Boolean).join("\n");
    attach(files);
  };
  $("text").onkeydown = (event) => {
    // While an input method composes (Japanese), Enter is its own.
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
  for (const text of suggestions) {
    $("suggestions").append(button({ className: "", label: text, key: `suggest/${text}`, onClick: () => send(text) }));
  }
  $("text").focus();

  return {
    say,
    send,
    clickButton: (clicked) => json("/local/clicks", { ...clicked, user: where().user }),
    converse: () => json("/local/conversations", { user: where().user }),
  };
}
