/** Runs a local command in a process of its own, and starts it again when a file of the agent changes. The stored tasks stay. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type Stats, type StatWatcher, unwatchFile, watchFile } from "node:fs";
import { extname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { projectDirectory } from "@sekisho/runtime/project-directory.ts";
import { formatFile } from "@sekisho/runtime/stack-frames.ts";
import * as z from "zod";
import { freePort, isFree } from "../free-port.ts";
import type { SharedPage } from "../web/door.ts";
import { newSessionId } from "../web/sessions.ts";

/** Files are looked at again and again, because editors replace them, and some folders report no changes (docker, network drives). */
const lookMs = 200;
/** An editor may save several files, or one in several steps. */
const settleMs = 100;
/** Running tasks get three seconds to end. An agent in an endless loop never does. */
const stopMs = 6000;

/** With them, the local page has the same address and the same session after a restart. */
const pageVariables = { token: "SEKISHO_PAGE_TOKEN", session: "SEKISHO_PAGE_SESSION" } as const;

/** Reads the page's secrets of the process that watches, and hides them from the agent. Undefined without that process. */
export function takeSharedPage(): SharedPage | undefined {
  const { [pageVariables.token]: token, [pageVariables.session]: sessionId } = process.env;
  for (const name of Object.values(pageVariables)) delete process.env[name];
  if (token === undefined || sessionId === undefined) return undefined;
  return { token, sessionId, keepSession: (pageSession) => void process.send?.({ pageSession }) };
}

const messageSchema = z.union([
  z.object({ agentFile: z.string() }),
  z.object({ pageSession: z.string() }),
]);

type Supervised = {
  /** The name and the arguments of the command, without `--watch`. */
  args: readonly string[];
  /** True if the command serves the local page. */
  hasPage: boolean;
  /** Files that are watched from the beginning: the agent, the configuration, `.env`. Those that the agent imports come by themselves. */
  files: readonly string[];
  signal: AbortSignal;
  note: (text: string) => void;
};

/** Resolves when the signal aborts and the process has ended. */
export async function supervise({ args, hasPage, files, signal, note }: Supervised): Promise<void> {
  const watch = watchFiles();
  const env = childEnvironment({ hasPage });
  const ownPorts = portVariables.filter((name) => env[name] === "0");
  await choosePorts({ env, names: ownPorts });
  for (const file of files) watch.add(file);
  try {
    while (!signal.aborted) {
      const child = startChild({ args, env, onFile: watch.add });
      const exit = once(child, "exit");
      const change = watch.waitForChange(signal);
      const first = await Promise.race([
        change.then(() => "changed" as const),
        exit.then(() => "exited" as const),
      ]);
      if (
        first === "exited" &&
        !signal.aborted &&
        (await replaceTakenPorts({ env, names: ownPorts }))
      )
        continue;
      if (first === "exited" && !signal.aborted) {
        note(`It ended (${describeEnd(child)}). It starts again when a file changes.`);
      }
      const file = await change;
      if (file !== undefined) note(`${formatFile(file)} has changed.`);
      await stopChild({ child, exit });
      if (!signal.aborted) await wait(settleMs);
    }
  } finally {
    watch.close();
  }
}

function describeEnd({ exitCode, signalCode }: ChildProcess): string {
  return signalCode === null ? `exit code ${exitCode}` : signalCode;
}

type Start = { args: readonly string[]; env: NodeJS.ProcessEnv; onFile: (file: string) => void };

function startChild({ args, env, onFile }: Start): ChildProcess {
  const reporter = new URL(`./report-files${extname(import.meta.filename)}`, import.meta.url).href;
  const entry = join(projectDirectory, "lib/cli/entry.mjs");
  const child = spawn(process.execPath, ["--import", reporter, entry, ...args], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env,
  });
  child.on("message", (message) => {
    const { data } = messageSchema.safeParse(message);
    if (data === undefined) return;
    if ("agentFile" in data) onFile(data.agentFile);
    // The next process must not revive a session that has ended.
    else env[pageVariables.session] = data.pageSession;
  });
  return child;
}

async function stopChild({
  child,
  exit,
}: {
  child: ChildProcess;
  exit: Promise<unknown>;
}): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopMs);
  await exit;
  clearTimeout(timer);
}

/** Returns the variables that stay the same from one start to the next: the ports, and the address of the local page. */
function childEnvironment({ hasPage }: { hasPage: boolean }): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env };
  if (hasPage) {
    env[pageVariables.token] = randomBytes(32).toString("base64url");
    env[pageVariables.session] = newSessionId();
  }
  return env;
}

const portVariables = ["SEKISHO_PORT", "SEKISHO_EXECUTION_PORT"];

type Ports = { env: NodeJS.ProcessEnv; names: readonly string[] };

async function choosePorts({ env, names }: Ports): Promise<void> {
  for (const name of names) env[name] = String(await freePort());
}

/** Chooses other ports if another program took one before the process could. Resolves to false if all are free. */
export async function replaceTakenPorts({ env, names }: Ports): Promise<boolean> {
  const areFree = await Promise.all(names.map((name) => isFree(Number(env[name]))));
  const takenNames = names.filter((_name, index) => areFree[index] === false);
  await choosePorts({ env, names: takenNames });
  return takenNames.length > 0;
}

function watchFiles() {
  const watchers = new Map<string, StatWatcher>();
  /** The first file that changed since the last call of `changed`. */
  let first = Promise.withResolvers<string | undefined>();
  return {
    /** A file that does not exist yet may be added too. */
    add(file: string) {
      if (watchers.has(file)) return;
      const listener = (now: Stats, previous: Stats) => {
        const isSame =
          now.mtimeMs === previous.mtimeMs &&
          now.size === previous.size &&
          now.ino === previous.ino;
        if (!isSame) first.resolve(file);
      };
      watchers.set(file, watchFile(file, { interval: lookMs }, listener));
    },
    /** Resolves to the file, or to undefined when the signal aborts. Changes while the process stopped count. */
    async waitForChange(signal: AbortSignal): Promise<string | undefined> {
      const stop = new Promise<undefined>((resolve) => {
        if (signal.aborted) resolve(undefined);
        signal.addEventListener("abort", () => resolve(undefined), { once: true });
      });
      const file = await Promise.race([first.promise, stop]);
      first = Promise.withResolvers();
      return file;
    },
    close() {
      for (const file of watchers.keys()) unwatchFile(file);
    },
  };
}
