/**
 * Entry of `npm run path`: the files of `lambdas/` and `contracts/` in which a function runs between a warm Slack event and
 * its answer, both zones on one machine, the agent `echo`, over HTTP.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseConfig } from "@sekisho/config/load.ts";
import { openFakeSlack, startBothZones } from "@sekisho/local/both-zones.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { createLog } from "@sekisho/runtime/log.ts";

const root = join(import.meta.dirname, "../..");
const log = createLog({ service: "sekisho", level: "error" });
const folder = mkdtempSync(join(tmpdir(), "sekisho-path-"));
const { fakeSlack, slack } = await openFakeSlack({ log });
const zones = await startBothZones({
  config: parseConfig({ json: { execution: { agent: "echo" } } }),
  directory: folder,
  storeFolder: folder,
  port: 0,
  executionPort: 0,
  slack,
  log: () => log,
});

async function sendAndWait(text: string): Promise<void> {
  await fakeSlack.ask({ eventsUrl: `${zones.verificationUrl}/slack/events`, text });
  const isAnswered = () =>
    fakeSlack.messages().some((one) => one.user === workspace.botUser && one.text.includes(text));
  // A pause would count what runs after the answer, such as the record of its usage.
  while (!isAnswered()) await nextTurn();
}

const session = new Session();
session.connect();
try {
  await sendAndWait("first message");
  await wait(500);
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await sendAndWait("second message");
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const files = result
    .filter(({ url, functions }) => url.startsWith("file:") && functions.some(isCalled))
    .map(({ url }) => relative(root, fileURLToPath(url)))
    .filter((path) => /^(lambdas|contracts)\//.test(path))
    .sort();
  for (const path of files) process.stdout.write(`${path}\n`);
  process.stdout.write(`${files.length} files\n`);
} finally {
  session.disconnect();
  await zones.close();
  await fakeSlack.close();
  rmSync(folder, { recursive: true, force: true });
}

/** The code of a module outside its functions has no name. */
function isCalled({
  functionName,
  ranges,
}: {
  functionName: string;
  ranges: { count: number }[];
}): boolean {
  return functionName !== "" && (ranges[0]?.count ?? 0) > 0;
}
