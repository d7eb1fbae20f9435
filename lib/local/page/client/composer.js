/** The message form: text, attached files, send button. */
import { $, h } from "../../web/dom.js";
import { act, errorBox, upload } from "../../web/server.js";
import { sizeOf } from "./draw-thread.js";
import { openForm } from "./modal.js";

const suggestions = [
  "What is a sekisho?",
  "progress",
  "ask me",
  "ask form",
  "ask sign-in",
  "long",
  "file",
  "stream",
  "fail",
];

/** An alert as monitoring apps post it. */
const alertInputs = [
  {
    label: "Title",
    kind: "plain_text_input",
    isRequired: true,
    value: "[FIRING:1] DiskFull (web-3)",
  },
  {
    ...{ label: "Text", kind: "plain_text_input", isMultiline: true, isRequired: true },
    value: "*Summary:* the disk of `web-3` is 97 % full and growing.",
  },
  {
    label: "Severity",
    kind: "static_select",
    isRequired: true,
    choices: ["danger", "warning", "good"],
    value: "danger",
  },
  {
    ...{
      label: "Fields",
      kind: "plain_text_input",
      isMultiline: true,
      hint: "One per line, such as Host: web-3",
    },
    value: "Host: web-3\nSince: 09:00 UTC",
  },
];

/**
 * `where()` is the channel, the thread and the person at that moment, and `conversations()` is where that person can write. `goTo` shows
 * a conversation.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function startComposer({ where, conversations, leaveThread, goTo }) {
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
  $("text").onpaste = ({ clipboardData }) =>
    clipboardData.files.length > 0 && attach(clipboardData.files);
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
  $("suggestions").append(
    ...suggestions.map((text) => h("button", { onclick: () => send(text) }, text)),
    h("button", { id: "alert", onclick: postAlert }, "Post as an alert"),
  );
  $("text").focus();

  function forward(message) {
    const { threadTs } = where();
    const thread =
      threadTs === undefined ? [] : [{ label: "The open thread", ...where(), isThread: true }];
    const targets = [...thread, ...conversations()];
    const inputs = [
      { label: "Comment", kind: "plain_text_input", isMultiline: true },
      {
        label: "To",
        kind: "static_select",
        isRequired: true,
        choices: targets.map(({ label }) => label),
      },
    ];
    openForm({
      ...{ title: "Forward this message", submit: "Forward", inputs },
      async send({ Comment: text = "", To: chosen }) {
        const { channel, isThread } = targets.find(({ label }) => label === chosen);
        const inThread = isThread && { thread_ts: threadTs };
        await act("/local/messages", {
          text,
          channel,
          user: where().user,
          forward: message,
          ...inThread,
        });
        if (!isThread) goTo(channel);
      },
    });
  }

  function postAlert() {
    openForm({
      ...{ title: "Post as an alert", submit: "Post", inputs: alertInputs },
      async send({ Title: title, Text: text, Severity: color, Fields: lines = "" }) {
        const fields = lines.split("\n").flatMap((line) => {
          const [name, ...value] = line.split(":");
          return name.trim() === "" ? [] : [{ title: name, value: value.join(":") }];
        });
        await act("/local/alerts", { channel: where().channel, title, text, color, fields });
      },
    });
  }

  return {
    send,
    forward,
    clickButton: (clicked) =>
      problem.attempt(() => act("/local/clicks", { ...clicked, user: where().user })),
    askAbout: (message) =>
      problem.attempt(() => act("/local/shortcuts", { ...message, user: where().user })),
    openDirectMessages: () =>
      problem.attempt(() => act("/local/direct-messages", { user: where().user })),
  };
}
