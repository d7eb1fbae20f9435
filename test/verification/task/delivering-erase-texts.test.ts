/** What people and agents wrote leaves the record with the cleanup, wherever it stands. */
import { expect, it } from "@jest/globals";
import fc from "fast-check";
import { endCleanup } from "../../../lambdas/verification/task/delivering.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import { askedAtMs, sampleCall, sampleTask } from "./sample.ts";

const secret = "a secret";
const base = sampleTask();
const file = { id: "F1", name: secret, mimetype: "text/plain", size: 1, url: `https://files.example/${secret}` };
const option = { id: secret, label: secret, style: secret };
const params = {
  channel: "C1",
  text: secret,
  correlation_id: base.id,
  history: [{ role: "user" as const, text: secret }],
};

/** Each field of the record has its line here, with a text wherever it can hold one. */
const filled = {
  id: base.id,
  revision: 3,
  state: "done",
  thread: base.thread,
  principal: base.principal,
  expiresAtMs: base.expiresAtMs,
  wakeSeq: 4,
  lease: undefined,
  attempts: 0,
  reconcile: true,
  nonTransientFailures: 0,
  receivedAtMs: askedAtMs,
  history: base.history,
  retryOf: undefined,
  trace: base.trace,
  message: { ...base.message, text: secret, files: [file] },
  call: sampleCall({ params, taskId: "t-1" }),
  wait: { workStartedAtMs: askedAtMs, polls: 2 },
  queuePosition: 0,
  placeholder: { ts: "1.1", postedAtMs: askedAtMs },
  cancelReason: undefined,
  locale: "ja",
  threadRef: undefined,
  progress: { text: secret, partialText: secret, shownAtMs: askedAtMs },
  stream: { messages: [{ ts: "1.2", startedAtMs: askedAtMs }], length: 4 },
  question: {
    index: 0,
    prompt: secret,
    options: [option],
    askedAtMs,
    expiresAtMs: askedAtMs + 1,
    answer: { user: "U1", atMs: askedAtMs, text: secret, callId: "c-1" },
  },
  answeredBy: [base.id],
  mrkdwnFallback: true,
  outcome: { type: "answer", text: secret, artifacts: [{ name: secret, text: secret }] },
  owed: undefined,
  delivery: { status: "posting", rewriteParts: true },
  cleanupDone: false,
  textsErased: undefined,
} satisfies { [K in keyof Required<Task>]: Task[K] };

const optional = (Object.keys(filled) as (keyof typeof filled)[]).filter((key) => taskSchema.shape[key].isOptional());

it("no text stays in a record that was cleaned up, whichever fields it has", () => {
  expect(JSON.stringify(filled)).toContain(secret);
  fc.assert(
    fc.property(fc.subarray(optional), (missing) => {
      const task: Task = {
        ...filled,
        ...Object.fromEntries(missing.map((key) => [key, undefined])),
        history: base.history,
      };
      const cleaned = endCleanup(task);
      expect(JSON.stringify(cleaned)).not.toContain(secret);
      expect(taskSchema.parse(JSON.parse(JSON.stringify(cleaned)))).toMatchObject({ id: base.id, cleanupDone: true });
    }),
  );
});
