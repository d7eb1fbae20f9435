/** Both zones, with a peer over loopback that answers as the corpus says in place of the Execution zone. */
import type { Engine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { startExecutionPeer } from "../doubles/execution-peer.ts";
import { startZones } from "../world/started-zones.ts";
import type { Entry } from "./corpus.ts";

/** A delay that would be two minutes takes six seconds. */
const timesFaster = 20;
const minDelayMs = 50;

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
  // What looks like an outage to the circuit breaker of one destination is no business of the others.
  const wordOf = (number: number) => `away${number}`;
  const away = entries.flatMap(({ isOutage }, number) => (isOutage ? [wordOf(number)] : []));
  const destination = { transport: "https", url: peer.url, deadlineMs };
  const zones = await startZones({
    config: {
      destinations: Object.fromEntries(["peer", ...away].map((name) => [name, destination])),
      routes: [...away.map((word) => ({ word, destination: word })), { destination: "peer" }],
      limits: {
        callTimeoutMs,
        leaseMs: 2 * callTimeoutMs + 20_000,
        visibilityTimeoutMs: 2 * callTimeoutMs + 25_000,
      },
    },
    openEngine,
    wrapEngine: faster,
    level: "info",
  });
  return {
    lines: zones.lines,
    /** Resolves to what the bot has in the thread when the task is over, and to its record. */
    async askFor(number: number) {
      const text = entries[number]?.isOutage ? `${wordOf(number)}: ${number}` : String(number);
      const { message, requestId } = zones.ask(text);
      const task = await zones.over(requestId);
      return { requestId, task, posts: zones.answersTo(message) };
    },
    async close() {
      await zones.close();
      await peer.close();
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
          delayMs: delayMs === 0 ? 0 : Math.max(minDelayMs, Math.ceil(delayMs / timesFaster)),
        });
      return { queue: { ...queue, send }, deadLetters };
    },
  };
}
