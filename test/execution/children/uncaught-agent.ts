/** Errors that agents leave behind. Each function is called once, and the error comes after it has returned. */
import { EventEmitter } from "node:events";
import { createReadStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentContext } from "@sekisho/execution/agents/agent.ts";

type Leave = (context: Pick<AgentContext, "signal" | "readAttachment">) => unknown;

const secret = "xoxb-secret-in-a-message";

/** These are the agent's only because the agent started them: no line of the agent is in their stacks. */
export const withoutLine: Record<string, Leave> = {
  "an empty rejection": () => void Promise.reject(),
  "undefined thrown in a timer": () => {
    setTimeout(() => {
      throw undefined;
    });
  },
  "a stream without a listener": () => createReadStream("/there/is/no/such/file"),
  "a pause that the signal ends": ({ signal }) =>
    void sleep(60_000, undefined, { signal, ref: false }),
  "a promise that the signal rejects": ({ signal }) => {
    void new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason)),
    );
  },
  "an attachment that is not awaited": ({ readAttachment }) =>
    void readAttachment({ attachment: { url: "http://127.0.0.1/" } }),
  "an error that cannot be read": () =>
    void Promise.reject(
      new Proxy(new Error(secret), {
        get() {
          throw new Error(secret);
        },
        getPrototypeOf() {
          throw new Error(secret);
        },
      }),
    ),
};

export const withLine: Record<string, Leave> = {
  "a rejection": () => {
    const fail = async () => {
      await sleep(1);
      throw new TypeError(secret);
    };
    void fail();
  },
  "a throw in a timer": () => {
    setTimeout(() => {
      throw new TypeError(secret);
    });
  },
  "a throw in a microtask": () => {
    queueMicrotask(() => {
      throw new TypeError(secret);
    });
  },
  "an event without a listener": () => {
    const emitter = new EventEmitter();
    setTimeout(() => emitter.emit("error", new TypeError(secret)));
  },
  "a listener of the signal that throws": ({ signal }) => {
    signal.addEventListener("abort", () => {
      throw new TypeError(secret);
    });
  },
};

/** Outside of a run, only the stack says whose it is. */
export function throwLater(): void {
  setTimeout(() => {
    throw new TypeError(secret);
  });
}

/** Throws many times at one line. */
export function throwOften(): void {
  for (let count = 0; count < 20; count++) {
    setTimeout(() => {
      throw new TypeError(secret);
    });
  }
}
