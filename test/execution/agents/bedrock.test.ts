/** The agent for models of Amazon Bedrock, against a local server that speaks the event stream of AWS. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "@jest/globals";
import type { TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { runAgent } from "@sekisho/execution/agents/agent.ts";
import { createBedrockAgent } from "@sekisho/execution/agents/bedrock.ts";
import { toConverseMessages } from "@sekisho/execution/agents/converse-messages.ts";
import fc from "fast-check";
import { withGrowingLimit } from "../../doubles/growing-limit.ts";
import { createTestHost, hello } from "../test-host.ts";
import { agentContext, agentTask } from "./agent-context.ts";
import {
  type BedrockServer,
  eventStream,
  exception,
  metadata,
  refuse,
  startBedrockServer,
  stop,
  text,
} from "./bedrock-server.ts";

let server: BedrockServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

type Options = Partial<Parameters<typeof createBedrockAgent>[0]>;

async function agentOf(answer: (response: ServerResponse) => unknown, options: Options = {}) {
  server = await startBedrockServer(answer);
  const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "hunter2-secret" };
  const clientConfig = { endpoint: server.endpoint, credentials };
  return createBedrockAgent({
    modelId: "maker.model-v1:0",
    region: "eu-central-1",
    clientConfig,
    ...options,
  });
}

async function updatesOf(answer: (response: ServerResponse) => unknown, options: Options = {}) {
  const agent = await agentOf(answer, options);
  const updates: TaskUpdate[] = [];
  for await (const update of runAgent(agent, agentTask(hello), agentContext()))
    updates.push(update);
  return updates;
}

/** How the task fails in the host, of which nothing that the service says may be heard. */
async function failureOf(answer: (response: ServerResponse) => unknown, options: Options = {}) {
  const { call, lines } = createTestHost({ agent: await agentOf(answer, options) });
  const { error } = await call("execute_task", hello);
  expect(JSON.stringify(error) + lines.join("")).not.toContain("hunter2");
  return { reason: error?.data.reason, lines: lines.map((line) => JSON.parse(line)) };
}

function send(...frames: Buffer[]) {
  return (response: ServerResponse) => eventStream(response).end(Buffer.concat(frames));
}

const usage = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };

describe("a model of Bedrock", () => {
  it("sends the system prompt, the thread and the text, and answers with the model's stream", async () => {
    const agent = await agentOf(send(text("Hel"), text("lo"), stop("end_turn"), metadata(usage)), {
      system: "Be brief.",
      maxTokens: 100,
      guardrail: { id: "gr1", version: "2" },
    });
    const history = [
      { role: "user" as const, text: "Hi" },
      { role: "assistant" as const, text: "Hello", ts: "1.2" },
    ];
    const updates: TaskUpdate[] = [];
    const context = agentContext();
    for await (const update of runAgent(
      agent,
      agentTask({ ...hello, history, bot_token: "hidden" }),
      context,
    ))
      updates.push(update);
    expect(updates).toEqual([{ type: "answer", text: "Hello", usage }]);
    expect(server?.requests).toEqual([
      {
        path: "/model/maker.model-v1%3A0/converse-stream",
        headers: expect.objectContaining({
          traceparent: context.trace.traceparent,
          authorization: expect.stringMatching(
            /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/bedrock\//,
          ),
        }),
        body: {
          system: [{ text: "Be brief." }],
          inferenceConfig: { maxTokens: 100 },
          guardrailConfig: { guardrailIdentifier: "gr1", guardrailVersion: "2" },
          messages: [
            { role: "user", content: [{ text: "Hi" }] },
            { role: "assistant", content: [{ text: "Hello" }] },
            { role: "user", content: [{ text: "hello" }] },
          ],
        },
      },
    ]);
  });

  it("decodes a stream that is split at any byte", async () => {
    const bytes = Buffer.concat([text("関所"), text("🏯"), stop("end_turn")]);
    const updates = await updatesOf((response) => {
      eventStream(response);
      for (const byte of bytes) response.write(Buffer.of(byte));
      response.end();
    });
    expect(updates).toEqual([{ type: "answer", text: "関所🏯" }]);
  });

  it("reports a growing answer at most four times a second", async () => {
    let nowMs = 0;
    const parts = Array.from({ length: 10 }, () => text("x"));
    const updates = await updatesOf(send(...parts, stop("end_turn")), {
      now: () => (nowMs += 100),
    });
    const reports = updates.filter(({ type }) => type === "progress");
    expect(reports[0]).toEqual({ type: "progress", partial: "xxx" });
    expect(reports.length).toBeLessThan(5);
  });

  it.each(["guardrail_intervened", "stop_sequence"])(
    "answers with the text so far when the model stops for %s",
    async (reason) => {
      expect(await updatesOf(send(text("I cannot say."), stop(reason)))).toEqual([
        { type: "answer", text: "I cannot say." },
      ]);
    },
  );

  it.each(["max_tokens", "model_context_window_exceeded"])(
    "says that the answer was cut off after %s",
    async (reason) => {
      const note = "This answer was cut off because it reached the model's length limit.";
      expect(await updatesOf(send(text("Delete the"), stop(reason)))).toEqual([
        { type: "answer", text: `Delete the\n\n${note}` },
      ]);
    },
  );

  it("removes reasoning in tags from the answer", async () => {
    expect(
      await updatesOf(send(text("<think>secret</th"), text("ink>Hello"), stop("end_turn"))),
    ).toEqual([{ type: "answer", text: "Hello" }]);
  });

  it("stops reading an answer that exceeds the size of a result", async () => {
    const endless = (response: ServerResponse) => {
      const chunk = text("x".repeat(60_000));
      const writing = setInterval(() => eventStreamOf.write(chunk), 1);
      const eventStreamOf = eventStream(response).on("close", () => clearInterval(writing));
    };
    expect((await failureOf(endless)).reason).toBe("payload_too_large");
  });

  it("does not call the model for a blank text", async () => {
    const { call } = createTestHost({ agent: await agentOf(send(text("Hi"), stop("end_turn"))) });
    expect((await call("execute_task", { ...hello, text: " " })).error?.data.reason).toBe(
      "plan_error",
    );
    expect(server?.requests).toEqual([]);
  });

  it("retries a throttled request before the answer has begun", async () => {
    const updates = await updatesOf((response) => {
      if (server?.requests.length === 1)
        refuse(response, { status: 429, name: "ThrottlingException" });
      else send(text("Hi"), stop("end_turn"))(response);
    });
    expect(updates).toEqual([{ type: "answer", text: "Hi" }]);
    expect(server?.requests).toHaveLength(2);
  });

  it("does not retry after the answer has begun", async () => {
    const { reason } = await failureOf((response) => {
      eventStream(response).write(text("half"));
      setImmediate(() => response.destroy());
    });
    expect(reason).toBe("execution_failed");
    expect(server?.requests).toHaveLength(1);
  });

  it("lets an answer take longer in total than the wait for its next part", async () => {
    const answer = { type: "answer", text: "x".repeat(12) };
    const streamWith = async (idleTimeoutMs: number) => {
      await server?.close();
      const updates = await updatesOf(
        async (response) => {
          eventStream(response);
          for (let part = 0; part < 12; part += 1) {
            response.write(text("x"));
            await sleep(idleTimeoutMs / 8);
          }
          response.end(stop("end_turn"));
        },
        { idleTimeoutMs },
      );
      return updates.at(-1);
    };
    const isFair = (update?: TaskUpdate) => update?.type === "answer";
    expect(await withGrowingLimit({ firstMs: 800, attempt: streamWith, isFair })).toEqual(answer);
  });

  it("closes the connection to the model when the task is canceled", async () => {
    const requestArrival = Promise.withResolvers<void>();
    const connectionEnd = Promise.withResolvers<void>();
    const agent = await agentOf((response) => {
      void once(response, "close").then(() => connectionEnd.resolve());
      eventStream(response).write(text("a"));
      requestArrival.resolve();
    });
    const { call } = createTestHost({ agent, syncBudgetMs: 0 });
    const { result } = await call("execute_task", hello);
    // Before that there is no connection to end.
    await requestArrival.promise;
    await call("cancel_task", { task_id: result?.task_id });
    await connectionEnd.promise;
  });
});

describe("a failure of Bedrock", () => {
  it.each<[string, (response: ServerResponse) => unknown]>([
    ["filters its answer", send(text("half of hunter2"), stop("content_filtered"))],
    ["reports malformed output", send(text("half of hunter2"), stop("malformed_model_output"))],
    ["returns no text", send(stop("end_turn"))],
    ["intervenes without a text", send(stop("guardrail_intervened"))],
    ["ends the stream early", send(text("half of hunter2"))],
    ["fails in the stream", send(text("half"), exception("modelStreamErrorException", "hunter2"))],
    ["is throttled in the stream", send(text("half"), exception("throttlingException", "hunter2"))],
    [
      "sends a damaged frame",
      send(Buffer.concat([text("hunter2").subarray(0, 40), Buffer.alloc(200, 7)])),
    ],
    [
      "sends no event stream",
      (response) => response.writeHead(200, { "content-type": "text/html" }).end("hunter2"),
    ],
    [
      "redirects",
      (response) => response.writeHead(307, { location: "http://127.0.0.1:1/hunter2" }).end(),
    ],
  ])("fails with execution_failed when the model %s", async (_name, answer) => {
    expect((await failureOf(answer)).reason).toBe("execution_failed");
  });

  it.each([
    ["AccessDeniedException", 403],
    ["ValidationException", 400],
    ["ResourceNotFoundException", 404],
  ])("logs the error name %s and fails with execution_failed", async (name, status) => {
    const { reason, lines } = await failureOf((response) => refuse(response, { status, name }));
    expect(reason).toBe("execution_failed");
    expect(lines).toContainEqual(
      expect.objectContaining({ message: "agent_threw", cause_kind: name }),
    );
    expect(server?.requests).toHaveLength(1);
  });

  it("fails when the model sends nothing for too long, before or within the stream", async () => {
    expect((await failureOf(() => {}, { idleTimeoutMs: 30 })).reason).toBe("execution_failed");
    await server?.close();
    const { reason } = await failureOf((response) => eventStream(response).write(text("a")), {
      idleTimeoutMs: 100,
    });
    expect(reason).toBe("execution_failed");
  });
});

describe("the messages of Converse", () => {
  const role = fc.constantFrom("user" as const, "assistant" as const);
  const historyItem = fc.record({
    role,
    text: fc.oneof(fc.string(), fc.constantFrom("", " ", "\n")),
  });

  it("builds alternating messages that begin and end with the user and keep all text", () => {
    fc.assert(
      fc.property(fc.array(historyItem), fc.string({ minLength: 1 }), (history, question) => {
        const messages =
          toConverseMessages(agentTask({ ...hello, history, text: `${question}!` })) ?? [];
        expect(messages.map(({ role }) => role)).toEqual(
          messages.map((_, i) => (i % 2 === 0 ? "user" : "assistant")),
        );
        const texts = messages.flatMap(({ content }) => content.map(({ text }) => text));
        expect(messages.at(-1)?.role).toBe("user");
        expect(texts.at(-1)).toBe(`${question}!`);
        const words = history.map(({ text }) => text).filter((text) => text.trim() !== "");
        expect(texts.slice(-1 - words.length, -1)).toEqual(words);
        expect(texts.every((text) => text.trim() !== "")).toBe(true);
      }),
    );
  });

  it("adds a note when the thread begins with the assistant, and keeps its text", () => {
    const history = [{ role: "assistant" as const, text: "The build failed." }];
    expect(toConverseMessages(agentTask({ ...hello, history }))).toEqual([
      {
        role: "user",
        content: [{ text: expect.stringContaining("begins with a message of yours") }],
      },
      { role: "assistant", content: [{ text: "The build failed." }] },
      { role: "user", content: [{ text: "hello" }] },
    ]);
  });
});
