/** A zone as a process of the command that people start. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export type Zone = {
  url: string;
  /** How much it has used so far. */
  processorMs(): Promise<number>;
  stop(): Promise<void>;
};

/** Starts a command of that checkout that runs a zone, as quiet as `sekisho start`. Its URL is the first that it prints. */
export async function startZone(request: {
  root: string;
  args: readonly string[];
  folder: string;
  env: Record<string, string>;
}): Promise<Zone> {
  const { root, args, folder, env } = request;
  const child = fork(join(root, "bin/sekisho.mjs"), args, {
    cwd: folder,
    env: { PATH: process.env.PATH, SEKISHO_LOG_LEVEL: "warn", ...env },
    execArgv: ["--import", join(import.meta.dirname, "children/processor-time.ts")],
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    // Ctrl-C must not reach it, because it is stopped here in its turn.
    detached: true,
  });
  const death = Promise.withResolvers<never>();
  death.promise.catch(() => {});
  child.once("exit", () => death.reject(new Error(`sekisho ${args[0]} has ended.`)));
  return {
    url: await Promise.race([readUrl(child), death.promise]),
    async processorMs() {
      const answer = once(child, "message");
      child.send("processor time");
      const [microseconds] = await Promise.race([answer, death.promise]);
      return Number(microseconds) / 1000;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
  };
}

async function readUrl({ stdout }: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let printed = "";
  stdout?.on("data", (data) => {
    printed += data;
    const [, url] = /zone: (http:\S+)/.exec(printed) ?? [];
    if (url !== undefined) resolve(url);
  });
  return promise;
}
