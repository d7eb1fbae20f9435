/** Acts about the task's place in its thread. */
import { actorOf } from "../../gate/border.ts";
import { settleSession } from "../indicators.ts";
import { openThread } from "../open-thread.ts";
import type { ActFamily, ActParts } from "./parts.ts";

type ThreadActs = ActFamily<
  "open_thread" | "join_thread" | "cancel_thread" | "hold_thread" | "leave_thread"
>;

export function createThreadActs(parts: ActParts): ThreadActs {
  const { slack, gate, text, threads, taskOf, indicators, now } = parts;
  return {
    async open_thread({ act: { privately, reconcile }, task, signal }) {
      const threadRef = await openThread({ slack, task, text, signal, privately, reconcile });
      return { event: { type: "thread_opened", threadRef } };
    },
    async join_thread({ task }) {
      const position = await threads.joinThread({ task });
      if (position === "full") return { event: { type: "thread_full" } };
      return position === "no_route"
        ? { event: { type: position } }
        : { event: { type: "thread_joined", nowMs: now(), ...position } };
    },
    /** Cancels only those tasks of the thread that the person may cancel. */
    async cancel_thread({ task, signal }) {
      const mayCancel = async (id: string) => {
        const other = await taskOf(id);
        if (other === undefined) return false;
        const person = await gate.identify({ task: other, actor: actorOf(task.message), signal });
        return gate.mayCancel({ task: other, person, signal });
      };
      const cancelResult = await threads.cancelAll({ task, mayCancel });
      return { event: { type: "thread_canceled", ...cancelResult } };
    },
    async hold_thread({ act, task }) {
      await threads.hold({ task, untilMs: act.untilMs });
      return { event: { type: "thread_held" } };
    },
    /** Leaves the thread, or returns the write that does it. */
    async leave_thread({ task, signal, storesWrites }) {
      await gate.release({ task });
      const write = storesWrites ? threads.releaseWrite({ task }) : undefined;
      if (write === undefined) await threads.leave({ task });
      if (indicators.sessions && (await threads.isIdle({ task })))
        await settleSession({ slack, task, text, indicators, signal });
      return { event: { type: "thread_left" }, ...(write && { writes: [write] }) };
    },
  };
}
