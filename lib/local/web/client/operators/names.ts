/** The names of people and channels, which the server asks Slack for. Ids are shown until they come, and where there are none. */
import { useLayoutEffect, useReducer } from "preact/hooks";
import type { NamesById } from "../../operators-api.ts";
import { read } from "./page.tsx";

type Kind = keyof NamesById;
export type NameOf = (kind: Kind, id: string) => string | undefined;

const maxPerRequest = 50;
/** Slack may know a name later, for instance after the app got a scope. */
const askAgainMs = 300_000;

/** By kind and id: the name if there is one, and when it was asked for. */
const knownNames = { users: new Map<string, Entry>(), channels: new Map<string, Entry>() };
type Entry = { name: string | undefined; atMs: number };
const wantedIds = { users: new Set<string>(), channels: new Set<string>() };
const listeners = new Set<() => void>();
let isAsking = false;

/** The component is drawn again when names have come. The function asks for each name that it does not have. */
export function useNames(): NameOf {
  const [, redraw] = useReducer<number, void>((times) => times + 1, 0);
  useLayoutEffect(() => {
    const listener = () => redraw();
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return nameOf;
}

function nameOf(kind: Kind, id: string): string | undefined {
  const entry = knownNames[kind].get(id);
  if (entry === undefined || (entry.name === undefined && Date.now() - entry.atMs > askAgainMs)) {
    wantedIds[kind].add(id);
    void ask();
  }
  return entry?.name;
}

async function ask(): Promise<void> {
  if (isAsking) return;
  isAsking = true;
  // A view draws many ids at once, which become one request.
  await Promise.resolve();
  while (wantedIds.users.size + wantedIds.channels.size > 0) {
    const ids = { users: takeIds("users"), channels: takeIds("channels") };
    const query = `users=${ids.users}&channels=${ids.channels}`;
    const foundNames: Partial<NamesById> = await read<NamesById>(`names?${query}`).catch(
      () => ({}),
    );
    for (const kind of ["users", "channels"] as const) {
      for (const id of ids[kind])
        knownNames[kind].set(id, { name: foundNames[kind]?.[id], atMs: Date.now() });
    }
    for (const listener of listeners) listener();
  }
  isAsking = false;
}

function takeIds(kind: Kind): string[] {
  const ids = [...wantedIds[kind]].slice(0, maxPerRequest);
  for (const id of ids) wantedIds[kind].delete(id);
  return ids;
}
