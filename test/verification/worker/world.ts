/**
 * A small world around the worker: virtual clock, a store, a queue, Slack and a host in memory. Every operation may go
 * wrong as `fate` says; a worker that dies does nothing more, and its message comes again after the visibility timeout.
 */
import { SekishoError } from "../../../contracts/errors.ts";
import type { ExecuteTaskParams, MethodName, ResultOf, TaskResult } from "../../../contracts/methods.ts";
import type { TaskItem, TaskQueue, TaskStore } from "../../../lambdas/shared/engine/ports.ts";
import { type Log, silentLog } from "../../../lambdas/shared/log.ts";
import { type PostKey, type SlackApi, SlackError } from "../../../lambdas/verification/slack/slack.ts";
import type { Ask } from "../../../lambdas/verification/task/messages.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { Thread } from "../../../lambdas/verification/task/thread.ts";
import type { Call, ExecutionClient } from "../../../lambdas/verification/transport/client.ts";
import { createRunAct } from "../../../lambdas/verification/worker/acts.ts";
import { createThreads } from "../../../lambdas/verification/worker/threads.ts";
import { createWorker } from "../../../lambdas/verification/worker/worker.ts";
import { askedAtMs, samplePolicy } from "../task/sample.ts";

/** `refused`: certainly not done. `lost`: not done, nobody knows. `done_unknown`: done, nobody knows. `late`: done within a minute, nobody knows. */
export type Fate = "ok" | "refused" | "lost" | "done_unknown" | "late" | "dies_before" | "dies_after";
export type Operation = { party: "store" | "queue" | "slack" | "host"; name: string };

type Post = { ts: string; text: string; key: PostKey };
type Message = { body: string; visibleAtMs: number };

const leaseMs = 60_000;
const visibilityTimeoutMs = 90_000;

export function createWorld({
  fate = () => "ok",
  story = () => ({ status: "success", response_text: "A checkpoint." }),
  pollsUntilDone = 0,
  idempotent = true,
  cancelable = false,
  concurrency = "thread",
  maxSends = 10,
  inSlack = [],
  log = silentLog,
}: {
  fate?: (operation: Operation) => Fate | Promise<Fate>;
  /** What the agent's run comes to; throws a SekishoError for a failure. */
  story?: (requestId: string) => TaskResult;
  /** With more than 0 the host answers `accepted`, and that many polls find the task still working. */
  pollsUntilDone?: number;
  idempotent?: boolean;
  /** Canceling works at the host. */
  cancelable?: boolean;
  concurrency?: "thread" | "parallel";
  maxSends?: number;
  /** What others wrote into the thread. */
  inSlack?: { ts: string; text: string }[];
  log?: Log;
} = {}) {
  let clockMs = askedAtMs + 500;
  let counter = 0;
  const records = new Map<string, Task>();
  const threads = new Map<string, Thread>();
  const messages: Message[] = [];
  const landings: { atMs: number; land: () => void }[] = [];
  const posts: Post[] = [];
  const runs = new Map<string, { polls: number; arrivals: number; canceled: boolean }>();
  const starts: string[] = [];
  const sent: ExecuteTaskParams[] = [];
  const cancels: { params: unknown; recordedAs: Task["state"] | undefined; answers: number }[] = [];
  const archive: string[] = [];
  const groups = new Set<string | undefined>();
  let doubled = 0;

  /** One operation of a living worker, with the fate that it meets. `unknown` and `refused` are how the party says so. */
  async function operate<T>(
    alive: { yes: boolean },
    operation: Operation,
    errors: { refused: () => Error; unknown: () => Error },
    effect: () => T,
  ): Promise<T> {
    const dead = () => new Error("this worker is dead");
    if (!alive.yes) return Promise.reject(dead());
    switch (await fate(operation)) {
      case "ok":
        return Promise.resolve().then(effect);
      case "refused":
        return Promise.reject(errors.refused());
      case "lost":
        return Promise.reject(errors.unknown());
      case "done_unknown":
        return Promise.resolve()
          .then(effect)
          .then(() => Promise.reject(errors.unknown()));
      case "late":
        landings.push({ atMs: clockMs + 45_000, land: () => void attempt(effect) });
        return Promise.reject(errors.unknown());
      case "dies_before":
        alive.yes = false;
        return Promise.reject(dead());
      case "dies_after":
        return Promise.resolve()
          .then(effect)
          .then(() => {
            alive.yes = false;
            return Promise.reject(dead());
          });
    }
  }

  const engineErrors = {
    refused: () => new Error("engine out of reach"),
    unknown: () => new Error("engine out of reach"),
  };
  const slackErrors = { refused: () => new SlackError("unavailable"), unknown: () => new SlackError("ambiguous") };
  const hostErrors = { refused: () => new SekishoError("unavailable"), unknown: () => new SekishoError("ambiguous") };

  function storeFor<T extends TaskItem>(alive: { yes: boolean }, records: Map<string, T>): TaskStore<T> {
    const at = <T>(name: string, effect: () => T) => operate(alive, { party: "store", name }, engineErrors, effect);
    return {
      get: ({ id }) => at("get", () => structuredClone(records.get(id))),
      create: ({ item }) =>
        at("create", () => {
          if (records.has(item.id)) return undefined;
          records.set(item.id, structuredClone({ ...item, revision: 1 }));
          return structuredClone(records.get(item.id));
        }),
      replace: ({ item }) =>
        at("replace", () => {
          if (records.get(item.id)?.revision !== item.revision) return undefined;
          records.set(item.id, structuredClone({ ...item, revision: item.revision + 1 }));
          return structuredClone(records.get(item.id));
        }),
      list: () => Promise.reject(new Error("not used")),
    };
  }

  const threadsFor = (alive: { yes: boolean }) => storeFor(alive, threads);

  function queueFor(alive: { yes: boolean }): TaskQueue {
    return {
      send: ({ body, delayMs = 0, group }) =>
        operate(alive, { party: "queue", name: "send" }, engineErrors, () => {
          groups.add(group);
          messages.push({ body, visibleAtMs: clockMs + delayMs });
        }),
    };
  }

  function slackFor(alive: { yes: boolean }): SlackApi {
    const at = <T>(name: string, effect: () => T) => operate(alive, { party: "slack", name }, slackErrors, effect);
    const find = (ts: string) => {
      const post = posts.find((candidate) => candidate.ts === ts);
      if (post === undefined) throw new SlackError("no_such_message");
      return post;
    };
    return {
      post: ({ text, key }) =>
        at("post", () => {
          const ts = `${(askedAtMs + 1000 + counter++) / 1000}`;
          if (posts.some((post) => post.key.part === key.part)) doubled += 1;
          posts.push({ ts, text, key });
          return { ts };
        }),
      update: ({ ts, text, key }) => at("update", () => void Object.assign(find(ts), { text, key })),
      remove: ({ ts }) => at("remove", () => void posts.splice(posts.indexOf(find(ts)), 1)),
      react: () => at("react", () => undefined),
      replies: () =>
        at("replies", () => [...inSlack.map((message) => ({ ...message, key: undefined })), ...structuredClone(posts)]),
    };
  }

  function clientFor(alive: { yes: boolean }): ExecutionClient {
    async function answer(call: Call<MethodName>): Promise<TaskResult> {
      const { task_id: taskId, request_id: byRequest } = call.params as { task_id?: string; request_id?: string };
      const byTask = [...runs.keys()][Number(taskId?.slice(2)) - 1];
      const requestId = call.method === "execute_task" ? call.id : (byRequest ?? byTask ?? "");
      if (call.method === "cancel_task") {
        const recordedAs = records.get(requestId)?.state;
        cancels.push({ params: call.params, recordedAs, answers: posts.filter(({ key }) => key.part > 0).length });
      }
      const run = runs.get(requestId) ?? { polls: -1, arrivals: 0, canceled: false };
      if (call.method === "execute_task") {
        if (run.arrivals === 0 || !idempotent) starts.push(requestId);
        sent.push(call.params as ExecuteTaskParams);
        run.arrivals += 1;
      } else if (run.arrivals === 0) throw new SekishoError("task_not_found");
      runs.set(requestId, run);
      run.canceled ||= call.method === "cancel_task" && cancelable;
      run.polls += 1;
      if (run.canceled) {
        if (call.method !== "cancel_task") throw new SekishoError("canceled");
        return { status: "success", response_text: "" };
      }
      const number = [...runs.keys()].indexOf(requestId) + 1;
      if (run.polls < pollsUntilDone) return { status: "accepted", task_id: `t-${number}`, poll_after_ms: 1000 };
      return story(requestId);
    }
    return {
      call: <M extends MethodName>(call: Call<M>) =>
        operate(alive, { party: "host", name: call.method }, hostErrors, () => answer(call as Call<MethodName>)).then(
          (result) => result as ResultOf<M>,
        ),
      close: () => Promise.resolve(),
    };
  }

  function workerOf(alive: { yes: boolean }) {
    const newId = () => `00000000-0000-4000-8000-${String(counter++).padStart(12, "0")}`;
    const now = () => clockMs;
    const runAct = createRunAct({
      slack: slackFor(alive),
      threads: createThreads({ store: threadsFor(alive), queue: queueFor(alive), now }),
      destinations: new Map([["host", { client: clientFor(alive), callTimeoutMs: 30_000, maxSends, longPollMs: 0 }]]),
      answerText: {
        placeholder: () => "Working on it",
        parts: ({ outcome }) => (outcome?.type === "answer" ? outcome.text.split("|") : [JSON.stringify(outcome)]),
      },
      newId,
      now,
    });
    const policy = samplePolicy({ idempotent, concurrency, deadlineMs: 15 * 60_000 });
    return createWorker({
      store: storeFor(alive, records),
      queue: queueFor(alive),
      policy,
      runAct,
      leaseMs,
      log,
      newId,
      now,
    });
  }

  return {
    posts,
    starts,
    sent,
    records,
    /** Slack delivers the message: the ingress puts it into the queue. */
    deliver: (ask: Ask) => messages.push({ body: JSON.stringify(ask), visibleAtMs: clockMs }),
    /** Somebody puts something into the queue that is none of ours. */
    queueRaw: (body: string) => messages.push({ body, visibleAtMs: clockMs }),
    /** Lets the workers work until nothing is left to do, or `maxSteps` messages were handled. */
    async run({ maxSteps = 2000 } = {}): Promise<void> {
      for (let step = 0; step < maxSteps; step++) {
        const message = messages.reduce<Message | undefined>(
          (first, next) => (first === undefined || next.visibleAtMs < first.visibleAtMs ? next : first),
          undefined,
        );
        if (message === undefined) break;
        clockMs = Math.max(clockMs, message.visibleAtMs) + 50;
        for (const landing of landings.splice(0)) {
          if (landing.atMs <= clockMs) landing.land();
          else landings.push(landing);
        }
        const alive = { yes: true };
        // As a queue has it: hidden while it is handled, removed when that succeeded, visible again otherwise.
        message.visibleAtMs = clockMs + visibilityTimeoutMs;
        const handled = await workerOf(alive)
          .handle(message)
          .then(
            () => alive.yes,
            () => false,
          );
        if (handled) messages.splice(messages.indexOf(message), 1);
      }
      for (const { land } of landings.splice(0)) land();
    },
    /** The queue gives up on every message that is in it. Where burying one fails, it comes again. */
    async buryAll(): Promise<void> {
      for (const { body, visibleAtMs } of messages.splice(0)) {
        clockMs = Math.max(clockMs, visibleAtMs);
        const keep = async () => void archive.push(body);
        const bury = () => workerOf({ yes: true }).deadLetter({ body, keep });
        await bury().catch(() => {
          clockMs += visibilityTimeoutMs;
          return bury();
        });
      }
    },
    /** The queue gives up on the next message; whether it can be kept is the test's. */
    buryOne: ({ keep }: { keep: () => Promise<void> }) => {
      const [{ body } = { body: "" }] = messages.splice(0, 1);
      return workerOf({ yes: true }).deadLetter({ body, keep });
    },
    /** Somebody's wish. */
    cancel: (requestId: string) =>
      messages.push({ body: JSON.stringify({ type: "cancel", requestId }), visibleAtMs: clockMs }),
    /** The Execution zone says that a task is over, or somebody claims it. Resolves to the calls that the host got for it. */
    async push(body: string): Promise<number> {
      const calls = () => [...runs.values()].reduce((sum, { polls }) => sum + polls + 1, 0);
      const before = calls();
      await workerOf({ yes: true }).completion({ body });
      return calls() - before;
    },
    now: () => clockMs,
    /** Time passes without anybody working. */
    pass: (ms: number) => {
      clockMs += ms;
    },
    /** An operator's wish. */
    redrive: (requestId: string) =>
      messages.push({ body: JSON.stringify({ type: "redrive", requestId }), visibleAtMs: clockMs }),
    /** The queue loses all that is in it. */
    loseMessages: () => messages.splice(0).length,
    /** A person deletes all posts. */
    deletePosts: () => posts.splice(0).length,
    cancels,
    archive,
    /** Whose turns the workers' own messages took. */
    groups,
    /** A worker handles the messages that are due now, whatever others are doing. */
    async handleDue(): Promise<void> {
      const due = messages.filter(({ visibleAtMs }) => visibleAtMs <= clockMs);
      for (const message of due) {
        messages.splice(messages.indexOf(message), 1);
        await workerOf({ yes: true }).handle(message);
      }
    },
    /** How often a post was made although the thread showed that part already. */
    doubled: () => doubled,
    /** Two workers take the same messages at the same time. */
    async runTwiceAtOnce(): Promise<void> {
      const due = messages.splice(0);
      await Promise.all(
        due.flatMap((message) => [workerOf({ yes: true }).handle(message), workerOf({ yes: true }).handle(message)]),
      );
    },
    /** The posts of answers (not placeholders) in the thread. */
    answers: () => posts.filter(({ key }) => key.part > 0).map(({ text }) => text),
  };
}

function attempt(effect: () => unknown): void {
  try {
    effect();
  } catch {
    // A late edit of a message that is gone: Slack refuses it, and nobody hears of it.
  }
}
