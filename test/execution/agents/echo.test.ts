/** The echo agent: what it says and shows, and the words that make it slow, fail, ask or report. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { methods } from "@sekisho/contracts/methods.ts";
import type { ReadAttachment, TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { runAgent } from "@sekisho/execution/agents/agent.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import { createTestHost } from "../test-host.ts";
import { agentContext, agentTask } from "./agent-context.ts";

describe("the echo agent", () => {
  it("repeats what the person wrote without the ids in it", async () => {
    const { updates, slept } = await updatesOf("関所?", { user_id: "U1", thread_ts: "1.2" });
    expect(slept).toEqual([]);
    expect(updates).toEqual([
      {
        type: "answer",
        text: "I'm the echo agent. I just repeat what you send me. You wrote:\n関所?",
      },
    ]);
  });

  it("asks two people, and asks a person to sign in, with a link for each task", async () => {
    const { call } = createTestHost({ agent: createEchoAgent() });
    const ask = async (text: string) =>
      (await call("execute_task", { channel: "C1", text })).result as Record<string, unknown>;
    expect(await ask("ask approval")).toMatchObject({ approvals: 2 });
    const links = [await ask("ask sign-in"), await ask("ask me to sign in")].map(({ url }) => url);
    expect(new Set(links).size).toBe(2);
    expect(links.join()).toMatch(/^https:\/\/example\.com\/sign-in\//);
  });

  it("asks with a form of every field type and reports the values", async () => {
    const { call } = createTestHost({ agent: createEchoAgent() });
    const firstResult = await call("execute_task", { channel: "C1", text: "ask form" });
    const question = methods.get_task.result.parse(firstResult.result);
    const fields = question.status === "input_required" ? question.fields : [];
    expect(fields?.map(({ type }) => type)).toEqual([
      "choice",
      "choices",
      "number",
      "date",
      "text",
    ]);
    const values = {
      road: "tokaido",
      luggage: ["rice", "papers"],
      travellers: 2,
      day: "2026-03-31",
    };
    const task_id = firstResult.result?.task_id;
    await call("answer_task", { task_id, fields: values });
    const endResult = await call("get_task", { task_id, wait_ms: 5000 });
    expect(endResult.result?.response_text).toMatch(
      /road: tokaido; luggage: rice, papers; travellers: 2; day: 2026-03-31$/,
    );
  });

  it("says how many files are attached", async () => {
    const file = { id: "a", name: "a.txt", mimetype: "text/plain", size: 2, url: "a.txt" };
    const says = async (text: string, attachments: object[]) =>
      answerIn((await updatesOf(text, { attachments } as object)).updates);
    const describeAttachments = async (...attachments: object[]) =>
      (await says("Look", attachments)).split("\n")[0];
    expect(await describeAttachments(file)).toMatch(/You wrote and attached a file:$/);
    expect(await describeAttachments(file, file)).toMatch(/You wrote and attached 2 files:$/);
    expect(await says("", [file])).toMatch(/You attached a file\.$/);
  });

  it.each([
    ["slow 5s", 5000],
    ["please be slow 250 ms", 250],
    ["SLOW 2S", 2000],
    ["slow 999999999s", 8 * 3600_000],
  ])("understands %s and waits %i milliseconds", async (text, ms) => {
    const { updates, slept } = await updatesOf(text);
    expect(slept).toEqual([ms]);
    expect(updates.map(({ type }) => type)).toEqual(["answer"]);
  });

  it("reports progress five times and divides the requested wait among the steps", async () => {
    const { updates, slept } = await updatesOf("progress, slow 10s");
    expect(slept).toEqual([2000, 2000, 2000, 2000, 2000]);
    const percents = updates.map((update) =>
      update.type === "progress" ? update.percent : update.type,
    );
    expect(percents).toEqual([20, 40, 60, 80, 100, "answer"]);
  });

  it("reports five named steps for the word plan", async () => {
    const { updates } = await updatesOf("plan");
    const statuses = updates.map((update) =>
      update.type === "progress" ? update.steps?.map(({ status }) => status) : [],
    );
    expect(statuses[1]).toEqual(["completed", "completed", "in_progress", "pending", "pending"]);
    expect(statuses[4]).toEqual(Array(5).fill("completed"));
  });

  it("takes six seconds for the word progress, longer than a call waits", async () => {
    expect((await updatesOf("progress")).slept).toEqual([1200, 1200, 1200, 1200, 1200]);
  });

  it("takes shorter steps when configured", async () => {
    const sleepTimes: number[] = [];
    const agent = createEchoAgent({ stepMs: 1, sleep: async ({ ms }) => void sleepTimes.push(ms) });
    for await (const _update of runAgent(
      agent,
      agentTask({ channel: "C1", text: "progress" }),
      agentContext(),
    ));
    expect(sleepTimes).toEqual([1, 1, 1, 1, 1]);
  });

  it("fails on the word fail, after the requested wait", async () => {
    const { updates, slept } = await updatesOf("slow 3s fail");
    expect(slept).toEqual([3000]);
    expect(updates).toEqual([{ type: "failure", reason: "execution_failed" }]);
  });

  it('asks a question if the text is "ask me", and shows the reply', async () => {
    const { updates } = await updatesOf("ask me, and be slow 5s");
    expect(updates).toMatchObject([
      { type: "question", prompt: "Shall I go on?", options: [{ id: "yes" }, { id: "no" }] },
    ]);
    const secondRun = await updatesOf("ask me", {
      answers: [{ prompt: "Shall I go on?", text: "", option_id: "yes" }],
    });
    expect(secondRun.updates).toMatchObject([
      { type: "answer", text: expect.stringContaining("Shall I go on? yes") },
    ]);
  });

  it.each(["slowly 5s", "failure", "slow", "slow s"])(
    "treats %j as ordinary text",
    async (text) => {
      const { updates, slept } = await updatesOf(text);
      expect([slept, updates[0]?.type]).toEqual([[], "answer"]);
    },
  );

  it("asks a second question on the words ask twice and shows both replies", async () => {
    const replyTo = (prompt: string) => ({ prompt, text: "", option_id: "yes" });
    const first = await updatesOf("ask twice");
    const second = await updatesOf("ask twice", { answers: [replyTo("Shall I go on?")] });
    const last = await updatesOf("ask me twice", {
      answers: [replyTo("Shall I go on?"), { prompt: "Are you sure?", text: "quite" }],
    });
    expect([...first.updates, ...second.updates, ...last.updates]).toMatchObject([
      { type: "question", prompt: "Shall I go on?" },
      { type: "question", prompt: "Are you sure?" },
      { type: "answer", text: expect.stringMatching(/Shall I go on\? yes\nAre you sure\? quite/) },
    ]);
  });

  it("stops waiting when its signal aborts", async () => {
    const abort = new AbortController();
    const updates = runAgent(
      createEchoAgent(),
      agentTask({ channel: "C1", text: "slow 60s" }),
      agentContext(abort.signal),
    );
    const next = updates[Symbol.asyncIterator]().next();
    abort.abort();
    await expect(next).rejects.toThrow();
  });
});

async function updatesOf(text: string, extra: object = {}, readAttachment?: ReadAttachment) {
  const sleepTimes: number[] = [];
  const agent = createEchoAgent({ sleep: async ({ ms }) => void sleepTimes.push(ms) });
  const context = { ...agentContext(), ...(readAttachment && { readAttachment }) };
  const updates: TaskUpdate[] = [];
  const task = agentTask({ channel: "C1", text, ...extra });
  for await (const update of runAgent(agent, task, context)) updates.push(update);
  return { updates, slept: sleepTimes };
}

function answerIn(updates: readonly TaskUpdate[]): string {
  const last = updates.at(-1);
  return last?.type === "answer" ? last.text : "";
}

describe("the echo agent with stream", () => {
  it("writes the answer in ten pieces, each of which begins with the one before", async () => {
    const { updates, slept } = await updatesOf("stream");
    const texts = updates.map(
      (update) => (update.type === "progress" ? update.partial : answerIn([update])) ?? "",
    );
    expect(texts).toHaveLength(11);
    texts
      .slice(1)
      .forEach((text, index) => void expect(text.startsWith(texts[index] ?? "?")).toBe(true));
    expect(new Set(texts.slice(0, 10)).size).toBe(10);
    expect(slept).toEqual(Array.from({ length: 10 }, () => 1200));
  });

  it("repeats a long text in pieces that split no character", async () => {
    const text = `stream ${"🏯".repeat(1001)}`;
    const { updates } = await updatesOf(text);
    const pieces = updates.flatMap((update) =>
      update.type === "progress" ? [update.partial ?? ""] : [],
    );
    expect(answerIn(updates)).toContain(text);
    expect(pieces.map((piece) => piece.isWellFormed())).toEqual(pieces.map(() => true));
  });

  it("combines stream with progress, very long and slow", async () => {
    const { updates, slept } = await updatesOf("stream progress very long slow 1s");
    expect(slept).toEqual(Array.from({ length: 10 }, () => 100));
    expect(updates[4]).toMatchObject({ type: "progress", text: "Step 5 of 10", percent: 50 });
    expect(answerIn(updates).length).toBeGreaterThan(60_000);
  });
});

describe("the answers of the echo agent", () => {
  it.each([
    ["long", 9000, 10_000],
    ["very long", 60_000, 61_000],
  ])(
    "writes a %s answer with Markdown headings, tables, code and Japanese",
    async (text, least, most) => {
      const answer = answerIn((await updatesOf(text)).updates);
      expect(answer.length).toBeGreaterThanOrEqual(least);
      expect(answer.length).toBeLessThan(most);
      for (const pattern of [/^## \d+\. /m, /^\| --- \|/m, /^```js$/m, /^- /m, /。/])
        expect(answer).toMatch(pattern);
      expect(answer.match(/^```/gm)?.length).toBe(2 * (answer.match(/^```js$/gm)?.length ?? 0));
    },
  );

  it("sends a table for file, a picture for image, and both for both words", async () => {
    const listArtifacts = async (text: string) =>
      (await updatesOf(text)).updates.flatMap((update) =>
        update.type === "artifact" ? [update.artifact] : [],
      );
    const [table, image] = await listArtifacts("a file and an image");
    expect(await listArtifacts("file")).toEqual([table]);
    expect(await listArtifacts("image")).toEqual([image]);
    expect(table).toMatchObject({
      mimetype: "text/csv",
      text: expect.stringContaining("station,name"),
    });
    const bytes = Buffer.from(image?.base64 ?? "", "base64");
    expect([...bytes.subarray(0, 8)]).toEqual([137, 80, 78, 71, 13, 10, 26, 10]);
    expect(bytes.subarray(-8, -4).toString()).toBe("IEND");
  });

  it("stays within the contract when keywords are combined", async () => {
    const { call } = createTestHost({ agent: createEchoAgent({ stepMs: 1 }) });
    const { result } = await call("execute_task", {
      channel: "C1",
      text: "stream very long file image",
    });
    expect(methods.execute_task.result.parse(result)).toMatchObject({
      status: "success",
      artifacts: [{}, {}],
    });
  });

  it.each(["profile", "filed", "longing", "upstreams", "imagery", "reading files"])(
    "treats %j as ordinary text",
    async (text) => {
      const { updates, slept } = await updatesOf(text);
      expect([slept, updates.length, answerIn(updates)]).toEqual([
        [],
        1,
        expect.stringContaining(text),
      ]);
    },
  );
});

describe("the echo agent with read files", () => {
  const attachments = ["a.txt", "b.txt"].map((name) => ({
    ...{ id: name, name, mimetype: "text/plain", size: 2 },
    url: name,
  }));

  it("reports the size and SHA-256 of each file, or why it could not be read", async () => {
    const sha256 = createHash("sha256").update("関所").digest("hex");
    const readAttachment: ReadAttachment = async ({ attachment: { url } }) => {
      if (url === "b.txt")
        throw new SekishoError("permission_denied", { cause: new Error("at 10.0.0.1") });
      return Buffer.from("関所");
    };
    const { updates } = await updatesOf("please read the files", { attachments }, readAttachment);
    expect(updates).toHaveLength(1);
    expect(answerIn(updates)).toContain(
      `\na.txt: 6 bytes, sha256 ${sha256}\nb.txt: not read (permission_denied)`,
    );
  });

  it("stops reading files when its signal aborts", async () => {
    const abort = new AbortController();
    const context = {
      ...agentContext(abort.signal),
      readAttachment: async () => {
        abort.abort();
        throw new SekishoError("canceled");
      },
    };
    const updates = runAgent(
      createEchoAgent(),
      agentTask({ channel: "C1", text: "read files", ...({ attachments } as object) }),
      context,
    );
    await expect(updates[Symbol.asyncIterator]().next()).rejects.toThrow();
  });
});
