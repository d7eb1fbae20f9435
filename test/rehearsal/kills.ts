/** Instances of functions that are killed at random moments, told to the same story as processes that are. */
import { setTimeout as wait } from "node:timers/promises";
import type { AgentEntry } from "../faults/real/agent-log.ts";
import type { Books } from "../faults/real/books.ts";
import type { Zone } from "../faults/real/plan.ts";
import { createRandom } from "../faults/real/random.ts";
import { readStores } from "../faults/real/read-stores.ts";
import type { Zones } from "../faults/real/run-plan.ts";
import { quiet } from "./stage.ts";
import { eventSourcesOf } from "./template/wiring.ts";
import type { World } from "./world.ts";
import { openZoneTables, stackOf } from "./zone-tables.ts";

/** A moment at which nothing of a zone is at work is put off by up to so much, so many times. */
const putOffMs = 100;
const mostTries = 20;

export function zonesOf({ world, seed }: { world: World; seed: number }): Zones {
  const random = createRandom({ seed });

  async function killOne(zone: Zone): Promise<boolean> {
    const functions = [...world.functions.values()].filter(({ fn }) => fn.label.startsWith(`${stackOf[zone]}/`));
    const from = random.upTo(functions.length);
    for (const fn of [...functions.slice(from), ...functions.slice(0, from)]) if (await fn.kill()) return true;
    return false;
  }

  return {
    eventsUrl: world.eventsUrl,
    async kill(zone) {
      for (let tries = 0; tries < mostTries; tries++) {
        if (await killOne(zone)) return true;
        await wait(random.upTo(putOffMs));
      }
      return false;
    },
    output: () => world.lines.map(({ line }) => line).join("\n"),
    problems: world.problems,
    close: world.close,
  };
}

export function booksOf({ world }: { world: World }): Books {
  const tables = openZoneTables(world);
  return {
    ...readStores({
      verification: ({ parse }) => tables.storeOf({ zone: "verification", parse }),
      execution: ({ parse }) => tables.storeOf({ zone: "execution", parse }),
    }),
    async queued() {
      // Wake-ups of tasks that are over come as late as they were sent for. What stays all the same is told below.
      await quiet(world).catch(() => {});
      const lines = eventSourcesOf(world).map(async ({ queueArn }) => {
        const attributes = await world.queues.attributesOf(queueArn);
        const depths = ["", "NotVisible", "Delayed"].map(
          (suffix) => attributes[`ApproximateNumberOfMessages${suffix}`],
        );
        const depth = depths.reduce((sum, count) => sum + Number(count ?? 0), 0);
        return depth === 0 ? [] : [`${depth} messages are in ${queueArn}.`];
      });
      return (await Promise.all(lines)).flat();
    },
    agentLog: () => agentLogOf(world.lines),
    async close() {
      tables.close();
    },
  };
}

/** The host says that it starts the agent right before it does; which process said it is not known. */
function agentLogOf(lines: World["lines"]): AgentEntry[] {
  return lines.flatMap(({ line }, index): AgentEntry[] => {
    if (!line.includes('"message":"task_started"')) return [];
    return [{ what: "start", requestId: String(JSON.parse(line).request_id), pid: String(index) }];
  });
}
