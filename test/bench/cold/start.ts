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

/** Milliseconds. Rejects where the answer is not the expected one. */
export async function startCold({ file, event, env: given, isExpected }: ColdStart): Promise<number> {
  const env = { ...given, BENCH_BUNDLE: file, BENCH_EVENT: JSON.stringify(event) };
  const startMs = performance.now();
  const child = spawn(process.execPath, [bootstrap], { env, stdio: ["ignore", "pipe", "inherit"], timeout: timeoutMs });
  const [answer] = await once(child.stdout, "data");
  const tookMs = performance.now() - startMs;
  child.kill();
  await once(child, "exit");
  if (!isExpected(String(answer))) throw new Error(`${file} answered ${answer}`);
  return tookMs;
}
