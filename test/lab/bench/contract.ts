/** Bench of the contract in process: parse, validate, dispatch, serialize, beside bare JSON.parse with hand-written checks. */
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import { createNoneAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createHost } from "@sekisho/execution/host.ts";
import { parseRequest } from "@sekisho/execution/http/answer-post.ts";
import type { MethodHandlers } from "@sekisho/execution/methods/methods.ts";
import { createDispatch } from "@sekisho/execution/methods/methods.ts";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { noMetrics } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createMemoryTaskStore } from "../../world/records.ts";
import { type BenchRun, takeTurns } from "./bench.ts";
import { type BenchRow, type BenchTable, type Goal, ratioTable } from "./table.ts";

/** Turns of a millisecond or two: many of them meet no other work of the machine. */
const batch = 400;
const rounds = 200;
const history = [
  { role: "user", text: "Good morning", user_id: "U012AB3CD", ts: "1762750200.000100" },
  { role: "assistant", text: "Good morning. What can I do?", ts: "1762750201.000100" },
];

const usual = Array.from({ length: batch }, (_, index) => requestBody({ index }));
const withHistory = Array.from({ length: batch }, (_, index) => requestBody({ index, history }));

type ComparedRow = BenchRow & { baseline: number };

/** Requests per second, the best of many rounds that take turns, so that both meet the same machine. */
export async function benchContract(run: BenchRun): Promise<BenchTable[]> {
  const name = "the same and a task, in memory";
  const rows = [
    ...(await compareParsing(run)),
    await compare({ run, name, bodies: usual, answer: wholeHost() }),
  ];
  return [ratioTable({ name: "contract", baseline: "`JSON.parse` and checks by hand", rows })];
}

/** Without a task: a request is parsed, checked, passed to a method that answers at once, and answered. */
export async function compareParsing(
  run: Pick<BenchRun, "rounds" | "beforeRound">,
): Promise<ComparedRow[]> {
  const dispatch = createDispatch({
    methods: answeringAtOnce(),
    metrics: noMetrics,
    log: silentLog,
  });
  const caller = { principal: "bench", trace: undefined, receivedAtMs: 1_762_750_300_000 };
  const answer = async (body: Uint8Array) => {
    const request = parseRequest(body);
    return JSON.stringify({
      jsonrpc: "2.0",
      id: request.id,
      ...(await dispatch({ request, caller })),
    });
  };
  for (const [body = new Uint8Array()] of [usual, withHistory]) {
    const [ours, bare] = [await answer(body), await answerByHand(body)];
    if (ours !== bare) throw new Error(`the two do not answer the same: ${ours} ${bare}`);
  }
  return [
    await compare({
      run,
      name: "a request in and its answer out",
      bodies: usual,
      answer,
      goal: { atLeast: 0.75 },
    }),
    await compare({
      ...{ run, name: "the same with a thread's history", bodies: withHistory, answer },
      goal: { atLeast: 0.8 },
    }),
  ];
}

async function compare({
  run,
  name,
  bodies,
  answer,
  goal,
}: {
  run: Pick<BenchRun, "rounds" | "beforeRound">;
  name: string;
  bodies: readonly Uint8Array[];
  answer: (body: Uint8Array) => Promise<string>;
  goal?: Goal;
}): Promise<ComparedRow> {
  let ours = 0;
  let baseline = 0;
  const turns = [
    async () => {
      baseline = Math.max(baseline, await perSecond({ bodies, answer: answerByHand }));
    },
    async () => {
      ours = Math.max(ours, await perSecond({ bodies, answer }));
    },
  ];
  await takeTurns({ run, usual: rounds, turns });
  return { name, ours, baseline, unit: "requests/s", ...(goal === undefined ? {} : { goal }) };
}

async function perSecond(request: {
  bodies: readonly Uint8Array[];
  answer: (body: Uint8Array) => Promise<string>;
}): Promise<number> {
  const { bodies, answer } = request;
  const startMs = performance.now();
  for (const body of bodies) await answer(body);
  return (bodies.length / (performance.now() - startMs)) * 1000;
}

/** Every request has an id of its own in each round, as in life: a repeated one would only be read back. */
function wholeHost(): (body: Uint8Array) => Promise<string> {
  const store = createMemoryTaskStore({ parse: (json) => json as ExecutionTask });
  const host = createHost({
    agent: createEchoAgent(),
    store,
    authenticator: createNoneAuthenticator(),
  });
  let round = 0;
  return async (template) => {
    const body = Buffer.from(template);
    body.write((round++).toString(16).padStart(8, "0"), body.indexOf('"id":"') + 6);
    const { body: answered } = await host.exchange({
      method: "POST",
      path: "/",
      query: () => undefined,
      header: (name) => (name === "content-type" ? "application/json" : undefined),
      readBody: async () => body,
      canStream: false,
      openSignal: () => new AbortController().signal,
    });
    return answered as string;
  };
}

function requestBody({ index, ...extra }: { index: number; history?: typeof history }): Uint8Array {
  const params = {
    channel: "C012AB3CD",
    text: `What is a sekisho, and why did travellers stop there? ${"関所 ".repeat(20)}`,
    thread_ts: "1762750300.000100",
    team_id: "T012AB3CD",
    user_id: "U012AB3CD",
    correlation_id: "6f1d4a3e-7b52-5c1f-9a55-2a6d3c0f7e11",
    session_id: "s-6f1d4a3e7b525c1f9a552a6d3c0f7e11aabbcc",
    timeout_ms: 900_000,
    ...extra,
  };
  const id = `00000000-${index.toString(16).padStart(4, "0")}-4000-8000-000000000000`;
  return Buffer.from(JSON.stringify({ jsonrpc: "2.0", method: "execute_task", params, id }));
}

function answeringAtOnce(): MethodHandlers {
  const nothing = async () => ({ status: "canceled" as const, task_id: "t" });
  const result = async ({ params }: { params: { correlation_id?: string | undefined } }) => ({
    status: "success" as const,
    response_text: "done",
    correlation_id: params.correlation_id,
  });
  return {
    execute_task: result,
    get_task: () => result({ params: {} }),
    cancel_task: nothing,
    answer_task: () => result({ params: {} }),
    feedback: async () => ({ status: "recorded" as const, task_id: "t" }),
    "rpc.discover": async () => ({ openrpc: "1.3.2" }),
  };
}

const tsPattern = /^\d+\.\d+$/;
const sessionPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{32,99}$/;

async function answerByHand(body: Uint8Array): Promise<string> {
  const request = JSON.parse(
    Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"),
  );
  const { id, method, params } = request;
  const isRequest =
    request.jsonrpc === "2.0" &&
    (isText(id, 1, 128) || Number.isSafeInteger(id)) &&
    isText(method, 1, 1000);
  if (!isRequest || method !== "execute_task" || !isTask(params)) throw new Error("refused");
  return JSON.stringify({ jsonrpc: "2.0", id, result: await execute(params) });
}

async function execute(params: { correlation_id?: string }) {
  return { status: "success", response_text: "done", correlation_id: params.correlation_id };
}

function isTask(params: Record<string, unknown> | null | undefined): boolean {
  if (typeof params !== "object" || params === null) return false;
  return (
    isText(params.channel, 1, 64) &&
    isText(params.text, 0, 40_000) &&
    isAbsentOr(params.thread_ts, isTs) &&
    isAbsentOr(params.team_id, isShort) &&
    isAbsentOr(params.user_id, isShort) &&
    isAbsentOr(params.correlation_id, (value) => isText(value, 1, 128)) &&
    isAbsentOr(
      params.session_id,
      (value) => typeof value === "string" && sessionPattern.test(value),
    ) &&
    isAbsentOr(params.history, isHistory) &&
    isAbsentOr(params.timeout_ms, (value) => Number.isSafeInteger(value) && Number(value) >= 1)
  );
}

function isHistory(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > 50) return false;
  const isItem = (item: Record<string, unknown>) =>
    (item.role === "user" || item.role === "assistant") &&
    isText(item.text, 0, 4000) &&
    isAbsentOr(item.user_id, isShort) &&
    isAbsentOr(item.ts, isTs);
  return value.every(isItem) && Buffer.byteLength(JSON.stringify(value)) <= 64 * 1024;
}

function isAbsentOr(value: unknown, check: (value: unknown) => boolean): boolean {
  return value === undefined || check(value);
}

function isText(value: unknown, min: number, max: number): boolean {
  return typeof value === "string" && value.length >= min && value.length <= max;
}

function isShort(value: unknown): boolean {
  return isText(value, 1, 64);
}

function isTs(value: unknown): boolean {
  return isText(value, 1, 32) && tsPattern.test(String(value));
}
