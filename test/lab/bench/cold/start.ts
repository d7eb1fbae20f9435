/** One cold start: a process of its own from its start to its first answer. */
import { spawn } from "node:child_process";
import { once } from "node:events";

const bootstrap = new URL("bootstrap.cjs", import.meta.url).pathname;
const timeoutMs = 20_000;

export type ColdStart = {
  file: string;
  event: unknown;
  env: Record<string, string>;
  isExpected: (answer: string) => boolean;
};

/** `processorMs` is the processor time of the process. Rejects where the answer is not the expected one. */
export async function startCold(
  start: ColdStart,
): Promise<{ tookMs: number; processorMs: number }> {
  const { file, event, env: args, isExpected } = start;
  const env = { ...args, BENCH_BUNDLE: file, BENCH_EVENT: JSON.stringify(event) };
  const startMs = performance.now();
  const child = spawn(process.execPath, [bootstrap], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
    timeout: timeoutMs,
  });
  const exit = once(child, "exit");
  const [data] = await Promise.race([once(child.stdout, "data"), exit.then(() => [])]);
  const tookMs = performance.now() - startMs;
  child.kill();
  await exit;
  if (data === undefined) throw new Error(`${file} answered nothing`);
  const { answer, processorMs } = JSON.parse(String(data));
  if (!isExpected(answer)) throw new Error(`${file} answered ${answer}`);
  return { tookMs, processorMs };
}
