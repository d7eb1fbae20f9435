/** One cold start: a process of its own from its start to its first answer. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { slackEvent } from "./slack-event.ts";

const bootstrap = new URL("bootstrap.cjs", import.meta.url).pathname;
const timeoutMs = 20_000;

/** Milliseconds. Rejects where the answer is not 200. */
export async function startCold({ file, awsUrl }: { file: string; awsUrl: string }): Promise<number> {
  const env = {
    BENCH_BUNDLE: file,
    BENCH_EVENT: slackEvent(),
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "an-aws-secret",
    AWS_ENDPOINT_URL: awsUrl,
    SEKISHO_QUEUE_URL: `${awsUrl}/1/tasks`,
    SEKISHO_SIGNING_SECRET: "signing",
    SEKISHO_LOG_LEVEL: "error",
  };
  const startMs = performance.now();
  const child = spawn(process.execPath, [bootstrap], { env, stdio: ["ignore", "pipe", "inherit"], timeout: timeoutMs });
  const [answer] = await once(child.stdout, "data");
  const tookMs = performance.now() - startMs;
  child.kill();
  await once(child, "exit");
  if (String(answer).trim() !== "200") throw new Error(`${file} answered ${answer}`);
  return tookMs;
}
