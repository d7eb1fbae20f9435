/** The Verification zone over one engine, a peer over loopback that answers as the corpus says, and the fake Slack. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "@sekisho/config/load.ts";
import { openFakeSlack, startBothZones } from "@sekisho/local/both-zones.ts";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { type Engine, openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { createLog, silentLog } from "@sekisho/runtime/log.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { startExecutionPeer } from "../doubles/execution-peer.ts";
import type { Entry } from "./corpus.ts";

/** A delay that would be two minutes takes six seconds. */
const timesFaster = 20;
const leastDelayMs = 50;

export type HostileWorld = Awaited<ReturnType<typeof startHostileWorld>>;

export async function startHostileWorld({
  entries,
  callTimeoutMs,
  deadlineMs,
  openEngine,
}: {
  entries: readonly Entry[];
  callTimeoutMs: number;
  deadlineMs: number;
  /** sqlite where absent. */
  openEngine?: ((zone: "verification" | "execution") => Engine) | undefined;
}) {
  const numbers = new Map<unknown, number>();
  const peer = await startExecutionPeer({
    script(call) {
      const { text, task_id: taskId, request_id: requestId } = call.params;
      if (call.method === "execute_task")
        numbers.set(call.id, Number(String(text).split(" ").at(-1)));
      const number = numbers.get(requestId ?? call.id) ?? Number(String(taskId).slice(2));
      const entry = entries[number];
      if (entry === undefined) throw new Error("a call that belongs to no entry");
      return entry.respond(call, `t-${number}`);
    },
  });
  const folder = mkdtempSync(join(tmpdir(), "sekisho-hostile-"));
  const storeFolder = join(folder, ".sekisho");
  mkdirSync(storeFolder);
  const { fakeSlack, slack } = await openFakeSlack({ log: silentLog });
  const lines: string[] = [];
  const endsById = new Map<string, (task: Task) => void>();
  const open =
    openEngine ?? ((zone) => openSqliteEngine({ file: join(storeFolder, `${zone}.db`) }));
  // What looks like an outage to the circuit breaker of one destination is no business of the others.
  const wordOf = (number: number) => `away${number}`;
  const away = entries.flatMap(({ isOutage }, number) => (isOutage ? [wordOf(number)] : []));
  const destination = { transport: "https", url: peer.url, deadlineMs };
  const zones = await startBothZones({
    config: parseConfig({
      json: {
        destinations: Object.fromEntries(["peer", ...away].map((name) => [name, destination])),
        routes: [...away.map((word) => ({ word, destination: word })), { destination: "peer" }],
        limits: {
          callTimeoutMs,
          leaseMs: 2 * callTimeoutMs + 20_000,
          visibilityTimeoutMs: 2 * callTimeoutMs + 25_000,
        },
      },
    }),
    directory: join(__dirname, "../.."),
    storeFolder,
    openEngine: (zone) => faster(open(zone)),
    port: 0,
    executionPort: 0,
    slack,
    observe({ requestId, task }) {
      if (task.state === "done") endsById.get(requestId)?.(task);
    },
    log: (service) => createLog({ service, write: (line) => lines.push(line) }),
  });
  return {
    lines,
    fakeSlack,
    /** Resolves to what the bot has in the thread when the task is over, and to its record. */
    async askFor(
      number: number,
    ): Promise<{ requestId: string; task: Task; posts: FakeSlackMessage[] }> {
      const eventsUrl = `${zones.verificationUrl}/slack/events`;
      const { promise, resolve } = Promise.withResolvers<Task>();
      const text = entries[number]?.isOutage ? `${wordOf(number)}: ${number}` : String(number);
      const { message, requestId } = fakeSlack.ask({ eventsUrl, text });
      endsById.set(requestId, resolve);
      const task = await promise;
      return {
        requestId,
        task,
        posts: fakeSlack.thread(message).filter(({ ts }) => ts !== message.ts),
      };
    },
    async close() {
      await zones.close();
      await fakeSlack.close();
      await peer.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The same engine, whose messages come sooner. */
function faster(engine: Engine): Engine {
  return {
    ...engine,
    taskQueue(request) {
      const { queue, deadLetters } = engine.taskQueue(request);
      const send: typeof queue.send = ({ delayMs = 0, ...message }) =>
        queue.send({
          ...message,
          delayMs: delayMs === 0 ? 0 : Math.max(leastDelayMs, Math.ceil(delayMs / timesFaster)),
        });
      return { queue: { ...queue, send }, deadLetters };
    },
  };
}
