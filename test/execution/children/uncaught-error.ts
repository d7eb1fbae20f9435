/**
 * A process that handles uncaught errors as a host does. Leaves the error that the arguments name, and then prints that it goes on.
 * `lambda` before the name adds the listeners of Lambda's runtime, which it adds before it loads the function
 * (https://github.com/aws/aws-lambda-nodejs-runtime-interface-client, src/index.mjs).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createReadAttachment } from "@sekisho/execution/runs/attachments.ts";
import {
  handleUncaughtErrors,
  runAsAgent,
  runAsHost,
} from "@sekisho/execution/runs/uncaught-errors.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { createPublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { throwLater, throwOften, withLine, withoutLine } from "./uncaught-agent.ts";

const secret = "xoxb-secret-in-a-message";

/** These are errors of the host itself. */
const ofHost: Record<string, () => unknown> = {
  "a throw in a timer": () =>
    setTimeout(() => {
      throw new RangeError(secret);
    }),
  "a rejection": () => void Promise.reject(new RangeError(secret)),
  "an empty rejection": () => void Promise.reject(),
  "a throw in a timer of its work for an agent": () =>
    runAsAgent(runLog, () =>
      runAsHost(async () => {
        setTimeout(() => {
          throw new RangeError(secret);
        });
      }),
    ),
};

let lineCount = 0;
const write = (line: string) => {
  lineCount++;
  process.stderr.write(line);
};
const log = createLog({ service: "execution", write });
const runLog = log.with({ request_id: "r1" });
const names = process.argv.slice(2);
const platform = names[0] === "lambda" ? names.shift() : undefined;
const [owner = "", name = ""] = names;

if (platform !== undefined) {
  process.on("uncaughtException", () => process.exit(129));
  process.on("unhandledRejection", () => process.exit(128));
}
handleUncaughtErrors({ log, isAgentFile: (file) => file.endsWith("/uncaught-agent.ts") });
const stopping = new AbortController();
const { signal } = stopping;
const context = {
  signal,
  readAttachment: createReadAttachment({ publicFetch: createPublicFetch(), signal, log }),
};
if (owner === "host") ofHost[name]?.();
else if (name === "outside") throwLater();
else if (name === "often") runAsAgent(runLog, throwOften);
else runAsAgent(runLog, () => void (withLine[name] ?? withoutLine[name])?.(context));
await sleep(1);
runAsAgent(runLog, () => stopping.abort(new Error(secret)));
while (lineCount === 0) await sleep(1);
console.log("goes on");
