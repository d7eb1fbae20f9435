/** The tasks of the cases. Several cases look at the same task, because each task runs the agent. */
import { randomInt, randomUUID } from "node:crypto";
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import { Deviation, NotApplicable } from "./deviation.ts";
import {
  expectResult,
  hasReason,
  isSet,
  readPeerError,
  readPeerResult,
  skipWithoutMethod,
} from "./expect.ts";
import { newSessionId, type PeerAnswer, type PeerOfCase } from "./peer.ts";

/** An id as Slack makes them. A fixed one could be known to an endpoint. */
export function newSlackId(kind: "C" | "F" | "T" | "U"): string {
  return `${kind}0${randomUUID().replaceAll("-", "").toUpperCase().slice(0, 15)}`;
}

export function newThreadTs(): string {
  return `${randomInt(1_600_000_000, 1_800_000_000)}.${randomInt(100_000, 1_000_000)}`;
}

/** A file that nobody can read. */
export function newFile(name: string) {
  const id = newSlackId("F");
  const url = `https://files.sekisho.invalid/${id}`;
  return { id, name, mimetype: "text/plain", size: 12, url };
}

/** The channel of every task. */
export const channel = newSlackId("C");

/** A task that has not ended after so many polls fails its case. */
const maxPolls = 600;

/** The texts that are sent to the agent behind the endpoint. */
export type Texts = Readonly<
  Record<
    "plain" | "slow" | "stream" | "fail" | "ask" | "questions" | "form" | "approval" | "file",
    string
  >
>;

/** How long the run waits. Tests shorten all of them. */
export type Waits = {
  /** Between the end of a task and the second look at it. */
  secondLookMs: number;
  /** Between the end of a task that ends soon and the second look at it. The slow task ends meanwhile. */
  lastLookMs: number;
  /** Between two polls of a task. The endpoint's `poll_after_ms` counts within these bounds. */
  pollMs: { min: number; usual: number; max: number };
  /** How long a question stays open, and the time of its task, which is shorter. */
  lateAnswer: { timeoutMs: number; answerMs: number };
  /** Before the caller hangs up in the case of a lost response. */
  hangUpMs: number;
  /** Between two attempts of a request that the endpoint refused for now. */
  retryMs: number;
};

export type SentTask = {
  requestId: string;
  sessionId: string;
  params: Readonly<Record<string, unknown>>;
  /** The answer to `execute_task`. */
  answer: PeerAnswer;
};
export type AcceptedTask = SentTask & { taskId: string };
export type Question = Extract<TaskResult, { status: "input_required" }>;
export type AskingTask = EndedTask & { taskId: string; question: Question };
/** `last` is the answer that said how the task ended, or what it asks. */
export type EndedTask = SentTask & {
  taskId: string | undefined;
  last: PeerAnswer;
  endedAtMs: number;
};

type Work = {
  peer: PeerOfCase;
  waits: Waits;
  now: () => number;
  sleep: (ms: number) => Promise<void>;
};
type Params = Readonly<Record<string, unknown>>;

/** Sends `execute_task` in a session of its own. The text gets a mark. */
export async function startTask(
  { peer }: Work,
  params: Params & { text: string },
  more: { id?: string; hangUpMs?: number; sessionId?: string } = {},
): Promise<SentTask> {
  const { id: requestId = randomUUID(), sessionId = newSessionId(), ...extraParams } = more;
  return sendTask(
    { peer },
    { requestId, sessionId, params: markParams(peer, params, sessionId), ...extraParams },
  );
}

/** The params of a task in this session, whose text gets a mark. */
export function markParams(peer: PeerOfCase, params: Params & { text: string }, sessionId: string) {
  return { channel, session_id: sessionId, ...params, text: peer.mark(params.text, sessionId) };
}

/** Sends a task exactly as it is given. */
export async function sendTask(
  { peer }: { peer: PeerOfCase },
  { requestId, sessionId, params, hangUpMs }: Omit<SentTask, "answer"> & { hangUpMs?: number },
): Promise<SentTask> {
  const limit = hangUpMs === undefined ? {} : { hangUpMs };
  const answer = await peer.call({
    method: "execute_task",
    params,
    id: requestId,
    sessionId,
    ...limit,
  });
  return { requestId, sessionId, params, answer };
}

/** Polls the task to its end, or until it asks. */
export async function followTask(work: Work, task: SentTask): Promise<EndedTask> {
  const { peer, waits, now, sleep } = work;
  const { min, usual, max } = waits.pollMs;
  let last = task.answer;
  let acceptedTask = readAccepted(last);
  const taskId = acceptedTask?.task_id ?? readTaskId(last);
  for (let poll = 0; acceptedTask !== undefined; poll++) {
    if (poll === maxPolls)
      throw new Deviation(`the task had no end after ${maxPolls} polls; last ${last.came}`);
    await sleep(Math.max(min, Math.min(acceptedTask.poll_after_ms ?? usual, max)));
    last = await peer.call({
      method: "get_task",
      params: { task_id: taskId },
      sessionId: task.sessionId,
    });
    acceptedTask = readAccepted(last);
    if (acceptedTask !== undefined && acceptedTask.task_id !== taskId) {
      throw new Deviation(`${last.came}; the task was accepted as ${taskId}`);
    }
  }
  checkCorrelation(task, last);
  return { ...task, taskId, last, endedAtMs: now() };
}

/** A result names the request that it belongs to, and the task, or neither. */
function checkCorrelation({ requestId, params }: SentTask, answer: PeerAnswer): void {
  const { correlation_id: namedId } = Object(readPeerResult(answer));
  const askedId = String(params.correlation_id ?? requestId);
  if (!isSet(namedId) || String(namedId).toLowerCase() === askedId.toLowerCase()) return;
  throw new Deviation(`${answer.came}; correlation_id is not that of the request`);
}

function readAccepted(answer: PeerAnswer): Extract<TaskResult, { status: "accepted" }> | undefined {
  const { response } = answer;
  if (
    response === undefined ||
    "error" in response ||
    Object(response.result).status !== "accepted"
  )
    return undefined;
  const result = expectResult(answer, "execute_task");
  return result.status === "accepted" ? result : undefined;
}

function readTaskId(answer: PeerAnswer): string | undefined {
  const { task_id } = Object(readPeerResult(answer));
  return typeof task_id === "string" ? task_id : undefined;
}

export type Succeeded = EndedTask & { result: Extract<TaskResult, { status: "success" }> };

/** Runs a task to its end, which must be a success. */
export async function runToSuccess(
  work: Work,
  params: Params & { text: string },
  id?: string,
): Promise<Succeeded> {
  const startedTask = await startTask(work, params, id === undefined ? {} : { id });
  return expectSuccess(await followTask(work, startedTask));
}

export function expectSuccess(task: EndedTask): Succeeded {
  const result = expectResult(task.last, "execute_task");
  if (result.status !== "success") throw new Deviation(task.last.came);
  return { ...task, result };
}

/** Each task is sent when a case first needs it. A task rejects with a NotApplicable where the endpoint gives no occasion. */
export type SharedTasks = {
  /** Two tasks with the plain text. Each text has line ends, quotes and two spaces, so that only a copy repeats it. */
  plain(): Promise<Succeeded>;
  plainAgain(): Promise<Succeeded>;
  failed(): Promise<EndedTask>;
  /** Its text is long and unusual, so that its end shows what a store does to texts. */
  asking(): Promise<AskingTask>;
  /** The same question once more, for cases that end it in another way. */
  askingAgain(): Promise<AskingTask>;
  askingForText(): Promise<AskingTask>;
  askingForLastOption(): Promise<AskingTask>;
  /** Asks once more, for two answers at the same time. */
  askingForTwo(): Promise<AskingTask>;
  /** Asks two questions, one after the other. */
  askingTwice(): Promise<AskingTask>;
  askingTwiceAgain(): Promise<AskingTask>;
  /** Three questions that should have fields. */
  askingWithFields(): Promise<AskingTask>;
  askingWithFieldsAgain(): Promise<AskingTask>;
  askingForOtherValues(): Promise<AskingTask>;
  /** A question that should need several people. */
  askingForApprovals(): Promise<AskingTask>;
  /** A question whose answer must not count without its token. */
  askingForVerifiedAnswer(): Promise<AskingTask>;
  /** The first slow task, whatever came. Its text is long and unusual too. */
  slow(): Promise<SentTask>;
  /** The first slow task, accepted. */
  accepted(): Promise<AcceptedTask>;
  slowEnd(): Promise<EndedTask>;
  /** The end of a slow task that shows its answer while it is written. */
  streamed(): Promise<EndedTask>;
  /** Slow tasks to cancel by their task id and by their request id. */
  toCancel(): Promise<AcceptedTask>;
  toCancelByRequest(): Promise<AcceptedTask>;
  /** A slow task that is canceled by its request id as soon as the endpoint knows it. `canceled` is the answer to that. */
  canceledAtOnce(): Promise<SentTask & { canceled: PeerAnswer }>;
  /** A slow task whose time is over at once. */
  timedOut(): Promise<EndedTask & { sentAtMs: number }>;
};

/**
 * Line ends, a space at the end of a line, characters beyond 16 bits, full width and letters with accents of their own (not NFC), in
 * 20,000 characters: more than one column or cell of a store may hold.
 */
const unusual = `\r\n関所 🏯 \uff21 か\u3099 e\u0301 \n`.padEnd(
  20_000,
  "街道を下ってきた者は手形を求められた。",
);

/** More bytes than a partial text may have characters, and four bytes a character: a cut at a byte shows where the agent repeats it. */
const wide = ` ${"🏯🚧🎴👘".repeat(875)}`;

/** `openPeer` makes the peer of one task. */
export function createSharedTasks(
  { openPeer, ...workParts }: Omit<Work, "peer"> & { openPeer: () => PeerOfCase },
  texts: Texts,
): SharedTasks {
  const share = <T>(start: (work: Work) => Promise<T>) =>
    once({ ...workParts, peer: openPeer() }, start);
  const startSlow = (work: Work) => startTask(work, { text: texts.slow });
  const first = share((work) => startTask(work, { text: `${texts.slow}${unusual}` }));
  const [second, third] = [share(startSlow), share(startSlow)];
  // The three begin together, because each may take as long as the endpoint holds a call.
  const startTogether = (task: () => Promise<SentTask>) => () => {
    for (const other of [first, second, third]) other().catch(() => {});
    return task();
  };
  const slow = startTogether(first);
  const accept = (task: () => Promise<SentTask>) =>
    share(async () => toAccepted(await task(), texts.slow));
  const acceptSlow = accept(slow);
  const askWith =
    (text: string, option: `--${"ask" | "questions" | "form" | "approval"}-text`, more = "") =>
    async (work: Work) =>
      toAsking(await followTask(work, await startTask(work, { text: text + more })), text, option);
  const [ask, askForm] = [askWith(texts.ask, "--ask-text"), askWith(texts.form, "--form-text")];
  const askTwice = askWith(texts.questions, "--questions-text");
  const plain = (work: Work) => runToSuccess(work, { text: `${texts.plain}\n"quoted"  \\ done` });
  return {
    plain: share(plain),
    plainAgain: share(plain),
    failed: share(async (work) => followTask(work, await startTask(work, { text: texts.fail }))),
    asking: share(askWith(texts.ask, "--ask-text", unusual)),
    askingAgain: share(ask),
    askingForText: share(ask),
    askingForLastOption: share(ask),
    askingForTwo: share(ask),
    askingTwice: share(askTwice),
    askingTwiceAgain: share(askTwice),
    askingWithFields: share(askForm),
    askingWithFieldsAgain: share(askForm),
    askingForOtherValues: share(askForm),
    askingForApprovals: share(askWith(texts.approval, "--approval-text")),
    askingForVerifiedAnswer: share(ask),
    slow,
    accepted: acceptSlow,
    slowEnd: share(async (work) => followTask(work, await acceptSlow())),
    streamed: share(async (work) =>
      followTask(work, await startTask(work, { text: `${texts.stream}${wide}` })),
    ),
    toCancel: accept(startTogether(second)),
    toCancelByRequest: accept(startTogether(third)),
    canceledAtOnce: share((work) => cancelAtOnce(work, texts.slow)),
    timedOut: share(async (work) => {
      const sentAtMs = work.now();
      const startedTask = await startTask(work, { text: texts.slow, timeout_ms: 50 });
      return { ...(await followTask(work, startedTask)), sentAtMs };
    }),
  };
}

function once<T>(work: Work, start: (work: Work) => Promise<T>): () => Promise<T> {
  let startedWork: Promise<T> | undefined;
  return () => {
    startedWork ??= start(work).catch((error: unknown) => {
      if (error instanceof Deviation) error.sent ??= work.peer.lastSent();
      throw error;
    });
    return startedWork;
  };
}

/** The cancel may overtake its task, or come before the task is stored. */
const maxEarlyCancels = 10;

async function cancelAtOnce(
  work: Work,
  text: string,
): Promise<SentTask & { canceled: PeerAnswer }> {
  const { peer, waits, sleep } = work;
  const [id, sessionId] = [randomUUID(), newSessionId()];
  const starting = startTask(work, { text }, { id, sessionId });
  starting.catch(() => {});
  const cancel = () => peer.call({ method: "cancel_task", params: { request_id: id }, sessionId });
  let cancelAnswer = await cancel();
  for (
    let times = 1;
    times < maxEarlyCancels && hasReason(cancelAnswer, ["task_not_found"]);
    times++
  ) {
    await sleep(waits.hangUpMs);
    cancelAnswer = await cancel();
  }
  return { ...(await starting), canceled: cancelAnswer };
}

function toAccepted(task: SentTask, text: string): AcceptedTask {
  const { answer } = task;
  if (answer.response === undefined || readPeerError(answer) !== undefined) {
    throw new NotApplicable(`to "${text}" came ${answer.came}`);
  }
  const result = expectResult(answer, "execute_task");
  if (result.status === "accepted") return { ...task, taskId: result.task_id };
  throw new NotApplicable(
    `the endpoint answers "${text}" at once and not by "accepted" (--slow-text)`,
  );
}

function toAsking(task: EndedTask, text: string, option: string): AskingTask {
  skipWithoutMethod(task.last, "answer_task");
  const question = expectResult(task.last, "get_task");
  if (question.status === "input_required") return { ...task, taskId: question.task_id, question };
  const statusText = `the answer was ${JSON.stringify(question.status)}`;
  throw new NotApplicable(
    `the agent did not ask anything at ${JSON.stringify(text)} (${option}): ${statusText}`,
  );
}
