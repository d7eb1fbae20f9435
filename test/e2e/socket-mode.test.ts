/** Both zones as one process that meets Slack over Socket Mode, killed without warning between a question and its answer. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { createEventPayload } from "@sekisho/local/fake-slack/payloads.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { openSocketModeSlack } from "../doubles/socket-mode-slack.ts";
import { type Process, sekisho } from "./processes.ts";
import { labelsOf, textsOf, until } from "./world.ts";

let folder: string;
let opened: Awaited<ReturnType<typeof openSocketModeSlack>>;
let executionPort: number;
let child: Process[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-socket-"));
  opened = await openSocketModeSlack();
  executionPort = await freePort();
  child = [];
  const config = {
    slack: { apiUrl: opened.slack.apiUrl },
    allowlist: [{ team: "TSTANDIN" }],
    execution: { syncBudgetMs: 300, leaseMs: 1000, lostAfterMs: 500 },
    limits: { callTimeoutMs: 1500, leaseMs: 2000, visibilityTimeoutMs: 2500 },
  };
  writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify(config));
});
afterEach(async () => {
  await Promise.all(child.map((process) => process.kill("SIGKILL")));
  await opened.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<Process> {
  const ports = { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: String(executionPort) };
  const process = sekisho({
    args: ["start"],
    cwd: folder,
    env: { ...opened.tokens, ...ports, SEKISHO_LOG_LEVEL: "debug" },
  });
  child.push(process);
  await process.prints("Connected to Slack over Socket Mode");
  return process;
}

const output = () => child.map((process) => process.output()).join("");

function inThread(
  place: FakeSlackMessage,
  isWished: (message: FakeSlackMessage) => boolean,
): Promise<FakeSlackMessage> {
  const { fakeSlack } = opened;
  return until(() => fakeSlack.thread(place).find(isWished), {
    seen: () => `${textsOf(fakeSlack.thread(place))}`,
  });
}

it("answers a question once by a reply redelivered after a kill, and the next one by a button", async () => {
  const { fakeSlack, slack, tokens } = opened;
  const { eventsUrl } = slack;
  const killed = await start();
  const post = fakeSlack.ask({ eventsUrl, text: "private, ask me" }).message;
  await inThread(post, (message) => labelsOf(message).includes("Yes"));

  // It can take nothing any more, but its connection stands.
  killed.child.kill("SIGSTOP");
  const reply = fakeSlack.reply({ eventsUrl, threadTs: post.ts, text: "private no thanks" });
  const payload = createEventPayload({
    event: "message",
    message: reply.message,
    eventId: "EvAGAIN",
  });
  const deliveries = slack.deliver({ type: "events_api", payload });
  await killed.kill("SIGKILL");
  const restarted = await start();
  expect(await deliveries).toBeGreaterThanOrEqual(2);
  await inThread(post, ({ text }) => text.includes("Shall I go on? private no thanks"));

  const second = fakeSlack.ask({ eventsUrl, text: "private too, ask me" }).message;
  const { channel, ts } = await inThread(second, (message) => labelsOf(message).includes("No"));
  expect(
    (await fakeSlack.clickButton({ eventsUrl, channel, ts, label: "No" }).delivered).status,
  ).toBe(200);
  await inThread(second, ({ text }) => text.includes("Shall I go on? no"));

  // The words are the answer to the question, and no task of their own.
  expect(textsOf(fakeSlack.thread(post)).match(/I'm the echo agent/g)).toHaveLength(1);
  expect(output()).not.toMatch(new RegExp(`"task_started".*${reply.requestId}`));
  expect(await restarted.kill("SIGTERM")).toMatchObject({ code: 0 });

  const stores = readdirSync(join(folder, ".sekisho"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"));
  for (const token of Object.values(tokens)) {
    expect(stores.filter((store) => store.includes(token))).toEqual([]);
    expect(output().includes(token)).toBe(false);
  }
  expect(output()).not.toMatch(/private|echo agent|Shall I/);
});
