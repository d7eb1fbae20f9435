/** An agent of somebody else that answers by a message only, at once or late, as JSON or as a stream. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { type AgentCall, startAgent } from "../doubles/a2a-peer-agent.ts";
import { json } from "../doubles/answers.ts";
import { closeAfterTest } from "../doubles/serving.ts";
import { connectionReset } from "../doubles/web-server.ts";
import { askForeignAgent } from "./foreign-agent.ts";

type Version = "1.0" | "0.3";
const versions: readonly Version[] = ["1.0", "0.3"];
const textPart = (version: Version, text: string) =>
  version === "1.0" ? { text } : { kind: "text", text };

function message(version: Version, text: string) {
  const said = {
    messageId: "m1",
    role: version === "1.0" ? "ROLE_AGENT" : "agent",
    parts: [textPart(version, text)],
  };
  return version === "1.0" ? { message: said } : { kind: "message", ...said };
}

const task = (version: Version, state: "working" | "completed", text?: string) => ({
  ...{ kind: "task", id: "t1", contextId: "c1" },
  status: { state: version === "1.0" ? `TASK_STATE_${state.toUpperCase()}` : state },
  ...(text && { artifacts: [{ artifactId: "a1", parts: [textPart(version, text)] }] }),
});

type Chunk = string | { waitMs: number } | "reset" | "hang";

/** Sends the chunks one after the other, then closes the stream. */
function events(chunks: readonly Chunk[]): Response {
  const left = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = left.shift();
      if (chunk === undefined) return controller.close();
      if (chunk === "reset") return controller.error(new Error("broken on purpose"));
      if (chunk === "hang") return new Promise(() => {});
      if (typeof chunk === "string") return controller.enqueue(new TextEncoder().encode(chunk));
      await delay(chunk.waitMs);
      return controller.enqueue(new TextEncoder().encode(": still there\n\n"));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
}

const event = ({ id }: AgentCall, result: object) =>
  `data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`;
const unknownMethod = { error: { code: -32601, message: "no such method" } };
const isSend = ({ method }: AgentCall) => method === "SendMessage" || method === "message/send";

/** A lease of seconds, as if a minute were that short. A busy machine still renews it in time. */
const limits = {
  callTimeoutMs: 2000,
  leaseMs: 4000,
  visibilityTimeoutMs: 5000,
  sweepAfterMs: 1000,
};

async function askAgent(
  version: Version,
  answer: (call: AgentCall) => object | Response | Promise<Response>,
  { limits: values = {}, ...destination }: { [field: string]: unknown; limits?: object } = {},
) {
  const agent = closeAfterTest(await startAgent({ version, answer }));
  const { ask } = await askForeignAgent({
    destination: { transport: "a2a", card: agent.cardUrl, ...destination },
    limits: values,
  });
  return { ...(await ask()), sends: agent.calls.filter(isSend), calls: agent.calls };
}

describe.each(versions)("an agent that answers by a message only, in %s", (version) => {
  it("posts the message of a slow stream that begins with comments and pings", async () => {
    const { shown: shownText, sends } = await askAgent(version, (call) => {
      const drip = [...event(call, message(version, "Good morning."))];
      return events([
        ": hello\n\n",
        "event: ping\ndata: {}\n\n",
        "data: ping\r\n\r\n",
        ...drip,
        "hang",
      ]);
    });
    expect(shownText).toContain("Good morning.");
    expect(sends).toHaveLength(1);
  });

  it("waits longer than several leases for an answer, by the call time-out of the destination", async () => {
    const late = async ({ id }: AgentCall) => {
      await delay(10_000);
      return json({ jsonrpc: "2.0", id, result: message(version, "Good morning.") });
    };
    const { shown: shownText, sends } = await askAgent(version, late, {
      limits,
      callTimeoutMs: 30_000,
    });
    expect(shownText).toContain("Good morning.");
    expect(sends).toHaveLength(1);
  });

  it.each([
    ["the connection is reset", () => Promise.reject(connectionReset)],
    [
      "its stream breaks off",
      (call: AgentCall) => events([event(call, message(version, "x")).slice(0, 30), "reset"]),
    ],
    ["its stream ends without an event", () => events([": nothing\n\n"])],
    ["it takes longer than its call time-out", () => events(["hang"])],
  ])("sends a task only once if %s, since it may have run", async (_, answer) => {
    const destination = { limits, callTimeoutMs: 1000, deadlineMs: 20_000 };
    const { shown: shownText, sends } = await askAgent(
      version,
      (call) => (isSend(call) ? answer(call) : unknownMethod),
      destination,
    );
    expect(shownText).toContain("I don't know if this was done");
    expect(sends).toHaveLength(1);
  });

  it("repeats the same message id to an agent that deduplicates", async () => {
    let sends = 0;
    const flaky = ({ id }: AgentCall) => {
      sends += 1;
      if (sends === 1) throw connectionReset;
      return json({ jsonrpc: "2.0", id, result: message(version, "Good morning.") });
    };
    const { shown: shownText, sends: sentTasks } = await askAgent(version, flaky, {
      idempotent: true,
    });
    expect(shownText).toContain("Good morning.");
    const ids = sentTasks.map(({ params }) => (params.message as { messageId: string }).messageId);
    expect(new Set(ids).size).toBe(1);
    expect(ids.length).toBeGreaterThan(1);
  });
});

describe.each(versions)("an agent that answers by a stream of a task, in %s", (version) => {
  const answers = (call: AgentCall, first: object) =>
    isSend(call)
      ? events([event(call, first), "hang"])
      : { result: task(version, "completed", "Done.") };

  it("polls a task from the first event of its stream on", async () => {
    const first = version === "1.0" ? { task: task(version, "working") } : task(version, "working");
    const { shown: shownText } = await askAgent(version, (call) => answers(call, first));
    expect(shownText).toContain("Done.");
  });

  it("accepts a status update as the first event of a stream", async () => {
    const update = { taskId: "t1", contextId: "c1", status: task(version, "working").status };
    const first =
      version === "1.0"
        ? { statusUpdate: update }
        : { kind: "status-update", ...update, final: false };
    const { shown: shownText, sends } = await askAgent(version, (call) => answers(call, first));
    expect(shownText).toContain("Done.");
    expect(sends).toHaveLength(1);
  });
});
