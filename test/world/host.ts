/** An Execution host in memory: runs that are at work for some polls, ask questions one after the other, and end. */
import type { Answerers } from "@sekisho/contracts/answer-rules.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type {
  ExecuteTaskParams,
  MethodName,
  ParamsOf,
  ResultOf,
  TaskResult,
} from "@sekisho/contracts/methods.ts";
import type { QuestionField } from "@sekisho/contracts/question-fields.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { ClientCall, ExecutionClient } from "@sekisho/verification/transport/runner.ts";
import type { Operate, WorkerProcess } from "./faults.ts";

type Accepted = Extract<TaskResult, { status: "accepted" }>;
/** What the agent asks. `expiresAfterMs`: as the host says it. `solvedAfterPolls`: credentials that come by themselves. */
export type Asked = {
  prompt: string;
  options?: { id: string; label: string; style?: string }[];
  fields?: QuestionField[];
  kind?: "auth";
  url?: string;
  answerers?: Answerers;
  approvals?: number;
  expiresAfterMs?: number;
  solvedAfterPolls?: number;
};

type Run = {
  /** Since it began, or was last answered; -1 before its first call. */
  polls: number;
  arrivals: number;
  canceled: boolean;
  /** How many questions are over. */
  asked: number;
};
type Reply = {
  requestId: string;
  question: number;
  callId: string;
  params: Record<string, unknown>;
};

/** What the agent does, and what its host can. */
export type AgentOptions = {
  /** What the agent's run comes to; throws a SekishoError for a failure. */
  story?: (requestId: string) => TaskResult;
  /** What it asks before that, one after the other. */
  questions?: readonly Asked[];
  /** Its host tells one question from the other. */
  questionIds?: boolean;
  /** What it tells at the poll of that number. */
  progress?: (polls: number) => Accepted["progress"];
  /** With more than 0 the host answers `accepted`, and the poll of that number brings the result; those before find the task working. The same holds before each question. */
  pollsUntilDone?: number;
  /** When it asks to be polled again. */
  pollAfterMs?: number;
  idempotent?: boolean;
  /** Canceling works at the host. */
  cancelable?: boolean;
};

export type WorldHost = {
  client(process: WorkerProcess): ExecutionClient;
  /** The request id of each time that the agent was started. */
  starts: string[];
  sent: ExecuteTaskParams[];
  /** What people replied to the agent. */
  replies: Reply[];
  cancels: { params: unknown; recordedAs: Task["state"] | undefined; answers: number }[];
  /** The votes that arrived. */
  votes: ParamsOf<"feedback">[];
  calls(): number;
};

const errors = {
  refused: () => new SekishoError("unavailable"),
  unknown: () => new SekishoError("ambiguous"),
};

export function createWorldHost({
  operate,
  now,
  seen = () => ({ recordedAs: undefined, answers: 0 }),
  story = () => ({ status: "success", response_text: "A checkpoint." }),
  questions = [],
  questionIds = true,
  progress = () => undefined,
  pollsUntilDone = 0,
  pollAfterMs = 1000,
  idempotent = true,
  cancelable = false,
}: {
  operate: Operate;
  now: () => number;
  /** What the other side shows while it cancels. */
  seen?: (requestId: string) => { recordedAs: Task["state"] | undefined; answers: number };
} & AgentOptions): WorldHost {
  const runs = new Map<string, Run>();
  const starts: string[] = [];
  const sent: ExecuteTaskParams[] = [];
  const replies: Reply[] = [];
  const cancels: WorldHost["cancels"] = [];
  const votes: WorldHost["votes"] = [];

  function record(params: ParamsOf<"feedback">): ResultOf<"feedback"> {
    votes.push(params);
    return { status: "recorded", task_id: params.task_id ?? "t-1" };
  }

  function take(requestId: string, call: ClientCall<MethodName>, run: Run): void {
    const known = idempotent ? replies.find(({ callId }) => callId === call.id) : undefined;
    if (known !== undefined) return;
    const params = call.params as Record<string, unknown>;
    if (run.asked >= questions.length || run.polls < pollsUntilDone)
      throw new SekishoError("invalid_state");
    if (params.question_id !== undefined && params.question_id !== `q-${run.asked}`) {
      throw new SekishoError("invalid_state");
    }
    replies.push({ requestId, question: run.asked, callId: call.id, params });
    run.asked += 1;
    run.polls = -1;
  }

  function stateOf(requestId: string, run: Run): TaskResult {
    const taskId = `t-${[...runs.keys()].indexOf(requestId) + 1}`;
    if (run.polls < pollsUntilDone) {
      const told = progress(run.polls);
      return {
        status: "accepted",
        task_id: taskId,
        poll_after_ms: pollAfterMs,
        ...(told && { progress: told }),
      };
    }
    const question = questions[run.asked];
    if (question === undefined) return story(requestId);
    const { expiresAfterMs, solvedAfterPolls, ...rest } = question;
    if (solvedAfterPolls !== undefined && run.polls - pollsUntilDone >= solvedAfterPolls) {
      run.asked += 1;
      run.polls = 0;
      return stateOf(requestId, run);
    }
    return {
      status: "input_required",
      task_id: taskId,
      ...rest,
      ...(questionIds ? { question_id: `q-${run.asked}` } : {}),
      ...(expiresAfterMs === undefined
        ? {}
        : { expires_at: new Date(now() + expiresAfterMs).toISOString() }),
    };
  }

  function answer(call: ClientCall<MethodName>): TaskResult {
    const { task_id: taskId, request_id: byRequest } = call.params as {
      task_id?: string;
      request_id?: string;
    };
    const byTask = [...runs.keys()][Number(taskId?.slice(2)) - 1];
    const requestId = call.method === "execute_task" ? call.id : (byRequest ?? byTask ?? "");
    if (call.method === "cancel_task") cancels.push({ params: call.params, ...seen(requestId) });
    const run = runs.get(requestId) ?? { polls: -1, arrivals: 0, canceled: false, asked: 0 };
    if (call.method === "execute_task") {
      if (run.arrivals === 0 || !idempotent) starts.push(requestId);
      sent.push(call.params as ExecuteTaskParams);
      run.arrivals += 1;
    } else if (run.arrivals === 0) throw new SekishoError("task_not_found");
    runs.set(requestId, run);
    run.canceled ||= call.method === "cancel_task" && cancelable;
    if (run.canceled && call.method !== "cancel_task") throw new SekishoError("canceled");
    if (call.method === "answer_task") take(requestId, call, run);
    run.polls += 1;
    return run.canceled ? { status: "success", response_text: "" } : stateOf(requestId, run);
  }

  return {
    client: (process) => ({
      async call<M extends MethodName>(call: ClientCall<M>) {
        const operation = { party: "host", name: call.method } as const;
        const effect = () =>
          call.method === "feedback"
            ? record(call.params as ParamsOf<"feedback">)
            : answer(call as ClientCall<MethodName>);
        return (await operate({ process, operation, errors, effect })) as ResultOf<M>;
      },
      close: async () => {},
    }),
    starts,
    sent,
    replies,
    cancels,
    votes,
    calls: () => [...runs.values()].reduce((sum, { polls }) => sum + polls + 1, 0),
  };
}
