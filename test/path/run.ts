/**
 * Entry of `npm run path`: the functions of `lambdas/` and `contracts/` that run between a warm Slack event and its answer, their calls and
 * their files. Both zones are on one machine, with the agent `echo`, over HTTP. With `--calls` it prints each function with its calls.
 */

import { join, relative } from "node:path";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { openCallCounter } from "../budgets/function-calls.ts";
import { startZones } from "../world/started-zones.ts";

/** The first messages compile functions and fill caches. */
const warmUps = 2;
/** A message during which a cache is renewed, or a timer strikes, calls more. The one with the fewest calls counts. */
const samples = 5;

const { values: options } = parseArgs({ options: { calls: { type: "boolean", default: false } } });
const root = join(import.meta.dirname, "../..");
const { fakeSlack, ask, close } = await startZones({
  config: { execution: { agent: "echo" } },
  level: "error",
});

async function sendAndWait(text: string): Promise<void> {
  ask(text);
  const isAnswered = () =>
    fakeSlack.messages().some((one) => one.user === workspace.botUser && one.text.includes(text));
  // A pause would count what runs after the answer, such as the record of its usage.
  while (!isAnswered()) await nextTurn();
}

type Path = { functions: readonly { path: string; name: string; calls: number }[]; calls: number };

/** Callbacks without a name are part of the function around them. */
async function measurePath(text: string): Promise<Path> {
  const functions = (await counter.count(() => sendAndWait(text)))
    .filter(({ url, name }) => url.startsWith("file:") && name !== "")
    .map(({ url, ...called }) => ({ ...called, path: relative(root, fileURLToPath(url)) }))
    .filter(({ path }) => /^(lambdas|contracts)\//.test(path));
  return { functions, calls: functions.reduce((sum, { calls }) => sum + calls, 0) };
}

function print({ functions, calls }: Path): void {
  const files = [...new Set(functions.map(({ path }) => path))].sort();
  const lines = options.calls
    ? functions
        .toSorted((one, other) => other.calls - one.calls)
        .map(({ path, name, calls }) => `${String(calls).padStart(4)} ${name} (${path})`)
    : files;
  const figures = `${functions.length} functions, ${calls} calls, ${files.length} files`;
  process.stdout.write(`${[...lines, figures].join("\n")}\n`);
}

const counter = await openCallCounter();
try {
  const paths: Path[] = [];
  for (let number = 1; number <= warmUps + samples; number += 1) {
    paths.push(await measurePath(`message number ${number}`));
    // What runs after the answer, such as the record of its usage.
    await wait(500);
  }
  const [fewest] = paths.slice(warmUps).sort((one, other) => one.calls - other.calls);
  if (fewest !== undefined) print(fewest);
} finally {
  await counter.close();
  await close();
}
