/**
 * A small world around the worker: virtual clock, a store, a queue, Slack and a host in memory. Every operation may go
 * wrong as `fault` says; a worker that dies does nothing more, and its message comes again after the visibility timeout.
 */

import { parseConfig } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import type { WorkerDestination } from "@sekisho/verification/destinations.ts";
import type { Files } from "@sekisho/verification/files/files.ts";
import type { Gate } from "@sekisho/verification/gate/gate.ts";
import { createPolicy } from "@sekisho/verification/gate/rules.ts";
import { isOutcome } from "@sekisho/verification/slack/api/post-keys.ts";
import type { TaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type {
  AskMessage,
  ButtonClick,
  Interaction,
  MessageChange,
} from "@sekisho/verification/task/messages.ts";
import type { Policy } from "@sekisho/verification/task/routing.ts";
import { parseTask, type Task } from "@sekisho/verification/task/task.ts";
import { parseThread, type Thread } from "@sekisho/verification/task/thread.ts";
import type { ExecutionClient } from "@sekisho/verification/transport/runner.ts";
import {
  createVerificationWorker,
  openWorkerStores,
} from "@sekisho/verification/worker/verification-worker.ts";
import { parseZoneSecret } from "@sekisho/verification/zone-secret.ts";
import { oneByOne } from "../doubles/one-by-one.ts";
import { askedAtMs, sampleAsk, samplePolicy } from "../verification/task/sample.ts";
import { type QueuedMessage, worldQueue, worldStore } from "./engine.ts";
import { createFaults, type FaultOf, type WorkerProcess } from "./faults.ts";
import { type AgentOptions, createWorldHost } from "./host.ts";
import { worldFiles, worldGate, worldText } from "./people.ts";
import { createCodec, createMemoryTaskStore, createRecords, shareItems } from "./records.ts";
import { createWorldSlack, type Foreign } from "./slack.ts";

const defaults = parseConfig({ json: {} });
const leaseMs = 60_000;
const visibilityTimeoutMs = 90_000;
const idPrefix = "00000000-0000-4000-8000-";

export type Routing = { destinations: string[]; routes: Config["routes"] };

function routedPolicy(policy: Policy, routing: Routing | undefined): Policy {
  const [destination] = policy.destinations.values();
  if (routing === undefined || destination === undefined) return policy;
  const { routesOf } = createPolicy({ config: { ...defaults, routes: routing.routes } });
  return {
    ...policy,
    routesOf,
    destinations: new Map(routing.destinations.map((name) => [name, destination])),
  };
}

type Call = Parameters<ExecutionClient["call"]>[0];

function noteCalls(client: ExecutionClient, note: (call: Call) => void): ExecutionClient {
  return {
    ...client,
    call(call) {
      note(call);
      return client.call(call);
    },
  };
}

/** A world in which the sample's message was delivered, and handled as `run` says. */
export async function runWorld(
  options: Parameters<typeof createWorld>[0] = {},
  run: Parameters<ReturnType<typeof createWorld>["run"]>[0] = {},
) {
  const world = createWorld(options);
  await world.deliver(sampleAsk()).run(run);
  return world;
}

export type WorldOptions = {
  /** What becomes of each operation: a fault strikes. */
  fault?: FaultOf;
  /** What others wrote into the thread. */
  inSlack?: Foreign[];
  gate?: Partial<Gate>;
  files?: Partial<Files>;
  text?: Partial<TaskText>;
  /** The section of the configuration, by default without streams, assistant and status. */
  slack?: {
    streaming?: boolean;
    assistant?: Partial<NonNullable<Config["slack"]["assistant"]>>;
    context?: Partial<Config["slack"]["context"]>;
    status?: boolean;
  };
  policy?: Omit<NonNullable<Parameters<typeof samplePolicy>[0]>, "idempotent">;
  /** `takesVotes` is false as for A2A. */
  destination?: Partial<Pick<WorkerDestination, "maxSends" | "takesVotes" | "asker">>;
  /** The routes of the configuration, and the destinations that there are, which all lead to the one host. May change meanwhile. */
  routing?: Routing;
  log?: Log;
} & AgentOptions;

export function createWorld({
  fault = () => undefined,
  inSlack = [],
  gate = {},
  files = {},
  text = {},
  slack: slackConfig = {},
  policy = {},
  destination = {},
  routing,
  log = silentLog,
  ...agent
}: WorldOptions = {}) {
  let clockMs = askedAtMs + 500;
  let counter = 0;
  let sends = 0;
  let lastTsSeconds = 0;
  const now = () => clockMs;
  const taskCodec = shareItems(createCodec(parseTask));
  const threadCodec = shareItems(createCodec(parseThread));
  const taskRecords = createRecords<Task>({ now });
  const threadRecords = createRecords<Thread>({ now });
  const records = taskRecords.itemsFor(taskCodec);
  const threads = threadRecords.itemsFor(threadCodec);
  const sentTo: string[] = [];
  const askers: { method: Call["method"]; asker: Call["asker"] }[] = [];
  const noteCall = ({ method, asker }: Call, name: string) => {
    if (method === "execute_task") sentTo.push(name);
    askers.push({ method, asker });
  };
  const secretStore = createMemoryTaskStore({ parse: parseZoneSecret });
  // The gate is given: nobody reads these.
  const { ruleStore, usageStore, refusalStore } = openWorkerStores((parse) =>
    createMemoryTaskStore({ parse }),
  );
  const gateStores = { ruleStore, usageStore, refusalStore };
  const messages: QueuedMessage[] = [];
  const archive: string[] = [];
  const groups = new Set<string | undefined>();
  const running = new Set<string>();
  const uploads: { index: number; fileId: string }[] = [];
  const { operate, applyLate } = createFaults({ fault, now });
  const newTs = () => {
    lastTsSeconds = Math.max(clockMs / 1000, lastTsSeconds + 0.000_001);
    return lastTsSeconds.toFixed(6);
  };
  const slack = createWorldSlack({ operate, now, newTs, inSlack });
  const { posts } = slack;
  const answers = () => posts.filter(({ key }) => isOutcome(key));
  const host = createWorldHost({
    ...{ operate, now, ...agent },
    seen: (id) => ({ recordedAs: records.get(id)?.state, answers: answers().length }),
  });

  function workerOf(process: WorkerProcess) {
    const { send } = worldQueue({ operate, process, messages, groups, now });
    const queue = {
      async send(message: Parameters<typeof send>[0]) {
        await send(message);
        sends += 1;
      },
    };
    const store = worldStore({ operate, process, records: taskRecords, codec: taskCodec });
    const threadStore = worldStore({
      ...{ operate, process, records: threadRecords },
      codec: threadCodec,
    });
    const writer = oneByOne({ kinds: { "thread:": threadStore }, rest: store });
    return createVerificationWorker({
      engine: {
        store: { ...store, ...writer },
        threadStore,
        secretStore,
        ...gateStores,
        queue,
      },
      policy: routedPolicy(
        samplePolicy({
          ...{ idempotent: agent.idempotent ?? true, deadlineMs: 15 * 60_000, ...policy },
        }),
        routing,
      ),
      slack: slack.api(process),
      gate: worldGate({ operate, process, running, rules: gate }),
      files: worldFiles({ operate, process, uploads, given: files }),
      text: { ...worldText, ...text },
      destinations: new Map(
        (routing?.destinations ?? ["host"]).map((name) => [
          name,
          {
            ...{ callTimeoutMs: 30_000, maxSends: 10, longPollMs: 0, takesVotes: true },
            ...destination,
            client: noteCalls(host.client(process), (call) => noteCall(call, name)),
          },
        ]),
      ),
      config: {
        ...defaults,
        slack: {
          ...defaults.slack,
          reactions: { received: "eyes", done: "check", failed: "cross" },
          status: false,
          streaming: false,
          ...slackConfig,
          context: { ...defaults.slack.context, ...slackConfig.context },
          assistant: slackConfig.assistant && {
            description: "A bot",
            prompts: [],
            ...slackConfig.assistant,
          },
        },
        limits: { ...defaults.limits, leaseMs },
      },
      log,
      newId: () => `${idPrefix}${String(counter++).padStart(12, "0")}`,
      now,
    });
  }

  /** `run` lets the workers handle it at once. */
  function enqueue(message: object) {
    messages.push({ body: JSON.stringify(message), visibleAtMs: clockMs });
    return { run };
  }

  /** Lets the workers work until nothing is left to do, `maxSteps` messages were handled, or it is as `until` says. */
  async function run({
    maxSteps = 2000,
    until = () => false,
  }: {
    maxSteps?: number;
    until?: () => boolean;
  } = {}) {
    for (let steps = 0; steps < maxSteps; steps++) if (until() || !(await step())) break;
    if (!until() && messages.length === 0) applyLate(true);
  }

  const newWorker = () => workerOf({ isAlive: true });

  async function step(): Promise<boolean> {
    const message = messages.reduce<QueuedMessage | undefined>(
      (first, next) => (first === undefined || next.visibleAtMs < first.visibleAtMs ? next : first),
      undefined,
    );
    if (message === undefined) return false;
    clockMs = Math.max(clockMs, message.visibleAtMs) + 50;
    applyLate(false);
    const process = { isAlive: true };
    // As a queue has it: hidden while it is handled, removed when that succeeded, visible again otherwise.
    message.visibleAtMs = clockMs + visibilityTimeoutMs;
    const handled = await workerOf(process)
      .handle(message)
      .then(
        () => process.isAlive,
        () => false,
      );
    if (handled) messages.splice(messages.indexOf(message), 1);
    return true;
  }

  return {
    ...slack,
    ...host,
    records,
    taskOf: ({ requestId }: { requestId: string }) => records.get(requestId),
    /** Somebody writes to the record of that task. */
    changeTask({ requestId }: { requestId: string }, changes: Partial<Task>): void {
      const record = records.get(requestId);
      if (record === undefined) throw new Error("There is no record.");
      records.set(requestId, { ...record, ...changes });
    },
    threads,
    /** The destination of each `execute_task`. */
    sentTo,
    /** The person behind each call. */
    askers,
    archive,
    /** Whose turns the workers' own messages took. */
    groups,
    running,
    uploads,
    secretStore,
    now,
    /** Slack delivers the message, once it is written: the ingress puts it into the queue. */
    deliver(ask: AskMessage | MessageChange) {
      const { ts = "0", command = false } = Object(ask).message ?? {};
      // The time of a command is the one of our own clock.
      if (!command) clockMs = Math.max(clockMs, Math.ceil(1000 * Number(ts)));
      return enqueue(ask);
    },
    clickButton: (buttonClick: ButtonClick) => enqueue(buttonClick),
    interact: (interaction: Interaction) => enqueue(interaction),
    /** Somebody puts something into the queue that is none of ours. */
    queueRaw: (body: string) => messages.push({ body, visibleAtMs: clockMs }),
    /** Somebody's wish. */
    cancel: (requestId: string) => enqueue({ type: "cancel", requestId }),
    /** An operator's wish. */
    redrive: (requestId: string) => enqueue({ type: "redrive", requestId }),
    run,
    /** The queue gives up on every message that is in it. Where burying one fails, it comes again. */
    async deadLetterAll(): Promise<void> {
      for (const { body, visibleAtMs } of messages.splice(0)) {
        clockMs = Math.max(clockMs, visibleAtMs);
        const keep = async () => void archive.push(body);
        const deadLetter = () => newWorker().deadLetter({ body, keep });
        await deadLetter().catch(() => {
          clockMs += visibilityTimeoutMs;
          return deadLetter();
        });
      }
    },
    /** The queue gives up on the next message; whether it can be kept is the test's. */
    deadLetterNext({ keep }: { keep: () => Promise<void> }) {
      const [{ body } = { body: "" }] = messages.splice(0, 1);
      return newWorker().deadLetter({ body, keep });
    },
    /** The Execution zone says that a task is over, or somebody claims it. Resolves to the calls that the host got for it. */
    async push(body: string, { times = 1 } = {}): Promise<number> {
      const before = host.calls();
      const worker = newWorker();
      for (let i = 0; i < times; i++) await worker.completion({ body });
      return host.calls() - before;
    },
    /** One process, for several messages. */
    worker: newWorker,
    /** How many messages were sent to the queue by workers. */
    sends: () => sends,
    /** Time passes without anybody working. */
    pass(ms: number) {
      clockMs += ms;
    },
    /** The queue loses all that is in it. */
    loseMessages: () => messages.splice(0).length,
    /** A person deletes all posts. */
    deletePosts: () => posts.splice(0).length,
    /** A worker handles the messages that are due now, whatever others are doing. */
    async handleDue(): Promise<void> {
      for (const message of messages.filter(({ visibleAtMs }) => visibleAtMs <= clockMs)) {
        messages.splice(messages.indexOf(message), 1);
        await newWorker().handle(message);
      }
    },
    /** Two workers take the same messages at the same time. */
    async runTwiceAtOnce(): Promise<void> {
      const due = messages.splice(0);
      await Promise.all(
        due.flatMap((message) => [newWorker().handle(message), newWorker().handle(message)]),
      );
    },
    /** The texts of answers (not placeholders, not questions) in the thread. */
    answers: () => answers().map(({ text }) => text),
    /** The same of the questions. */
    questions: () => posts.filter(({ key }) => key?.kind === "question").map(({ text }) => text),
  };
}
