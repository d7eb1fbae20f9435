/** Stories that an agent which speaks A2A must pass, in the terms of the zone contract. */
import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { MethodName, ParamsOf, ResultOf, TaskResult } from "@sekisho/contracts/methods.ts";

export type Teller = {
  call<M extends MethodName>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>>;
  /** Sends the text as a task. The default id is a new one. */
  execute(text: string, id?: string): Promise<TaskResult>;
  /** Polls until the task is no longer running. */
  outcome(result: TaskResult): Promise<TaskResult>;
};
type Story = { name: string; tell: (teller: Teller) => Promise<void> };

export const stories: readonly Story[] = [
  {
    name: "a task ends with its answer",
    async tell({ execute, outcome }) {
      expect(await outcome(await execute("tck-complete-task"))).toMatchObject({
        status: "success",
        response_text: "Hello from TCK",
      });
    },
  },
  {
    name: "a task that takes its time is accepted, and asked for until it ends",
    async tell({ execute, outcome }) {
      const accepted = await execute("tck-long-running");
      expect(accepted).toMatchObject({ status: "accepted", task_id: expect.any(String) });
      expect(await outcome(accepted)).toMatchObject({
        status: "success",
        response_text: "Long running result",
      });
    },
  },
  {
    name: "a task is found by the request that began it",
    async tell({ execute, call }) {
      const id = randomUUID();
      const { task_id } = (await execute("tck-cancel", id)) as { task_id: string };
      expect(await call("get_task", { request_id: id })).toMatchObject({
        status: "accepted",
        task_id,
      });
      expect(await call("cancel_task", { request_id: id })).toMatchObject({
        status: "canceled",
        task_id,
      });
    },
  },
  {
    name: "an answer without a task is a result, too",
    async tell({ execute, outcome }) {
      expect(await outcome(await execute("tck-message-response"))).toMatchObject({
        status: "success",
        response_text: "Direct message response",
      });
    },
  },
  ...[
    ["bytes", "tck-artifact-file", { base64: "dGNr", name: "output.txt", mimetype: "text/plain" }],
    [
      "an address",
      "tck-artifact-file-url",
      { url: "https://example.com/output.txt", name: "output.txt" },
    ],
    ["data", "tck-artifact-data", { data: { key: "value", count: 42 } }],
  ].map(([what, text, artifact]) => ({
    name: `delivers the files of an agent unchanged: ${what}`,
    async tell({ execute, outcome }: Teller) {
      const result = await outcome(await execute(String(text)));
      expect(result).toMatchObject({ status: "success", artifacts: [artifact] });
    },
  })),
  ...(
    [
      ["a task that the agent refuses", "tck-reject-task", "plan_error"],
      ["a task that fails", "tck-task-failure", "execution_failed"],
    ] as const
  ).map(([what, text, reason]) => ({
    name: `${what} ends as ${reason}`,
    async tell({ execute, outcome }: Teller) {
      expect(await refusal(execute(text).then(outcome))).toMatchObject({
        reason,
        certainty: "refused",
      });
    },
  })),
  {
    name: "a task that is canceled stays so, and may be canceled again",
    async tell({ execute, call }) {
      const { task_id } = (await execute("tck-cancel")) as { task_id: string };
      expect(await call("cancel_task", { task_id })).toMatchObject({ status: "canceled", task_id });
      expect(await refusal(call("get_task", { task_id }))).toMatchObject({ reason: "canceled" });
    },
  },
  {
    name: "a task that asks goes on with the answer",
    async tell({ execute, outcome, call }) {
      const pending = await outcome(await execute("tck-input-required"));
      expect(pending).toMatchObject({
        status: "input_required",
        prompt: "What else is there to know?",
      });
      const { task_id } = pending as { task_id: string };
      const answered = await call("answer_task", { task_id, text: "that it is blue" });
      expect(await outcome(answered)).toMatchObject({
        status: "success",
        response_text: "that it is blue",
      });
    },
  },
  {
    name: "a task that asks again is answered again",
    async tell({ execute, outcome, call }) {
      const { task_id } = (await outcome(await execute("tck-multi-turn"))) as { task_id: string };
      const again = await outcome(await call("answer_task", { task_id, text: "there is more" }));
      expect(again).toMatchObject({ status: "input_required", task_id });
      const last = await outcome(await call("answer_task", { task_id, text: "done" }));
      expect(last).toMatchObject({ status: "success", response_text: "Nothing more is needed" });
    },
  },
  {
    name: "a task that wants credentials says so",
    async tell({ execute, outcome }) {
      expect(await outcome(await execute("tck-auth-required"))).toMatchObject({
        status: "input_required",
        prompt: "Please sign in.",
        kind: "auth",
      });
    },
  },
  {
    name: "a task that is over is neither canceled nor answered",
    async tell({ execute, outcome, call }) {
      const begun = (await execute("tck-long-running")) as { task_id: string } & TaskResult;
      const { task_id } = begun;
      await outcome(begun);
      expect(await refusal(call("cancel_task", { task_id }))).toMatchObject({
        reason: "invalid_state",
        certainty: "refused",
      });
      // A2A has one error for both.
      const { reason } = await refusal(call("answer_task", { task_id, text: "yes" }));
      expect(["invalid_state", "unsupported_operation"]).toContain(reason);
    },
  },
  {
    name: "a task that nobody knows is task_not_found",
    async tell({ call }) {
      const task_id = randomUUID();
      for (const method of ["get_task", "cancel_task"] as const) {
        const error = await refusal(call(method, { task_id }));
        expect(error).toMatchObject({ reason: "task_not_found", certainty: "refused" });
      }
      const error = await refusal(call("answer_task", { task_id, text: "yes" }));
      expect(error).toMatchObject({ reason: "task_not_found", certainty: "refused" });
    },
  },
];

async function refusal(answer: Promise<unknown>): Promise<SekishoError> {
  const error = await answer.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (error instanceof SekishoError) return error;
  throw new Error("there was no refusal", { cause: error });
}
