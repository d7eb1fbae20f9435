/** The names of people and channels, which the server asks Slack for. Ids are shown until they come, and where there are none. */
import { h } from "../../web/dom.js";
import { read } from "./view.js";

const mostPerRequest = 50;
/** Slack may know a name later, for instance after the app got a scope. */
const askAgainMs = 300_000;

/** By kind and id: the name if there is one, and when it was asked for. */
const known = { users: new Map(), channels: new Map() };
const wanted = { users: new Set(), channels: new Set() };
const listeners = new Set();
let isAsking = false;

/** Calls back when names have come, until `left` is aborted. */
export function onNames(listener, left) {
  listeners.add(listener);
  left.addEventListener("abort", () => listeners.delete(listener));
}

/** The name, or undefined if there is none yet. `kind` is "users" or "channels". */
export function nameOf(kind, id) {
  const entry = known[kind].get(id);
  if (entry === undefined || (entry.name === undefined && Date.now() - entry.atMs > askAgainMs)) {
    wanted[kind].add(id);
    void ask();
  }
  return entry?.name;
}

/** The name, with the id as its title; or the id. */
export function named(kind, id) {
  const name = nameOf(kind, id);
  return name === undefined ? id : h("span", { title: id }, name);
}

/** Both, for a view with room for them. */
export function nameAndId(kind, id) {
  const name = nameOf(kind, id);
  return name === undefined ? id : `${name} (${id})`;
}

async function ask() {
  if (isAsking) return;
  isAsking = true;
  // A view draws many ids at once, which become one request.
  await Promise.resolve();
  while (wanted.users.size + wanted.channels.size > 0) {
    const [users, channels] = [take("users"), take("channels")];
    const found = await read(`names?users=${users}&channels=${channels}`).catch(() => ({}));
    const atMs = Date.now();
    for (const id of users) known.users.set(id, { name: found.users?.[id], atMs });
    for (const id of channels) known.channels.set(id, { name: found.channels?.[id], atMs });
    for (const listener of listeners) listener();
  }
  isAsking = false;
}

function take(kind) {
  const ids = [...wanted[kind]].slice(0, mostPerRequest);
  for (const id of ids) wanted[kind].delete(id);
  return ids;
}
