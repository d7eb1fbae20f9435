/** A zone of a load run in a process of its own, so that its memory is its own. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { ExecutionSettings, VerificationSettings } from "./children/settings.ts";
import type { FromZone, ToZone } from "./children/tell.ts";

type Told<K extends FromZone["type"]> = Extract<FromZone, { type: K }>;
/** What agents and tasks come to, as it happens. */
export type ZoneEvent = Told<"started" | "ended" | "delivered" | "cleaned_up">;

export type ZoneProcess = {
  url: string;
  memory(): Promise<Told<"memory">["memory"]>;
  counts(): Promise<Omit<Told<"counts">, "type">>;
  close(): Promise<void>;
};

const closeTimeoutMs = 20_000;

/** Rejects where the process ends before it is ready; `onDeath` is called where it ends before it was told to. */
export async function startZoneProcess({
  zone,
  settings,
  onEvent,
  onDeath,
}: {
  zone: "verification" | "execution";
  settings: ExecutionSettings | VerificationSettings;
  onEvent: (event: ZoneEvent) => void;
  onDeath: (error: Error) => void;
}): Promise<ZoneProcess> {
  const child = fork(join(import.meta.dirname, `children/${zone}.ts`), [JSON.stringify(settings)], {
    execArgv: ["--expose-gc"],
    env: { PATH: process.env.PATH },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // Out of reach of Ctrl-C: it is closed here, in its turn.
    detached: true,
  });
  const died = Promise.withResolvers<never>();
  died.promise.catch(() => {});
  let isClosing = false;
  child.once("exit", () => {
    const error = new Error(`The ${zone} zone's process has ended.`);
    died.reject(error);
    if (!isClosing) onDeath(error);
  });
  child.on("message", (message: FromZone) => {
    if (message.type !== "ready" && message.type !== "memory" && message.type !== "counts") onEvent(message);
  });
  const ask = async <K extends "memory" | "counts">(type: K): Promise<Told<K>> => {
    const answer = next(child, type);
    child.send({ type } satisfies ToZone);
    return Promise.race([answer, died.promise]);
  };
  const { url } = await Promise.race([next(child, "ready"), died.promise]);
  return {
    url,
    memory: async () => (await ask("memory")).memory,
    async counts() {
      const { operations, calls, failed } = await ask("counts");
      return { operations, calls, failed };
    },
    async close() {
      isClosing = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.send({ type: "close" } satisfies ToZone);
      const cut = setTimeout(() => child.kill("SIGKILL"), closeTimeoutMs);
      await exited;
      clearTimeout(cut);
    },
  };
}

function next<K extends FromZone["type"]>(child: ChildProcess, type: K): Promise<Told<K>> {
  const { promise, resolve } = Promise.withResolvers<Told<K>>();
  child.on("message", function listen(message: FromZone) {
    if (message.type !== type) return;
    child.off("message", listen);
    resolve(message as Told<K>);
  });
  return promise;
}
