/** Starts the parts of a load run one after the other, and closes them in reverse: Slack, the Execution zone, the Verification zone. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom } from "../kills/plan.ts";
import type {
  ExecutionSettings,
  FromZone,
  ToZone,
  VerificationSettings,
} from "./children/parent.ts";
import { type LoadSlack, startLoadSlack } from "./slack.ts";

export type Parts = {
  slack: LoadSlack;
  execution: ZoneProcess;
  verification: ZoneProcess;
  close(): Promise<void>;
};

export async function startParts({
  atOnce,
  failing,
  seed,
  quietMs,
  sweepAfterMs,
  onEvent,
  onDeath,
}: {
  atOnce: number;
  failing: number;
  seed: number;
  quietMs: number;
  sweepAfterMs: number;
  onEvent: (event: ZoneEvent) => void;
  onDeath: (error: Error) => void;
}): Promise<Parts> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-load-"));
  const closers = [async () => rmSync(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const closeOne of closers.toReversed()) await closeOne();
  };
  const zone = async (
    name: "execution" | "verification",
    settings: Omit<ExecutionSettings, "file"> | Omit<VerificationSettings, "file">,
  ) => {
    const file = join(folder, `${name}.db`);
    const started = await startZoneProcess({
      zone: name,
      settings: { ...settings, file },
      onEvent,
      onDeath,
    });
    closers.push(started.close);
    return started;
  };
  try {
    const slack = await startLoadSlack({ failing, random: createRandom({ seed }).next });
    closers.push(slack.close);
    const execution = await zone("execution", { config: configuration, atOnce, quietMs });
    const verification = await zone("verification", {
      config: { ...configuration, limits: { sweepAfterMs } },
      seed: seed + 1,
      failing,
      executionUrl: execution.url,
      slackApiUrl: slack.apiUrl,
      ...slack.secrets,
    });
    return { slack, execution, verification, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Told<K extends FromZone["type"]> = Extract<FromZone, { type: K }>;
/** An event of an agent or a task. */
export type ZoneEvent = Told<"started" | "ended" | "delivered" | "cleaned_up">;

type ZoneProcess = {
  url: string;
  memory(): Promise<Told<"memory">["memory"]>;
  counts(): Promise<Omit<Told<"counts">, "type">>;
  close(): Promise<void>;
};

const closeTimeoutMs = 20_000;

/** Starts a zone as a process, so that its memory is its own. Rejects if it ends early; later `onDeath` gets an unexpected end. */
async function startZoneProcess({
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
    // Ctrl-C must not reach it, because it is closed here in its turn.
    detached: true,
  });
  const death = Promise.withResolvers<never>();
  death.promise.catch(() => {});
  let isClosing = false;
  child.once("exit", () => {
    const error = new Error(`The ${zone} zone's process has ended.`);
    death.reject(error);
    if (!isClosing) onDeath(error);
  });
  child.on("message", (message: FromZone) => {
    if (message.type !== "ready" && message.type !== "memory" && message.type !== "counts")
      onEvent(message);
  });
  const ask = async <K extends "memory" | "counts">(type: K): Promise<Told<K>> => {
    const answer = next(child, type);
    child.send({ type } satisfies ToZone);
    return Promise.race([answer, death.promise]);
  };
  const { url } = await Promise.race([next(child, "ready"), death.promise]);
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
      const exit = once(child, "exit");
      child.send({ type: "close" } satisfies ToZone);
      const cut = setTimeout(() => child.kill("SIGKILL"), closeTimeoutMs);
      await exit;
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

const configuration = {
  destinations: { local: { transport: "https" } },
  routes: [{ destination: "local" }],
  // `execute_task` holds one of the worker's slots for so long. With a larger budget the run would measure the slots.
  execution: {
    agent: "./agent.ts",
    syncBudgetMs: 50,
    // There is only one caller, with as many tasks at once as --at-once says.
    limits: { runsPerCaller: 100_000, openCallsPerCaller: 100_000 },
  },
};
