/** An example of each method, for the OpenRPC document. Each fits its schemas. */
import type { MethodName, ParamsOf, ResultOf } from "./methods.ts";

type Example<M extends MethodName> = { summary: string; params: ParamsOf<M>; result: ResultOf<M> };

const taskId = "0f6a4cf1-9be9-8d2e-a1f3-6f1d4a3e7b52";

export const examples: { readonly [M in MethodName]: Example<M> } = {
  execute_task: {
    summary: "A task that takes longer than the call",
    params: {
      channel: "C012AB3CD",
      team_id: "T012AB3CD",
      user_id: "U012AB3CD",
      text: "Summarize the incident of last night.",
      thread_ts: "1700000000.000100",
      history: [
        {
          role: "user",
          text: "Disk full on db-1",
          ts: "1700000000.000100",
          name: "Alerts",
          bot: true,
        },
        {
          role: "user",
          text: "Again?",
          user_id: "U023BECGF",
          ts: "1700000060.000200",
          name: "Robin",
        },
      ],
      context: {
        channel_name: "ops",
        channel_kind: "public",
        channel_topic: "Incidents of the shop",
      },
    },
    result: {
      status: "accepted",
      task_id: taskId,
      poll_after_ms: 2000,
      progress: {
        text: "Line 120 of 4,000",
        percent: 10,
        steps: [
          { id: "read", title: "Read the log", status: "in_progress" },
          { id: "write", title: "Write the summary", status: "pending" },
        ],
      },
    },
  },
  get_task: {
    summary: "A task that has ended",
    params: { task_id: taskId, wait_ms: 10_000 },
    result: { status: "success", response_text: "The database was full. It has room again." },
  },
  cancel_task: {
    summary: "A task that is canceled by the id of the request that began it",
    params: { request_id: "5b1f9c1e-0c2d-5e3f-8a4b-1c2d3e4f5a6b", reason: "asked" },
    result: { status: "canceled", task_id: taskId },
  },
  answer_task: {
    summary: "A person filled in the fields of the agent's question",
    params: {
      task_id: taskId,
      fields: { region: "eu", day: "2026-03-31", copies: 2 },
      user_id: "U012AB3CD",
      question_id: "q-1",
    },
    result: { status: "accepted", task_id: taskId, poll_after_ms: 1000 },
  },
  feedback: {
    summary: "A person found the answer helpful",
    params: {
      task_id: taskId,
      vote: "up",
      voter_id: "6f9b1c5a27d84e03b1f0c2a9d7e85f14",
      voted_at: "2026-11-26T08:15:30.000Z",
    },
    result: { status: "recorded", task_id: taskId },
  },
  "rpc.discover": {
    summary: "The beginning of this document",
    params: undefined,
    result: { openrpc: "1.3.2" },
  },
};
