/** Spans of both functions of the Execution zone on Lambda: sent before an invocation ends, in one trace across them. */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { type OpenEmulators, openEmulators } from "../../doubles/aws/open-emulators.ts";
import { startOtlpCollector } from "../../doubles/otlp-collector.ts";
import { hello } from "../test-host.ts";
import { openLambdaZone } from "./lambda-zone.ts";
import { functionUrlEvent } from "./payloads/function-url.ts";

const before = { ...process.env };
const suite = whyNoDynamoDb === undefined ? describe : describe.skip;
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

suite(`the functions on Lambda${whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`}`, () => {
  let opened: OpenEmulators;
  let collector: Awaited<ReturnType<typeof startOtlpCollector>>;
  beforeAll(async () => {
    opened = await openEmulators();
  });
  afterAll(() => opened.close());
  afterEach(async () => {
    process.env = { ...before };
    await collector.close();
  });

  async function open(answer?: () => Promise<Response>) {
    collector = await startOtlpCollector(answer === undefined ? {} : { answer });
    process.env.AWS_LAMBDA_FUNCTION_NAME = "sekisho-dev-Worker";
    const telemetry = { metrics: false, traces: { exporter: { type: "otlp", url: collector.url } } };
    const zone = await openLambdaZone({ opened, execution: { syncBudgetMs: 0 }, telemetry });
    const body = JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method: "execute_task", params: hello });
    return { ...zone, ask: () => zone.handle(functionUrlEvent({ body, more: { traceparent } })) };
  }

  it("have sent what they know when they return, and the agent lies below the request that another function took", async () => {
    const { ask, workOnce } = await open();
    await ask();
    const [request] = collector.spans();
    expect(request).toMatchObject({ name: "execute_task", parent: "b7ad6b7169203331", kind: 2 });
    await workOnce();
    const agent = collector.spans().find(({ name }) => name === "invoke_agent echo");
    expect(agent).toMatchObject({ parent: request?.spanId, traceId: request?.traceId });
    expect(collector.resources().at(-1)).toMatchObject({
      "service.name": "sekisho-execution",
      "cloud.region": "eu-central-1",
      "faas.name": "sekisho-dev-Worker",
    });
  });

  it("answer although the collector never does", async () => {
    const { ask } = await open(() => new Promise(() => {}));
    expect(JSON.parse((await ask()).body).result?.status).toBe("accepted");
    expect(collector.received).toHaveLength(1);
  });
});
