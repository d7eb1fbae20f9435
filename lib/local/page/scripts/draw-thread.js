/** Draws the messages of one conversation, thread by thread. */
import { button, drawTree, element } from "../../web/dom.js";

/** `act` holds what can be done: show, reply, press, ask. */
export function drawThreads({ messages, ephemeralMessages, statuses, prompts, channel, chosen, person, act }) {
  const inPlace = messages.filter((message) => message.channel === channel);
  const roots = inPlace.filter(({ threadTs }) => threadTs === undefined);
  if (roots.length === 0) {
    return [element("p", "empty", "Nobody has written here yet. Try one of the examples below.")];
  }
  const threads = roots.map((root) => {
    const replies = inPlace.filter(({ threadTs }) => threadTs === root.ts);
    const isOf = (aside) => aside.channel === channel && aside.threadTs === root.ts;
    const heard = ephemeralMessages.filter(isOf);
    const below = [
      ...replies.map((message) => ({ ts: message.ts, drawn: drawMessage({ message, chosen, act }) })),
      ...heard.map((message) => ({ ts: message.ts, drawn: drawEphemeralMessage({ message, person }) })),
    ].sort((a, b) => Number(a.ts) - Number(b.ts));
    const status = statuses.find((each) => isOf(each) && each.status !== "");
    const suggested = prompts.find(isOf)?.prompts ?? [];
    const hasChosen = [root, ...replies].some((message) => message.requestId === chosen);
    const thread = element(
      "article",
      `thread${hasChosen ? " chosen" : ""}`,
      drawMessage({ message: root, chosen, act }),
    );
    if (below.length > 0) thread.append(element("div", "replies", ...below.map(({ drawn }) => drawn)));
    if (status !== undefined) thread.append(element("p", "status", `Sekisho ${status.status}`));
    if (suggested.length > 0 && replies.length === 0) thread.append(drawPrompts({ suggested, root, act }));
    const onClick = () => act.reply(root.ts);
    thread.append(
      element(
        "div",
        "under",
        button({ className: "link", label: "Reply in thread", key: `reply/${root.ts}`, onClick }),
      ),
    );
    return { ts: root.ts, drawn: thread };
  });
  const outside = ephemeralMessages
    .filter((message) => message.channel === channel && message.threadTs === undefined)
    .map((message) => ({ ts: message.ts, drawn: drawEphemeralMessage({ message, person }) }));
  return [...threads, ...outside].sort((a, b) => Number(a.ts) - Number(b.ts)).map(({ drawn }) => drawn);
}

function drawMessage({ message, chosen, act }) {
  const { author, ts, parts, files, edited, streaming, reactions, requestId } = message;
  const isBot = author.kind === "bot";
  const who = element("div", "who", author.name);
  if (isBot) who.append(element("span", "app", "APP"));
  const time = new Date(Number(ts) * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  who.append(element("small", "", time, edited ? " (edited)" : ""));
  const avatar = element("div", `avatar${isBot ? " bot" : ""}`, isBot ? gate() : author.name.slice(0, 1));
  avatar.setAttribute("aria-hidden", "true");
  const body = element("div", "body", ...parts.map((part) => drawPart({ part, message, act })));
  if (streaming) body.append(element("span", "writing", "writing"));
  if (files.length > 0) body.append(element("div", "files", ...files.map(drawFile)));
  const under = element("div", "under");
  for (const { name, shown } of reactions) {
    const reaction = element("span", "reaction", shown);
    reaction.title = `:${name}:`;
    under.append(reaction);
  }
  if (!isBot && requestId !== undefined && requestId !== chosen) {
    const onClick = () => act.show(requestId);
    under.append(button({ className: "link", label: "Show its way", key: `show/${ts}`, onClick }));
  }
  return element("div", "message", avatar, who, body, under);
}

/** The mark of the page's head. */
function gate() {
  return document.querySelector(".mark").cloneNode(true);
}

function drawPart({ part, message: { channel, ts }, act }) {
  if (part.type !== "buttons") return element("div", part.type, ...drawTree(part.shown));
  const drawn = part.buttons.map(({ actionId, label, style }) => {
    const onClick = () => act.clickButton({ channel, ts, action_id: actionId });
    return button({ className: `action ${style ?? ""}`, label, key: `click/${ts}/${actionId}`, onClick });
  });
  return element("div", "actions", ...drawn);
}

function drawFile({ id, name, size, isImage }) {
  const link = element("a", "file", element("span", "file-name", name), element("small", "", sizeOf(size)));
  link.href = `/local/files/${id}`;
  link.download = name;
  if (!isImage) return link;
  const image = element("img", "");
  image.src = link.href;
  image.alt = name;
  return element("figure", "", image, element("figcaption", "", link));
}

function drawEphemeralMessage({ message: { shown, user, name }, person }) {
  const whom = user === person ? "you" : name;
  return element(
    "div",
    "ephemeral",
    element("small", "", `Only visible to ${whom}`),
    element("div", "text", ...drawTree(shown)),
  );
}

function drawPrompts({ suggested, root, act }) {
  const drawn = suggested.map(({ title, message }, index) =>
    button({
      className: "action",
      label: title,
      key: `prompt/${root.ts}/${index}`,
      onClick: () => act.ask(message, root.ts),
    }),
  );
  return element("div", "actions prompts", ...drawn);
}

export function sizeOf(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
