/** One trace of one message: from Slack's event through both zones and back to the delivery, as a collector gets it. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { SpanKind } from "@opentelemetry/api";
import { parseTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { type CollectedSpan, startOtlpCollector } from "../doubles/otlp-collector.ts";
import { startWorld, transports } from "./world.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(options: Partial<Parameters<typeof startWorld>[0]> = {}, traces: object = {}) {
  const collector = await startOtlpCollector();
  closing.push(collector.close);
  const exporter = { type: "otlp", url: collector.url };
  const world = await startWorld({
    transport: "https",
    telemetry: { traces: { exporter, ...traces } },
    ...options,
  });
  const close = once(world.close);
  closing.push(close);
  return { collector, world, close };
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

/** The names from a span up to the root. */
function wayUp(spans: CollectedSpan[], span: CollectedSpan): string[] {
  const parent = spans.find(({ spanId }) => spanId === span.parent);
  return [
    `${span.service.replace("sekisho-", "")}: ${span.name}`,
    ...(parent === undefined ? [] : wayUp(spans, parent)),
  ];
}

/** Resolves to the spans of a message that was asked and answered, when both zones are closed. */
async function spansOf(text: string, openWorld: Awaited<ReturnType<typeof open>>) {
  const { world, collector, close } = openWorld;
  const { requestId } = world.ask(text);
  const task = await world.over(requestId);
  await close();
  return { spans: collector.spans(), task, requestId };
}

describe("one message", () => {
  it.each(transports)(
    "records one trace over %s with one root, which contains the parent of each span",
    async (transport) => {
      const { spans, task, requestId } = await spansOf(
        "slow 400ms What is a sekisho?",
        await open({ transport }),
      );
      const traceId = parseTrace(task.trace)?.traceparent.slice(3, 35);
      expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
      const ids = new Set(spans.map(({ spanId }) => spanId));
      expect(ids.size).toBe(spans.length);
      const [root, ...others] = spans.filter(({ parent }) => parent === undefined);
      expect(others).toEqual([]);
      expect(root).toMatchObject({
        name: "sekisho.task",
        spanId: task.trace.traceparent.slice(36, 52),
      });
      expect(spans.filter(({ parent }) => parent !== undefined && !ids.has(parent))).toEqual([]);
      expect(root?.attributes).toMatchObject({
        "sekisho.request_id": requestId,
        "sekisho.destination": transport,
        "sekisho.outcome": "answer",
      });
    },
  );

  it("nests the spans of step, attempt, host and agent, and of the delivery", async () => {
    const { spans } = await spansOf("slow 400ms hello", await open());
    const ways = new Set(spans.map((span) => wayUp(spans, span).join(" < ")));
    const step = "verification: process tasks < verification: sekisho.task";
    expect([...ways].sort()).toEqual(
      expect.arrayContaining([
        "verification: sekisho.task",
        step,
        `verification: execute_task < ${step}`,
        `execution: execute_task < verification: execute_task < ${step}`,
        `execution: invoke_agent echo < execution: execute_task < verification: execute_task < ${step}`,
        `verification: get_task < ${step}`,
        `execution: get_task < verification: get_task < ${step}`,
        `verification: slack chat.postMessage < ${step}`,
        `verification: deliver answer < ${step}`,
        `verification: slack chat.update < verification: deliver answer < ${step}`,
      ]),
    );
  });

  it("sets the attributes of each span by the conventions", async () => {
    const { spans, requestId, task } = await spansOf("slow 400ms hello", await open());
    const named = (service: string, name: string) =>
      spans.find((span) => span.service === `sekisho-${service}` && span.name === name)?.attributes;
    expect(named("verification", "process tasks")).toMatchObject({
      "messaging.system": "sqlite",
      "messaging.operation.type": "process",
      "sekisho.request_id": requestId,
    });
    expect(named("verification", "execute_task")).toMatchObject({
      "rpc.system.name": "jsonrpc",
      "rpc.method": "execute_task",
      "jsonrpc.request.id": requestId,
      "server.address": "127.0.0.1",
      "http.response.status_code": 200,
      "sekisho.attempt": 1,
    });
    expect(named("execution", "execute_task")).toMatchObject({ "sekisho.request_id": requestId });
    expect(named("execution", "invoke_agent echo")).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "echo",
      "sekisho.task_id": task.call?.taskId,
    });
  });

  it("sets the span kinds from which tools draw service maps", async () => {
    const { spans } = await spansOf("slow 400ms hello", await open());
    const kinds = spans.map(({ service, name, kind }) => [
      `${service}: ${name}`,
      SpanKind[kind - 1],
    ]);
    expect(Object.fromEntries(kinds)).toMatchObject({
      "sekisho-verification: sekisho.task": "INTERNAL",
      "sekisho-verification: process tasks": "CONSUMER",
      "sekisho-verification: execute_task": "CLIENT",
      "sekisho-verification: get_task": "CLIENT",
      "sekisho-verification: slack chat.postMessage": "CLIENT",
      "sekisho-verification: deliver answer": "INTERNAL",
      "sekisho-execution: execute_task": "SERVER",
      "sekisho-execution: invoke_agent echo": "INTERNAL",
    });
  });

  it("marks each failed span with its kind of failure", async () => {
    const { spans } = await spansOf("fail", await open());
    const failed = spans
      .filter((span) => span.failed)
      .map(({ service, name, attributes }) => [`${service}: ${name}`, attributes["error.type"]]);
    expect(Object.fromEntries(failed)).toEqual({
      "sekisho-verification: sekisho.task": "execution_failed",
      "sekisho-verification: execute_task": "execution_failed",
      "sekisho-execution: execute_task": "execution_failed",
      "sekisho-execution: invoke_agent echo": "execution_failed",
    });
  });

  it("records a trace of a refused message, too", async () => {
    const { spans } = await spansOf("hello", await open({ allowed: false }));
    const root = spans.find(({ parent }) => parent === undefined);
    expect(root?.attributes).toMatchObject({ "sekisho.outcome": "refused" });
    expect(spans.map(({ service }) => service)).not.toContain("sekisho-execution");
  });

  it("exports no text, secret or token", async () => {
    const openWorld = await open();
    await spansOf("canary-4f1d slow 400ms", openWorld);
    const { secrets } = openWorld.world;
    const bytes = openWorld.collector.bytes();
    expect(bytes).toContain("sekisho.task");
    for (const canary of ["canary-4f1d", ...Object.values(secrets)])
      expect(bytes).not.toContain(canary);
  });
});

describe("a trace that is not kept", () => {
  it("sends no spans of an unsampled trace, and tells the Execution zone", async () => {
    const openWorld = await open({ transport: "agentcore" }, { sampleRatio: 0 });
    const { requestId } = openWorld.world.ask("hello");
    const { trace } = await openWorld.world.over(requestId);
    const storyRuns = openWorld.world
      .stored((name) => name.startsWith("execution"))
      .match(/00-[0-9a-f]{32}-[0-9a-f]{16}-0./g);
    await openWorld.close();
    expect(openWorld.collector.received).toEqual([]);
    expect(trace.traceparent).toMatch(/-00$/);
    expect(storyRuns?.length).toBeGreaterThan(0);
    expect(
      storyRuns?.filter(
        (each) => !each.startsWith(trace.traceparent.slice(0, 36)) || !each.endsWith("-00"),
      ),
    ).toEqual([]);
  });
});
