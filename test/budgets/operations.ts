/** Warm operations of the product, in process and with doubles that answer at once. Each does the same at every run. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createNoneAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createHost } from "@sekisho/execution/host.ts";
import { parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { signHeaders } from "@sekisho/local/signed-events.ts";
import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createIngress } from "@sekisho/verification/ingress/ingress.ts";
import { answerParts } from "@sekisho/verification/slack/messages/answer.ts";
import { createClient } from "@sekisho/verification/transport/runner.ts";
import { sampleTask } from "../verification/task/sample.ts";
import { createMemoryTaskStore } from "../world/records.ts";

/** Runs the operation once. Rejects if its outcome is not the expected one. */
export type Operation = () => Promise<void>;

const params = {
  channel: "C012AB3CD",
  team_id: "T012AB3CD",
  user_id: "U012AB3CD",
  text: "What is a sekisho?",
};
const nowMs = 1_762_750_300_000;

export async function createOperations(): Promise<Record<string, Operation>> {
  return {
    "host get_task": await hostGetTask(),
    "host execute_task": hostCall("execute_task", "/"),
    "host SendMessage (A2A)": hostCall("SendMessage", "/a2a"),
    "client get_task": clientCall("get_task"),
    "client execute_task": clientCall("execute_task"),
    "ingress event": ingressEvent(),
    "answer of 1.4 KB as blocks": answerOfParagraphs(),
  };
}

type Exchange = (path: string, method: string, params: object, id?: string) => Promise<void>;

function createExchange(): Exchange {
  const host = createHost({
    agent: async function* answering() {
      yield { type: "answer", text: "done" };
    },
    store: createMemoryTaskStore({ parse: parseExecutionTask }),
    authenticator: createNoneAuthenticator(),
    a2a: { cards: { endpoint: noCard, extended: noCard } },
  });
  const headers = new Map([
    ["content-type", "application/json"],
    ["a2a-version", "1.0"],
  ]);
  return async (path, method, params, id = randomUUID()) => {
    const { status, body } = await host.exchange({
      method: "POST",
      path,
      query: () => undefined,
      header: (name) => headers.get(name),
      readBody: async () => Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params })),
      canStream: false,
      openSignal: () => new AbortController().signal,
    });
    if (status !== 200 || !String(body).includes("done"))
      throw new Error(`${method}: HTTP ${status} ${body}`);
  };
}

function noCard(): never {
  throw new Error("Nobody asks for the card.");
}

async function hostGetTask(): Promise<Operation> {
  const exchange = createExchange();
  const id = randomUUID();
  await exchange("/", "execute_task", params, id);
  return () => exchange("/", "get_task", { request_id: id });
}

function hostCall(method: "execute_task" | "SendMessage", path: string): Operation {
  const exchange = createExchange();
  if (method === "execute_task") return () => exchange(path, method, params);
  return () => {
    const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: params.text }] };
    return exchange(path, method, { message });
  };
}

function clientCall(method: "get_task" | "execute_task"): Operation {
  const client = createClient({
    transport: {
      async send({ body }) {
        const { id } = JSON.parse(Buffer.from(body).toString());
        const result = { status: "success", response_text: "done" };
        return { status: 200, body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, result })) };
      },
    },
    destination: { name: "near", dialect: "zone", idempotent: true, callTimeoutMs: 30_000 },
    log: silentLog,
  });
  const common = { sessionId: "session".padEnd(40, "-"), timeoutMs: 30_000, trace: createTrace() };
  return async () => {
    const id = randomUUID();
    if (method === "get_task")
      await client.call({ ...common, requestId: id, method, params: { request_id: id }, id });
    else await client.call({ ...common, requestId: id, method, params, id });
  };
}

function ingressEvent(): Operation {
  const secret = "8f742231b10e8888abcd99yyyzzz85a5";
  const ingress = createIngress({
    signingSecret: createCachedSecret({ readSecret: async () => secret }),
    queue: { send: async () => {} },
    now: () => nowMs,
    log: silentLog,
  });
  const body = readFileSync(new URL("../fixtures/slack/app-mention.json", import.meta.url), "utf8");
  const signed = signHeaders({
    signingSecret: secret,
    body,
    contentType: "application/json",
    now: () => nowMs,
  });
  const request = { headers: Object.entries(signed), body: Buffer.from(body) };
  return async () => {
    const { status } = await ingress(request);
    if (status !== 200) throw new Error(`The ingress answered ${status}.`);
  };
}

function answerOfParagraphs(): Operation {
  const paragraph =
    "A paragraph of a usual answer, without links, but with **bold** words and numbers such as 1 or 2.\n\n";
  const task = sampleTask({ state: "delivering" });
  return async () => {
    const answer = { type: "answer" as const, text: paragraph.repeat(14) };
    const parts = answerParts({
      task: { ...task, outcome: answer },
      answer,
      locale: "en",
      canVote: true,
    });
    if (parts.length === 0) throw new Error("The answer has no parts.");
  };
}
