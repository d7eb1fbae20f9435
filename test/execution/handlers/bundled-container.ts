/** The image's own commands, without an image: the bundled files alone in a folder, as a process. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { sekisho } from "../../e2e/processes.ts";
import { type Answer, eventually } from "../test-host.ts";

export const dockerfile = readFileSync(resolve(import.meta.dirname, "../../../Dockerfile"), "utf8");
/** The words behind `node` of what the image starts, and of what asks it whether it is well. */
export const startText = splitWords(/^CMD (\[.*\])$/m);
export const healthText = splitWords(/^HEALTHCHECK .* CMD (\[.*\])$/m).slice(1);

type Place = { folder: string; env?: Record<string, string> };
type Running = { child: ChildProcess; said(): string; exit: Promise<unknown[]> };
export type Started = Running & {
  folder: string;
  url: string;
  call(
    method: string,
    params: unknown,
    options?: { id?: string; bearer?: string },
  ): Promise<Answer & { status: number }>;
};

export type Containers = Awaited<ReturnType<typeof bundleContainer>>;

function splitWords(line: RegExp): string[] {
  return JSON.parse(line.exec(dockerfile)?.[1] ?? "[]");
}

/** `config` is the whole configuration. Rejects where the command line does not bundle it. */
export async function bundleContainer({ config }: { config: object }) {
  const made = mkdtempSync(join(tmpdir(), "sekisho-bundle-"));
  const out = join(made, "out");
  const file = join(made, "image.json");
  writeFileSync(file, JSON.stringify(config));
  const args = ["execution", "bundle", "--config", file, "--out", out];
  const { code, stdout } = await sekisho({ args, cwd: made, env: {} }).exited;
  if (code !== 0 || !stdout.includes(join(out, "server.cjs")))
    throw new Error(`The bundle was not made: ${stdout}`);
  const closing: (() => unknown)[] = [];

  function emptyFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), "sekisho-container-"));
    closing.push(() => rmSync(folder, { recursive: true }));
    cpSync(out, folder, { recursive: true });
    return folder;
  }

  /** A command of the image, where `/app` and the working directory are `folder`. */
  function run(args: string[], { folder, env = {} }: Place): Running {
    const inFolder = args.map((word) => word.replace(/^\/app\//, `${folder}/`));
    const child = spawn(process.execPath, inFolder, {
      cwd: folder,
      env: { PORT: "0", SEKISHO_HOSTNAME: "127.0.0.1", ...env },
      stdio: ["ignore", "inherit", "pipe"],
    });
    closing.push(() => child.kill("SIGKILL"));
    let output = "";
    child.stderr.on("data", (chunk) => {
      output += chunk;
    });
    return { child, said: () => output, exit: once(child, "close") };
  }

  return {
    out,
    emptyFolder,
    run,
    /** Resolves when it listens. */
    async start({ folder = emptyFolder(), env = {} }: Partial<Place> = {}): Promise<Started> {
      const container = run(startText, { folder, env });
      await eventually(() => container.said().includes("server_listens"));
      const { address } = JSON.parse(/.*server_listens.*/.exec(container.said())?.[0] ?? "{}");
      const url = String(address);
      return {
        ...container,
        folder,
        url,
        async call(method, params, { id = randomUUID(), bearer = "" } = {}) {
          const headers = {
            "content-type": "application/json",
            ...(bearer && { authorization: `Bearer ${bearer}` }),
          };
          const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
          const response = await fetch(url, { method: "POST", headers, body });
          return { status: response.status, ...((await response.json()) as Answer) };
        },
      };
    },
    /** A folder in which another configuration takes the place of the bundled one. */
    withConfig(
      execution: unknown,
      sections: object = {},
    ): { folder: string; env: { SEKISHO_CONFIG_FILE: string } } {
      const folder = emptyFolder();
      writeFileSync(join(folder, "other.json"), JSON.stringify({ execution, ...sections }));
      return { folder, env: { SEKISHO_CONFIG_FILE: "other.json" } };
    },
    /** Ends what was started and removes its folders. */
    async clear(): Promise<void> {
      for (const close of closing.splice(0).reverse()) await close();
    },
    remove: () => rmSync(made, { recursive: true }),
  };
}
