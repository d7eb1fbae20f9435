/** The tasks of the cases: executed, and polled to their end where they are accepted. */
import { randomUUID } from "node:crypto";
import type { TaskResult } from "../../../contracts/methods.ts";
import { type AcceptedTask, type CaseRun, Deviation, NotApplicable, type SentTask, type SlowTasks } from "./case.ts";
import { expectResult } from "./expect.ts";
import type { PeerAnswer, PeerUnderTest } from "./peer.ts";

/** A task that has not ended by then fails its case. */
const maxPolls = 120;
const pollAfterMs = { default: 1000, min: 50, max: 2000 };

/** The channel of every task, by which a peer sees where they come from. */
export const channel = "C0CONFORMANCE";

type Params = Readonly<Record<string, unknown>>;

/** Resolves to the last answer, which may be an error. */
export async function runTask(run: CaseRun, params: Params, id: string = randomUUID()): Promise<PeerAnswer> {
  const answer = await run.peer.call({ method: "execute_task", params: { channel, ...params }, id });
  const accepted = readAccepted(answer);
  return accepted === undefined ? answer : followTask(run, accepted);
}

/** Polls an accepted task to its end. */
export async function followTask(
  { peer, sleep }: CaseRun,
  { task_id, poll_after_ms }: AcceptedTask["result"],
): Promise<PeerAnswer> {
  let waitMs = poll_after_ms;
  for (let poll = 0; poll < maxPolls; poll++) {
    await sleep(Math.max(pollAfterMs.min, Math.min(waitMs ?? pollAfterMs.default, pollAfterMs.max)));
    const answer = await peer.call({ method: "get_task", params: { task_id } });
    // A lost connection says nothing about the task.
    if (answer.failure === "ambiguous" || answer.failure === "unavailable") continue;
    const accepted = readAccepted(answer);
    if (accepted === undefined) return answer;
    waitMs = accepted.poll_after_ms;
  }
  throw new Deviation(`the task that was accepted as ${task_id} had no end after ${maxPolls} polls`);
}

export type Succeeded = { result: Extract<TaskResult, { status: "success" }>; came: string };

export async function expectSuccess(run: CaseRun, params: Params, id?: string): Promise<Succeeded> {
  const answer = await runTask(run, params, id);
  const result = expectResult(answer, "execute_task");
  if (result.status !== "success") throw new Deviation(answer.came);
  return { result, came: answer.came };
}

function readAccepted(answer: PeerAnswer): AcceptedTask["result"] | undefined {
  const { response } = answer;
  if (response === undefined || "error" in response || Object(response.result).status !== "accepted") return undefined;
  const result = expectResult(answer, "execute_task");
  return result.status === "accepted" ? result : undefined;
}

/** Sends both tasks at the same time when the first of them is needed. */
export function createSlowTasks(peer: PeerUnderTest, text: string): SlowTasks {
  let sent: readonly [Promise<SentTask>, Promise<SentTask>] | undefined;

  async function send(): Promise<SentTask> {
    const requestId = randomUUID();
    const params = { channel, text };
    return { requestId, params, answer: await peer.call({ method: "execute_task", params, id: requestId }) };
  }

  function start() {
    sent ??= [send(), send()];
    // An interrupted command may never await the second one.
    for (const one of sent) one.catch(() => {});
    return sent;
  }

  async function accepted(task: Promise<SentTask>): Promise<AcceptedTask> {
    const { answer, ...rest } = await task;
    const { response, came } = answer;
    if (response === undefined || "error" in response) throw new NotApplicable(`to "${text}" came ${came}`);
    const result = expectResult(answer, "execute_task");
    if (result.status === "accepted") return { ...rest, answer, result };
    throw new NotApplicable(`the peer answers "${text}" at once and not by "accepted"`);
  }

  return { first: () => start()[0], awaited: () => accepted(start()[0]), canceled: () => accepted(start()[1]) };
}
