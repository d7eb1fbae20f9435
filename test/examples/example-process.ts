/** Starts an example in a process of its own, on loopback and a free port. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { endWithUs } from "../tooling/reaper.ts";

export type Command = { command: string; args: string[]; cwd: string };

export type ExampleProcess = {
  child: ChildProcess;
  /** Everything that it has printed. */
  output(): string;
  /** Its exit code, once it has ended. */
  ended: Promise<number | null>;
};

/** It has no other variables than these. */
export function spawnExample(
  { command, args, cwd }: Command,
  env: Record<string, string>,
): ExampleProcess {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(command, args, {
    cwd,
    env: { PATH, HOME, HOST: "127.0.0.1", PORT: "0", PYTHONDONTWRITEBYTECODE: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithUs(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
    });
  }
  return {
    child,
    output: () => output,
    ended: once(child, "close").then(([code]) => code as number | null),
  };
}

/** Resolves to its address, such as `http://127.0.0.1:8080`, once it has printed it. */
export async function addressOf({ child, output }: ExampleProcess): Promise<string> {
  const address = /^Listening on (\S+) (\d+)$/m;
  while (!address.test(output())) {
    if (child.exitCode !== null) throw new Error(`It ended: ${output()}`);
    await new Promise((passed) => setTimeout(passed, 10));
  }
  const [, host, port] = address.exec(output()) ?? [];
  return `http://${host}:${port}`;
}

/** The answer to a POST whose body never arrives, with its own body. */
export async function answerWithoutBody(url: string, headers: readonly string[]): Promise<string> {
  const { hostname, port, pathname } = new URL(url);
  const { promise, resolve: settle } = Promise.withResolvers<string>();
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on("error", () => {});
  let answer = "";
  socket.on("data", (data) => {
    answer += data;
    const [head = "", body] = answer.split("\r\n\r\n");
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    if (body !== undefined && Buffer.byteLength(body) >= length) settle(answer);
  });
  socket.once("close", () => settle(answer));
  socket.write(`POST ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\n${headers.join("\r\n")}\r\n\r\n`);
  const whole = await promise;
  socket.destroy();
  return whole;
}
