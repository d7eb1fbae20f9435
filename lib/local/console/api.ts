/** What the page asks for and what it has done, by the address behind `/operate/api/`. */
import * as z from "zod";
import { uuidPattern } from "../../../contracts/envelope.ts";
import type { Log } from "../../../lambdas/shared/log.ts";
import { NoSuchTask } from "../../cli/tasks/find-task.ts";
import { type ActionResult, refuseAction } from "./action-result.ts";
import type { Explain } from "./explain.ts";
import type { ConsoleSource } from "./source.ts";
import { listOlderTasks } from "./tasks/older-tasks.ts";
import { runTaskAction } from "./tasks/task-actions.ts";
import { readTaskDetail } from "./tasks/task-detail.ts";

const namesSchema = z.object({ names: z.array(z.string().max(64)).max(100).optional() });
const redriveSchema = z.union([
  z.object({ all: z.literal(true) }),
  z.object({ requestIds: z.array(z.string().regex(uuidPattern)).min(1).max(1000) }),
]);

export type Api = {
  /** Undefined where there is nothing at that address. */
  read(request: { path: string; query: URLSearchParams }): Promise<ActionResult | undefined>;
  act(request: { path: string; body: unknown; operator: string }): Promise<ActionResult | undefined>;
};

export function createApi({
  source,
  signsIn,
  explain,
  log,
  now = Date.now,
}: {
  source: ConsoleSource;
  signsIn: boolean;
  explain: Explain;
  log: Log;
  now?: () => number;
}): Api {
  const { place, pictureOf, health, letters } = source;

  async function read({ path, query }: { path: string; query: URLSearchParams }): Promise<ActionResult | undefined> {
    if (path === "where") return { done: { name: source.name, signsIn } };
    if (path === "destinations") return { done: await health.view() };
    if (path === "dead-letters") return { done: { about: letters.about, rows: await letters.list() } };
    if (path === "tasks") return listOlderTasks({ place, query, nowMs: now() });
    const [, id] = /^tasks\/([^/]+)$/.exec(path) ?? [];
    return id === undefined ? undefined : readTaskDetail({ place, pictureOf, id: id.toLowerCase(), now });
  }

  async function act({
    path,
    body,
    operator,
  }: {
    path: string;
    body: unknown;
    operator: string;
  }): Promise<ActionResult | undefined> {
    if (path === "destinations/check") {
      const asked = namesSchema.safeParse(body).data;
      if (asked === undefined) return refuseAction(400, "Names of destinations are needed, or none for all.");
      await health.check(asked.names);
      return { done: await health.view() };
    }
    if (path === "dead-letters/redrive") {
      const asked = redriveSchema.safeParse(body).data;
      if (asked === undefined) return refuseAction(400, "Request ids are needed, or all: true.");
      const redriven = await letters.redrive("all" in asked ? undefined : asked.requestIds);
      for (const { requestId } of redriven) {
        log.info("operator_asked", { operation: "redrive", request_id: requestId, operator });
      }
      return { done: { redriven } };
    }
    const [, id, name] = /^tasks\/([^/]+)\/([a-z]+)$/.exec(path) ?? [];
    if (id === undefined || name === undefined) return undefined;
    return runTaskAction({ name, id: id.toLowerCase(), place, operator, log });
  }

  return { read: (request) => orExplained(() => read(request)), act: (request) => orExplained(() => act(request)) };

  async function orExplained(work: () => Promise<ActionResult | undefined>): Promise<ActionResult | undefined> {
    try {
      return await work();
    } catch (thrown) {
      return refuseAction(thrown instanceof NoSuchTask ? 404 : 502, explain(thrown));
    }
  }
}
