/** Emulators of SQS and DynamoDB as child processes on loopback. They end with the process that started them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "@sekisho/local/free-port.ts";
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";

export type Emulator = { endpoint: string; close(): Promise<void> };

/** The emulators accept any credentials. */
export const emulatorAccess = {
  region: "eu-central-1",
  credentials: { accessKeyId: "emulator", secretAccessKey: "emulator" },
};

/** An emulator, for clients of our own. */
export function emulatedAws(endpoint: string): AwsDependencies {
  const { region, credentials } = emulatorAccess;
  return { region, credentials: async () => credentials, endpointOf: () => new URL(endpoint) };
}

/**
 * Why DynamoDB's emulator is missing, for suites that skip themselves then. Undefined if it is installed. Throws on a
 * platform that has it: an incomplete installation must not look tested.
 */
export const whyNoDynamoDb = reasonWithoutDynamoDb();

/** Starts empty, in memory. */
export async function startSqsEmulator(): Promise<Emulator> {
  const child = spawn(process.execPath, [join(__dirname, "children/sqs.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const line = await readFirstLine(child);
  if (line === undefined) throw new Error("SQS's emulator did not start.");
  return { endpoint: line, close: () => endEmulator(child) };
}

/** Starts empty, in memory. Rejects if the platform has no binary. */
export async function startDynamoDbEmulator({
  triesLeft = 4,
}: {
  triesLeft?: number;
} = {}): Promise<Emulator> {
  const binary = dynamoDbBinary();
  if (binary === undefined)
    throw new Error(`DynamoDB's emulator cannot be started: ${whyNoDynamoDb}.`);
  // The binary cannot report a port that it chose itself.
  const port = await freePort();
  // The shell ends the binary when its input ends, even if this process was killed.
  const script = '"$0" --host 127.0.0.1 --port "$1" 2>&1 & read -r _; kill $!; wait';
  const child = spawn("/bin/sh", ["-c", script, binary, String(port)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const line = await readFirstLine(child);
  if (line?.includes("listening"))
    return { endpoint: `http://127.0.0.1:${port}`, close: () => endEmulator(child) };
  await endEmulator(child);
  // Another process may have taken the port meanwhile.
  if (triesLeft === 0) throw new Error(`DynamoDB's emulator did not start: ${line}`);
  return startDynamoDbEmulator({ triesLeft: triesLeft - 1 });
}

function reasonWithoutDynamoDb(): string | undefined {
  if (dynamoDbBinary() !== undefined) return undefined;
  if (process.platform === "linux" && process.arch === "x64") {
    throw new Error(
      "The package @dynoxide/linux-x64 is not installed: run npm ci, without leaving out optional or dev packages.",
    );
  }
  return "there is no @dynoxide for this platform";
}

function dynamoDbBinary(): string | undefined {
  try {
    return join(require.resolve("@dynoxide/linux-x64/package.json"), "../dynoxide");
  } catch {
    return undefined;
  }
}

/** Undefined if the output ends without a line. */
export async function readFirstLine(child: ChildProcess): Promise<string | undefined> {
  if (child.stdout === null) return undefined;
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, "line"), once(lines, "close")]);
  return line;
}

export async function endEmulator(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.stdin?.end();
  await exit;
}
