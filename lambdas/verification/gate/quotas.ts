/** Charges tasks to their user and their channel: each quota is a record of the task store, changed by compare-and-set. */
import type { Config, Quota } from "../../shared/config/schema.ts";
import type { TaskStore } from "../../shared/engine/ports.ts";
import type { Task } from "../task/task.ts";
import type { Gate, OverQuota } from "./gate.ts";
import { charge, giveBack, noUsage, release, type Usage } from "./usage.ts";

/** So many workers at once hardly meet in one channel; who does not get through comes again with its message. */
const maxAttempts = 50;

type Counter = { by: OverQuota["by"]; id: string; quota: Quota };

/** Without quotas nothing is read or written. */
export function createQuotas({
  limits: { perUser, perChannel },
  store,
  now,
}: {
  limits: Pick<Config["limits"], "perUser" | "perChannel">;
  store: TaskStore<Usage>;
  now: () => number;
}): Pick<Gate, "charge" | "release"> {
  function countersOf({ message: { team, user, channel } }: Task): Counter[] {
    return [
      ...(perUser === undefined ? [] : [{ by: "user" as const, id: `usage:user:${team}/${user}`, quota: perUser }]),
      ...(perChannel === undefined
        ? []
        : [{ by: "channel" as const, id: `usage:channel:${team}/${channel}`, quota: perChannel }]),
    ];
  }

  /** `decide` gives the usage it got where nothing is to be changed. */
  async function change<T>(id: string, decide: (usage: Usage) => { usage: Usage; result: T }): Promise<T> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const known = await store.get({ id });
      const before = known ?? noUsage({ id });
      const { usage, result } = decide(before);
      if (usage === before) return result;
      const stored = await (known === undefined ? store.create({ item: usage }) : store.replace({ item: usage }));
      if (stored !== undefined) return result;
    }
    throw new Error("the record of a quota cannot be changed");
  }

  function undo(how: typeof release, { id, quota }: Counter, requestId: string): Promise<void> {
    return change(id, (usage) => ({ usage: how({ usage, quota, requestId, nowMs: now() }), result: undefined }));
  }

  return {
    async charge({ task, untilMs }) {
      const charged: Counter[] = [];
      for (const counter of countersOf(task)) {
        const { by, id, quota } = counter;
        const over = await change<{ retryAtMs?: number } | undefined>(id, (usage) => {
          const outcome = charge({ usage, quota, requestId: task.id, nowMs: now(), untilMs });
          return "over" in outcome ? { usage, result: outcome.over } : { usage: outcome.usage, result: undefined };
        });
        if (over !== undefined) {
          // Where this is cut off, whoever repeats the charge finds the first quota charged, and gives it back then.
          for (const former of charged) await undo(giveBack, former, task.id);
          return { by, ...over };
        }
        charged.push(counter);
      }
      return undefined;
    },
    async release({ task }) {
      for (const counter of countersOf(task)) await undo(release, counter, task.id);
    },
  };
}
