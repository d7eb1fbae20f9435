/** Watches for secrets and texts of messages where they must not be. */
import type { Log, LogFields } from "@sekisho/runtime/log.ts";
import { secretMark, secrets } from "./settings.ts";

export type Leaks = {
  /** Sees a text that was stored or sent. */
  see(text: string): void;
  /** The name of the first secret that was seen, or undefined. */
  secret(): string | undefined;
  /** True if a log line had that text in one of its fields. */
  isLogged(text: string): boolean;
  /** The product's log at its most talkative. Whatever a caller passes is watched, also what a real log would cut or leave out. */
  log: Log;
};

export function createLeaks(): Leaks {
  const names: string[] = [];
  /** Most values of log fields come again and again. */
  const logged = new Set<string>();

  function see(text: string): void {
    if (!text.includes(secretMark)) return;
    names.push(
      Object.entries(secrets).find(([, secret]) => text.includes(secret))?.[0] ??
        "part of a secret",
    );
  }

  function note(fields: LogFields | undefined): void {
    for (const name in fields) {
      const value: unknown = fields[name as keyof LogFields];
      if (typeof value === "string") logged.add(value);
      else if (typeof value === "object") logged.add(JSON.stringify(value));
    }
  }

  const emit = (message: string, fields?: LogFields) => {
    logged.add(message);
    note(fields);
  };
  const log: Log = {
    debug: emit,
    info: emit,
    warn: emit,
    error: emit,
    with(fields) {
      note(fields);
      return log;
    },
  };

  return {
    log,
    see,
    secret() {
      for (const text of logged) see(text);
      return names[0];
    },
    isLogged: (text) => [...logged].some((line) => line.includes(text)),
  };
}
