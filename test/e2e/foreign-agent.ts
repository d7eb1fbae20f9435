/** Both zones on this machine, the fake Slack, and one destination: an agent that somebody else wrote. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "@sekisho/config/load.ts";
import { openFakeSlack, startBothZones } from "@sekisho/local/both-zones.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { createLog, silentLog } from "@sekisho/runtime/log.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { closeAfterTest } from "../doubles/serving.ts";

/** `destination` and `limits` are parts of the configuration. */
export async function askForeignAgent({
  destination,
  limits = {},
}: {
  destination: object;
  limits?: object;
}) {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-foreign-"));
  const storeFolder = join(folder, ".sekisho");
  mkdirSync(storeFolder);
  const { fakeSlack, slack } = await openFakeSlack({ log: silentLog });
  const lines: string[] = [];
  const endsById = new Map<string, (task: Task) => void>();
  const zones = await startBothZones({
    config: parseConfig({
      json: {
        destinations: { foreign: destination },
        routes: [{ destination: "foreign" }],
        limits,
      },
    }),
    directory: join(__dirname, "../.."),
    storeFolder,
    openEngine: (zone) => openSqliteEngine({ file: join(storeFolder, `${zone}.db`) }),
    port: 0,
    executionPort: 0,
    slack,
    observe({ requestId, task }) {
      if (task.state === "done" || task.question?.ts !== undefined) endsById.get(requestId)?.(task);
    },
    log: (service) => createLog({ service, write: (line) => lines.push(line) }),
  });
  closeAfterTest({
    async close() {
      await zones.close();
      await fakeSlack.close();
      rmSync(folder, { recursive: true, force: true });
    },
  });
  return {
    lines,
    /** Resolves when the task is over or has asked, to its record and to all that the bot has in the thread. */
    async ask(text = "hello") {
      const { promise, resolve } = Promise.withResolvers<Task>();
      const { message, requestId } = fakeSlack.ask({
        eventsUrl: `${zones.verificationUrl}/slack/events`,
        text,
      });
      endsById.set(requestId, resolve);
      const task = await promise;
      const posts = fakeSlack.thread(message).filter(({ ts }) => ts !== message.ts);
      return { requestId, task, posts, shown: JSON.stringify(posts) };
    },
  };
}
