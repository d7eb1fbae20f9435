/** Draws the messages of one conversation, thread by thread. */
import { drawTree, h } from "../../web/dom.js";

/** `act` has what a person can do: show, reply, clickButton, askAbout, forward, ask. */
export function drawThreads({
  messages,
  ephemeralMessages,
  statuses,
  prompts,
  channel,
  chosen,
  person,
  act,
}) {
  const inChannel = messages.filter((message) => message.channel === channel);
  const ephemeralIn = (threadTs) =>
    ephemeralMessages
      .filter((message) => message.channel === channel && message.threadTs === threadTs)
      .map((message) => ({ ts: message.ts, drawn: drawEphemeralMessage({ message, person }) }));
  const threads = inChannel
    .filter(({ threadTs }) => threadTs === undefined)
    .map((root) => {
      const isHere = (each) => each.channel === channel && each.threadTs === root.ts;
      const replies = inChannel.filter(isHere);
      const below = inOrder([
        ...replies.map((message) => ({
          ts: message.ts,
          drawn: drawMessage({ message, chosen, person, act }),
        })),
        ...ephemeralIn(root.ts),
      ]);
      const status = statuses.find((each) => isHere(each) && each.status !== "");
      const isChosen = [root, ...replies].some(({ requestId }) => requestId === chosen);
      const reply = { "data-key": `reply/${root.ts}`, onclick: () => act.reply(root.ts) };
      const drawn = h(
        `article.thread${isChosen ? ".chosen" : ""}`,
        drawMessage({ message: root, chosen, person, act }),
        below.length > 0 && h("div.replies", below),
        status && h("p.status", `Sekisho ${status.status}`),
        h("div.under", h("button.link", reply, "Reply in thread")),
      );
      return { ts: root.ts, drawn };
    });
  const suggested = prompts.find((each) => each.channel === channel)?.prompts ?? [];
  const below = suggested.length > 0 ? [drawPrompts({ suggested, act })] : [];
  if (threads.length === 0) {
    return [h("p.none", "No messages yet. Try one of the examples below."), ...below];
  }
  return [...inOrder([...threads, ...ephemeralIn(undefined)]), ...below];
}

function inOrder(items) {
  return items.sort((a, b) => Number(a.ts) - Number(b.ts)).map(({ drawn }) => drawn);
}

function drawMessage({ message, chosen, person, act }) {
  const { author, channel, ts, parts, files, edited, streaming, reactions, requestId } = message;
  const isBot = author.kind === "bot";
  const isApp = author.kind !== "person";
  const time = new Date(Number(ts) * 1000).toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
  });
  const isElsewhere = !isApp && requestId !== undefined && requestId !== chosen;
  const show = { "data-key": `show/${ts}`, onclick: () => act.show(requestId) };
  // A bot's picture is the mark of the page's head.
  const picture = isBot
    ? document.querySelector(".top .mark").cloneNode(true)
    : author.name.slice(0, 1);
  return h(
    "div.message",
    h(`div.avatar${isBot ? ".bot" : ""}`, { "aria-hidden": "true" }, picture),
    h(
      "div.who",
      author.name,
      isApp && h("span.chip", "APP"),
      h("small", time, edited && " (edited)"),
    ),
    h(
      "div.body",
      parts.map((part) => drawPart({ part, message, person, act })),
      streaming && h("span.status", "writing…"),
      files.length > 0 && h("div.files", files.map(drawFile)),
    ),
    h(
      "div.under",
      reactions.map(({ name, shown }) => h("span.reaction", { title: `:${name}:` }, shown)),
      isElsewhere && h("button.link", show, "Show timeline"),
      parts.every(({ type }) => type !== "buttons") &&
        h(
          "button.link",
          { "data-key": `about/${ts}`, onclick: () => act.askAbout({ channel, ts }) },
          "Ask about this",
        ),
      h(
        "button.link",
        { "data-key": `forward/${ts}`, onclick: () => act.forward({ channel, ts }) },
        "Forward",
      ),
    ),
  );
}

function drawPart({ part, message: { channel, ts }, person, act }) {
  if (part.type === "votes") {
    const drawn = part.votes.map(({ actionId, label, value, voters }) => {
      const onclick = () => act.clickButton({ channel, ts, action_id: actionId, value });
      const state = {
        "aria-pressed": String(voters.includes(person)),
        "data-key": `vote/${ts}/${value}`,
        onclick,
      };
      return h("button.quiet.vote", state, label);
    });
    return h("div.actions", drawn);
  }
  if (part.type === "attachment") return h("div.text.attachment", drawTree(part.shown));
  if (part.type !== "buttons") return h(`div.${part.type}`, drawTree(part.shown));
  const drawn = part.buttons.map(({ actionId, label, style }) => {
    const onclick = () => act.clickButton({ channel, ts, action_id: actionId });
    return h(
      `button.${style ?? "quiet"}`,
      { "data-key": `click/${ts}/${actionId}`, onclick },
      label,
    );
  });
  return h("div.actions", drawn);
}

function drawFile({ id, name, size, isImage }) {
  const href = `/local/files/${id}`;
  const link = h("a.file", { href, download: name }, h("span", name), h("small", sizeOf(size)));
  return isImage ? h("figure", h("img", { src: href, alt: name }), h("figcaption", link)) : link;
}

function drawEphemeralMessage({ message: { shown, user, name }, person }) {
  const who = h("small", `Only visible to ${user === person ? "you" : name}`);
  return h("div.ephemeral", who, h("div.text", drawTree(shown)));
}

function drawPrompts({ suggested, act }) {
  const drawn = suggested.map(({ title, message }, index) => {
    const onclick = () => act.ask(message);
    return h("button.quiet", { "data-key": `prompt/${index}`, onclick }, title);
  });
  return h("div.actions.prompts", drawn);
}

export function sizeOf(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000
    ? `${(bytes / 1000).toFixed(1)} KB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
