/** Conformance of endpoints that authenticate callers: the one in Python, and our own host with a token of AWS STS. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { createWebIdentityAuthenticator } from "../../../lambdas/execution/authenticator/web-identity.ts";
import { roleArn, startAwsSts } from "../../doubles/issuers/aws-sts.ts";
import { endWithUs } from "../../rehearsal/reaper.ts";
import { root } from "./documented.ts";
import { onlyPart, type RunEntry } from "./entry.ts";
import { startHurriedHost } from "./hurried-host.ts";
import type { Machine } from "./machine.ts";
import { parseCommand, type ShellCommand } from "./shell-line.ts";

const keepsTheContract = expect.stringContaining("passes every required case");
const pythonFolder = "examples/execute-elsewhere/python";
const python = "AGENT_TOKEN=change-me-to-a-long-one python3 agent.py";

/** Starts it as the document says, on a free port, in a folder of the clone. Resolves to its address. */
export async function startAgent(
  world: Machine,
  { env, args: [program = "", ...args] }: ShellCommand,
  folder: string,
): Promise<string> {
  const { PATH = "", HOME = "" } = process.env;
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const child = spawn(program, args, {
    cwd: join(root, folder),
    env: { PATH, HOME, PORT: "0", ...env },
    stdio: [...stdio],
  });
  endWithUs(child);
  world.after(() => child.kill("SIGKILL"));
  return new Promise((resolve, reject) => listening(child, resolve, reject));
}

function listening(
  child: ChildProcess,
  resolve: (url: string) => void,
  reject: (error: Error) => void,
): void {
  let said = "";
  child.stdout?.on("data", (data) => {
    said += data;
    const [, host, port] = /^Listening on (\S+) (\d+)$/m.exec(said) ?? [];
    if (port !== undefined) resolve(`http://${host}:${port}/`);
  });
  child.on("exit", () => reject(new Error(`It ended: ${said}`)));
}

export const vouched: RunEntry<Machine>[] = [
  {
    command: python,
    async run({ parts, world }) {
      const url = await startAgent(world, onlyPart(parts), pythonFolder);
      expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(401);
    },
  },
  {
    command:
      "AGENT_TOKEN=change-me-to-a-long-one npx --no-install sekisho conformance http://127.0.0.1:8080/ --auth bearer:AGENT_TOKEN",
    async run({ parts, world }) {
      const url = await startAgent(world, onlyPart(parseCommand(python)), pythonFolder);
      const ended = await world.run(onlyPart(parts), {
        replace: { "http://127.0.0.1:8080/": url },
      });
      expect(ended).toMatchObject({ code: 0, stdout: keepsTheContract });
    },
  },
  {
    command:
      "AWS_REGION=eu-central-1 npx --no-install sekisho conformance https://sekisho-execution-abc123-ew.a.run.app/ --auth web-identity:sekisho-execution",
    async run({ parts, world }) {
      const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret-of-the-reader" };
      const sts = await startAwsSts({ credentials, region: "eu-central-1" });
      world.after(() => sts.close());
      const known = { issuer: sts.tokens.url, audience: "sekisho-execution", roles: [roleArn] };
      const url = await startHurriedHost({
        world,
        authenticator: createWebIdentityAuthenticator(known),
      });
      const env = {
        AWS_ENDPOINT_URL: sts.url.href,
        AWS_ACCESS_KEY_ID: credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      };
      const replace = { "https://sekisho-execution-abc123-ew.a.run.app/": url };
      const ended = await world.run(onlyPart(parts), { env, replace });
      expect(ended).toMatchObject({ code: 0, stdout: keepsTheContract });
    },
  },
];
