/** A framework in a process of its own, since Jest cannot load modules of its kind. */
import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endWithUs } from "../../tooling/reaper.ts";
import type { ChildMessage } from "./children/parent.ts";

export type Framework = Awaited<ReturnType<typeof startFramework>>;

/** `name` is that of the file in `children`. Nothing is reported to makers of frameworks. */
export async function startFramework(name: string) {
  // Some write there what they keep.
  const folder = mkdtempSync(join(tmpdir(), "sekisho-framework-"));
  const child = fork(join(import.meta.dirname, "children", `${name}.ts`), [], {
    cwd: folder,
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: {
      ...process.env,
      ...{ LOG_LEVEL: "silent", LANGSMITH_TRACING: "false", MASTRA_TELEMETRY_DISABLED: "1" },
    },
  });
  endWithUs(child);
  let errors = "";
  child.stderr?.on("data", (chunk) => {
    errors += chunk;
  });
  const aborted: unknown[] = [];
  const traffic: string[] = [];
  const { promise: ready, resolve, reject } = Promise.withResolvers<Record<string, string>>();
  child.on("message", (message: ChildMessage) => {
    if (message.event === "ready") resolve({ ...message.urls });
    if (message.event === "aborted") aborted.push(message);
    if (message.event === "traffic") traffic.push(message.host);
  });
  const ended = new Promise<void>((resolveEnd) => child.once("exit", () => resolveEnd()));
  void ended.then(() => reject(new Error(`${name} ended: ${errors}`)));
  return {
    urls: await ready,
    /** How many calls of its models were aborted. */
    countAborted: () => aborted.length,
    /** The hosts elsewhere that it tried to reach. */
    traffic,
    /** Lets the model end what it has begun. */
    release: () => void child.send("release"),
    async close() {
      child.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
