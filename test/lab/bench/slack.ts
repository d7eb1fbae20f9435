/** Bench of a post to Slack over loopback: our call and that of Slack's own client, beside the same form sent by a bare undici client. */

import { silentLog } from "@sekisho/runtime/log.ts";
import type { SlackCall } from "@sekisho/verification/slack/api/call.ts";
import { createPosts } from "@sekisho/verification/slack/api/posts.ts";
import { createSlackApi } from "@sekisho/verification/slack/api/web-api.ts";
import { encodeForm } from "@sekisho/verification/slack/api/web-call.ts";
import type { Logger } from "@slack/web-api";
import { Pool } from "undici";
import { type BenchRun, hasPeer } from "./bench.ts";
import { type Caller, connections, measureSides } from "./measure.ts";
import type { BenchTable } from "./table.ts";

const token = "xoxb-bench-token";
const { signal } = new AbortController();
const text = "A *sekisho* was a checkpoint on the roads of Japan. ".repeat(20);
const post: Parameters<ReturnType<typeof createSlackApi>["post"]>[0] = {
  ...{
    installation: { team: "T012AB3CD" },
    channel: "C012AB3CD",
    threadTs: "1700000000.000100",
    signal,
  },
  content: { text, blocks: [{ type: "markdown", text }] },
  key: { requestId: "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d", kind: "answer", index: 0 },
};

type SlackCase = { name: string; caller: (url: string) => Caller | Promise<Caller> };

/** The server answers at once and always the same, in a process of its own for each side. */
export async function benchSlack(run: BenchRun): Promise<BenchTable[]> {
  const server = { file: "transport-server.ts", words: ["slack"] };
  const args = await readArgs();
  const cases: SlackCase[] = [
    { name: "our call, with retries, spans and the check of the answer", caller: ourCaller },
  ];
  if (hasPeer({ run, name: "@slack/web-api" }))
    cases.push({ name: "Slack's own client", caller: sdkCaller });
  const table = await measureSides({
    run,
    name: "slack",
    baseline: {
      name: "the same form, sent by undici",
      ...server,
      caller: ({ url }) => undiciCaller(url, args),
    },
    cases: cases.map(({ name, caller }) => ({ ...server, name, caller: ({ url }) => caller(url) })),
  });
  return [table];
}

function ourCaller(url: string): Caller {
  const tokens = { tokenOf: async () => token, readNewerToken: async () => undefined };
  const slack = createSlackApi({ tokens, apiUrl: `${url}/api/`, log: silentLog });
  return { call: () => slack.post(post), close: async () => {} };
}

async function sdkCaller(url: string): Promise<Caller> {
  const { WebClient } = await import("@slack/web-api");
  const nothing = () => {};
  const logger = {
    ...{
      debug: nothing,
      info: nothing,
      warn: nothing,
      error: nothing,
      setLevel: nothing,
      setName: nothing,
    },
    getLevel: () => "error",
  } as Logger;
  const client = new WebClient(token, {
    slackApiUrl: `${url}/api/`,
    retryConfig: { retries: 0 },
    logger,
  });
  const args = readArgs();
  return {
    call: async () => client.apiCall("chat.postMessage", await args),
    close: async () => {},
  };
}

function undiciCaller(url: string, args: Record<string, unknown>): Caller {
  const pool = new Pool(url, { connections });
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/x-www-form-urlencoded",
  };
  const path = "/api/chat.postMessage";
  return {
    async call() {
      const response = await pool.request({
        method: "POST",
        path,
        headers,
        body: encodeForm(args),
      });
      return response.body.json();
    },
    close: () => pool.close(),
  };
}

/** The arguments of the post. */
async function readArgs(): Promise<Record<string, unknown>> {
  const stages = Promise.withResolvers<Record<string, unknown>>();
  const call: SlackCall = async ({ args }) => {
    stages.resolve(args);
    return { ok: true, ts: "1.000001" };
  };
  await createPosts(call).post(post);
  return stages.promise;
}
