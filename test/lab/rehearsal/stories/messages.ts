/** Stories of people and the bot. Each resolves when it ended as it should, and rejects otherwise. */

import { listButtons } from "@sekisho/local/fake-slack/blocks.ts";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { createEventPayload } from "@sekisho/local/fake-slack/payloads.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { sendEvent } from "@sekisho/local/signed-events.ts";
import { withRule } from "@sekisho/sekisho/allow/rule-set.ts";
import { changeRules } from "@sekisho/sekisho/allow/rule-zone.ts";
import { parseStoredRules } from "@sekisho/verification/gate/rules.ts";
import { metadataSchema } from "@sekisho/verification/slack/api/post-keys.ts";
import { taskSchema } from "@sekisho/verification/task/task.ts";
import type { CollectedSpan, startOtlpCollector } from "../../../doubles/otlp-collector.ts";
import { hangSignal } from "../../../tooling/hang.ts";
import type { Fault } from "../aws/gateway.ts";
import { newAccountLimit } from "../lambda/concurrency.ts";
import { openZoneTables, queueArnOf, quiet, startWorkersAnew } from "../stage.ts";
import { verificationPlace } from "../synthesized.ts";
import type { World } from "../world.ts";

/** A log line of any function. */
type Logged = Record<string, unknown>;

/** Resolves to the only answer in the thread, as soon as it matches. */
export async function answer(
  world: World,
  message: FakeSlackMessage,
  wanted: RegExp,
): Promise<string> {
  return world.until(`answer like ${wanted} to "${message.text}"`, () => {
    const [only, ...others] = world.answersTo(message);
    return others.length === 0 && only !== undefined && wanted.test(only.text)
      ? only.text
      : undefined;
  });
}

export async function askAndRead(
  world: World,
  text: string,
  wanted: RegExp,
): Promise<{ requestId: string }> {
  const { message, requestId } = world.ask({ text });
  await answer(world, message, wanted);
  return { requestId };
}

export function logged(world: World, wanted: Logged): Logged[] {
  return world.lines
    .filter(({ line }) => line.startsWith("{"))
    .map(({ line }) => JSON.parse(line) as Logged)
    .filter((entry) => Object.entries(wanted).every(([name, value]) => entry[name] === value));
}

/** Runs a story while the gateway applies a fault. */
export async function withFault<T>(
  { gateway }: World,
  fault: Fault,
  story: () => Promise<T>,
): Promise<T> {
  gateway.faults.add(fault);
  try {
    return await story();
  } finally {
    gateway.faults.delete(fault);
  }
}

/** Runs a story without duplicate deliveries. */
export async function withoutDuplicates<T>(
  { queues: { duplicates } }: World,
  story: () => Promise<T>,
): Promise<T> {
  const { every } = duplicates;
  duplicates.every = Number.POSITIVE_INFINITY;
  try {
    return await story();
  } finally {
    duplicates.every = every;
  }
}

/** True if the message has a button with this label. */
export function hasButton(label: string, { blocks = [] }: FakeSlackMessage): boolean {
  return listButtons(blocks).some(({ button }) => button.text.text === label);
}

/** Slack delivers a post three times: as two kinds of event, and one of them again. */
export async function deliverThrice(world: World): Promise<{ requestId: string; answers: number }> {
  const { message, requestId } = world.ask({ text: "slow 1s, delivered three times" });
  const { eventsUrl, secrets } = world;
  await Promise.all(
    (["message", "app_mention"] as const).map((event) =>
      sendEvent({
        eventsUrl,
        signingSecret: secrets.SLACK_SIGNING_SECRET ?? "",
        payload: createEventPayload({ event, message }),
        retryDelaysMs: [],
      }),
    ),
  );
  await answer(world, message, /delivered three times/);
  await quiet(world);
  return { requestId, answers: world.answersTo(message).length };
}

const burstSize = 12;

/**
 * Sends more messages at once than a new account may run invocations. Events that find no concurrency get an error, and Slack
 * delivers them again. Resolves to the answers per message, the messages that became dead letters, and the most concurrent
 * invocations of the Verification account.
 */
export async function sendBurst(
  world: World,
): Promise<{ answers: number[]; deadLetters: number; peak: number }> {
  if (burstSize <= newAccountLimit) throw new Error("So few messages are no burst.");
  // With cold instances no event is over before the last one has come.
  await Promise.all(
    [...world.functions.values()]
      .filter(({ fn }) => fn.label.includes("/Ingress"))
      .map((fn) => fn.cool()),
  );
  const posts = Array.from({ length: burstSize }, (_, index) =>
    world.ask({ text: `burst ${index + 1}.` }),
  );
  for (const [index, { message }] of posts.entries())
    await answer(world, message, new RegExp(`burst ${index + 1}\\.`));
  await quiet(world);
  const archived = world.queues.peek(queueArnOf(world, "deadLettersUrl"));
  return {
    answers: posts.map(({ message }) => world.answersTo(message).length),
    deadLetters: posts.filter(({ requestId }) => archived.some((body) => body.includes(requestId)))
      .length,
    peak: world.concurrency.peak(verificationPlace.account),
  };
}

/** A person opens the App Home while a task is under way, and cancels it there. */
export async function cancelAtHome(world: World): Promise<void> {
  const { fakeSlack, eventsUrl } = world;
  const { message, requestId } = world.ask({ text: "slow 60s, until somebody cancels it" });
  await world.until("accepted task", () =>
    logged(world, { request_id: requestId, state: "waiting" }).at(0),
  );
  await fakeSlack.openHome({ eventsUrl, tab: "home" }).delivered;
  await world.until("button on the App Home", () =>
    listButtons(fakeSlack.home(workspace.person) ?? []).at(0),
  );
  await fakeSlack.clickHomeButton({ eventsUrl, label: "Cancel" }).delivered;
  await answer(world, message, /canceled/i);
}

/**
 * A slash command, a question that a button answers, and a reply in the thread of both. Resolves to the request ids of the command
 * and the reply, and to the thread, when both have their answers.
 */
export async function converse(
  world: World,
): Promise<{ requestIds: [string, string]; thread: FakeSlackMessage[] }> {
  const { fakeSlack, eventsUrl } = world;
  const command = fakeSlack.command({ eventsUrl, text: "ask me, says a command" });
  const question = await world.until("question with buttons", () =>
    fakeSlack.messages().find((post) => isOf(command.requestId, post) && hasButton("Yes", post)),
  );
  const { channel, ts, threadTs = ts } = question;
  const thread = () => fakeSlack.thread({ channel, ts: threadTs });
  const texts = (wanted: RegExp) =>
    world.until(`post like ${wanted} in the thread of a command`, () =>
      thread().find(({ user, text }) => user === workspace.botUser && wanted.test(text)),
    );
  fakeSlack.clickButton({ eventsUrl, channel, ts, label: "Yes" });
  await texts(/Shall I go on\? yes/);
  const reply = fakeSlack.reply({ eventsUrl, text: "and what then?", threadTs });
  await texts(/and what then\?/);
  return { requestIds: [command.requestId, reply.requestId], thread: thread() };
}

function isOf(requestId: string, { metadata }: FakeSlackMessage): boolean {
  return metadataSchema.parse(metadata)?.event_payload.request_id === requestId;
}

const fileBytes = new TextEncoder().encode("What nobody else is to read: 関所\n");

type Read = { status: number; text: string; type: string | null; mayBeShown: boolean };

/**
 * Sends a file with a message, and reads it by the URL in the task's params, without credentials. (The agent itself cannot: its
 * zone reads public addresses only.) The agent makes a file of its own, which comes with its answer. Resolves to what was read,
 * and to the bot's messages.
 */
export async function exchangeFiles(
  world: World,
): Promise<{ wanted: string; read: Read; answers: FakeSlackMessage[] }> {
  const text = "slow 2s, and a file";
  const files = [{ name: "notes.txt", mimetype: "text/plain", bytes: fileBytes }];
  const { message, requestId } = world.fakeSlack.ask({ eventsUrl: world.eventsUrl, text, files });
  const tables = openZoneTables(world);
  const tasks = tables.storeOf({ zone: "verification", parse: (json) => taskSchema.parse(json) });
  try {
    const url = await world.until("attachment in the params of the task", async () => {
      const task = await tasks.get({ id: requestId });
      return task?.call?.params?.attachments?.[0]?.url;
    });
    const read = await readUrl(url);
    const answers = await world.until("answer with its file", () => {
      const posts = world.answersTo(message);
      const isTold = posts.some((post) => /slow 2s, and a file/.test(post.text));
      return isTold && posts.some((post) => post.files?.length) ? posts : undefined;
    });
    return { wanted: new TextDecoder().decode(fileBytes), read, answers };
  } finally {
  }
}

async function readUrl(url: string): Promise<Read> {
  const response = await fetch(url, { signal: hangSignal() });
  const { status, headers } = response;
  const mayBeShown = headers.get("content-disposition") !== "attachment";
  return { status, text: await response.text(), type: headers.get("content-type"), mayBeShown };
}

type Collector = Pick<Awaited<ReturnType<typeof startOtlpCollector>>, "spans">;

/** Resolves to the spans of a task when all of `wanted` (service and name) are among them and none lacks its parent. */
export async function traceTask(
  world: World,
  { collector, wanted }: { collector: Collector; wanted: readonly string[] },
): Promise<CollectedSpan[]> {
  const { requestId } = await askAndRead(world, "one trace of it all", /one trace of it all/);
  const [entered] = logged(world, { request_id: requestId, message: "message_enqueued" });
  return world.until(`whole trace with ${wanted.join(", ")}`, () => {
    const spans = collector.spans().filter(({ traceId }) => traceId === entered?.trace_id);
    const names = spans.map(({ service, name }) => `${service}: ${name}`);
    return wanted.every((each) => names.includes(each)) && orphans(spans).length === 0
      ? spans
      : undefined;
  });
}

/** Returns the spans whose parent nobody sent. */
function orphans(spans: readonly CollectedSpan[]): string[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return spans
    .filter(({ parent }) => parent !== undefined && !ids.has(parent))
    .map(({ name }) => name);
}

const refusedChannel = "DSTANDIN";

/**
 * `sekisho allow add --stage` admits a person who was refused. Resolves to the refusal. The workers start anew, because a warm one
 * reads the rules only every 15 s.
 */
export async function letIn(world: World): Promise<{ refusal: string }> {
  const refusedResult = world.ask({ text: "let me in", channel: refusedChannel });
  const refusal = await answer(world, refusedResult.message, /have access to me here yet/);
  const tables = openZoneTables(world);
  try {
    const store = tables.storeOf({ zone: "verification", parse: parseStoredRules });
    await changeRules({
      store,
      decide: (stored) =>
        withRule({ stored, rule: { channel: refusedChannel }, nowMs: Date.now() }),
    });
  } finally {
  }
  await startWorkersAnew(world);
  const post = world.ask({ text: "am I in now?", channel: refusedChannel });
  await answer(world, post.message, /am I in now\?/);
  return { refusal };
}
