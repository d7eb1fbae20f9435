import { describe, expect, it } from "@jest/globals";
import { createQueues } from "./aws/queues.ts";
import { createDependencies, startEventSource } from "./compute.ts";
import { type Concurrency, createConcurrency } from "./lambda/concurrency.ts";
import { continueChain, mostInChain } from "./lambda/lineage.ts";
import {
  closeAfterTest,
  createSample,
  near,
  sampleCaller,
  sampleFunction,
  sampleRole,
  startSampleGateway,
} from "./sample.ts";
import { depthOf } from "./stage.ts";
import { eventSourcesOf } from "./template/wiring.ts";

const mayReceive = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
const failsTheBad =
  "exports.handler = async ({ Records }) => ({ batchItemFailures: Records.filter(({ body }) => body === 'bad').map(({ messageId }) => ({ itemIdentifier: messageId })) });";

/** A function that fails every message whose body is "bad", behind a queue whose messages are dead after the first receive. */
async function start({
  code = failsTheBad,
  reports = true,
  actions = mayReceive,
  concurrency = createConcurrency(),
  hiddenSeconds = 1,
}: {
  code?: string;
  reports?: boolean;
  actions?: string[];
  concurrency?: Concurrency;
  /** The visibility timeout. Where a message must be handled in time it is long enough for a busy machine. */
  hiddenSeconds?: number;
} = {}) {
  const queueArn = { "Fn::GetAtt": ["Tasks", "Arn"] };
  const redrive = { deadLetterTargetArn: { "Fn::GetAtt": ["Dead", "Arn"] }, maxReceiveCount: 1 };
  const sample = createSample({
    code,
    concurrency,
    stacks: [
      {
        place: near,
        resources: {
          Dead: { Type: "AWS::SQS::Queue" },
          Tasks: {
            Type: "AWS::SQS::Queue",
            Properties: { VisibilityTimeout: hiddenSeconds, RedrivePolicy: redrive },
          },
          Role: sampleRole([{ Effect: "Allow", Action: actions, Resource: queueArn }]),
          Worker: sampleFunction(),
          Source: {
            Type: "AWS::Lambda::EventSourceMapping",
            Properties: {
              EventSourceArn: queueArn,
              FunctionName: { Ref: "Worker" },
              ...(reports ? { FunctionResponseTypes: ["ReportBatchItemFailures"] } : {}),
            },
          },
        },
      },
    ],
  });
  const { resolver, functions, problems, onProblem } = sample;
  const queues = createQueues({ resolver });
  queues.duplicates.every = Number.POSITIVE_INFINITY;
  const gateway = await startSampleGateway(sample, { backends: { sqs: queues.backend } });
  const dependencies = createDependencies({ gateway, slackApiUrl: "" });
  const [source] = eventSourcesOf({ resolver });
  const [dead, tasks] = resolver.resources("AWS::SQS::Queue");
  if (source === undefined || dead === undefined || tasks === undefined)
    throw new Error("unreachable");
  const stop = new AbortController();
  const { signal } = stop;
  const gatewayUrl = gateway.url;
  const pace = { mostBatches: 4 };
  const polling = startEventSource({
    source,
    functions,
    resolver,
    gatewayUrl,
    pace,
    signal,
    dependencies,
    onProblem,
  });
  closeAfterTest(async () => {
    stop.abort();
    await sample.close();
    await polling;
  });
  const arn = tasks.arn;
  const deadArn = dead.arn;
  /** As code calls SQS from within a function. */
  const call = async (
    queueArn: string,
    operation: string,
    input: Record<string, unknown>,
    headers = {},
  ) => {
    const request = new Request("http://127.0.0.1/", { method: "POST", headers });
    const read = { service: "sqs", action: `sqs:${operation}`, resources: [queueArn], input };
    const requests = { request, target: "/", body: new Uint8Array() };
    const response = await queues.backend({
      call: read,
      received: requests,
      caller: sampleCaller(sample, "Role"),
    });
    return (await response.json()) as { Messages?: { Attributes?: Record<string, string> }[] };
  };
  return {
    problems,
    functionArn: source.functionArn,
    sendInChain: (trace: string, MessageBody: string) =>
      call(arn, "SendMessage", { MessageBody }, { "x-amzn-trace-id": trace }),
    /** The trace headers of the dead letters. */
    async deadChains() {
      const { Messages = [] } = await call(deadArn, "ReceiveMessage", {
        AttributeNames: ["All"],
        VisibilityTimeout: 0,
      });
      return Messages.map(({ Attributes }) => Attributes?.AWSTraceHeader);
    },
    deadLetters: () => queues.peek(deadArn),
    send(...bodies: string[]) {
      for (const body of bodies) queues.send({ arn, body });
    },
    async until(isSo: () => boolean | Promise<boolean>) {
      while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
    },
    isEmpty: () => depthOf({ queues }, arn) === 0,
  };
}

describe("an event source", () => {
  it("removes completed messages and leaves failed ones to become dead letters", async () => {
    const { send, until, deadLetters, isEmpty, problems } = await start({ hiddenSeconds: 8 });
    send("good", "bad", "good too");
    await until(() => deadLetters().length > 0);
    expect(deadLetters()).toEqual(["bad"]);
    expect(isEmpty()).toBe(true);
    expect(problems).toEqual([]);
  });

  it("reports failed messages that are removed without ReportBatchItemFailures", async () => {
    const { send, until, isEmpty, deadLetters, problems } = await start({
      reports: false,
      hiddenSeconds: 30,
    });
    send("bad");
    await until(() => problems.length > 0);
    await until(isEmpty);
    expect(deadLetters()).toEqual([]);
    expect(problems).toEqual([
      "Sample0/Source deletes messages that Sample0/Worker said had failed: its FunctionResponseTypes lack ReportBatchItemFailures.",
    ]);
  });

  it("leaves the whole batch when the function fails", async () => {
    const { send, until, deadLetters, problems } = await start({
      code: "exports.handler = async () => { throw new RangeError('no'); };",
    });
    send("one", "two");
    await until(() => deadLetters().length === 2);
    expect(problems).toContain("Sample0/Worker failed: it threw RangeError: no");
  });

  it("leaves a message whose chain is too long to become a dead letter of that chain", async () => {
    const { sendInChain, until, deadChains, problems, functionArn } = await start();
    let trace = "";
    for (let time = 0; time < mostInChain; time++)
      trace = continueChain({ traces: [trace], functionArn }).trace;
    await sendInChain(trace, "good");
    await until(async () => (await deadChains()).length > 0);
    expect(await deadChains()).toEqual([trace]);
    expect(problems).toEqual([
      expect.stringMatching(/^Sample0\/Worker failed: Lambda refused invocation 17 of one chain/),
    ]);
  });

  it("passes the chain of a message to the function as its next invocation", async () => {
    const code =
      "exports.handler = async ({ Records: [{ attributes }] }) => { throw new Error([attributes.AWSTraceHeader, process.env._X_AMZN_TRACE_ID].join(' then ')); };";
    const { sendInChain, until, problems, functionArn } = await start({ code });
    const { trace } = continueChain({ traces: [], functionArn });
    await sendInChain(trace, "good");
    await until(() => problems.length > 0);
    expect(problems[0]).toMatch(
      new RegExp(`threw Error: ${trace} then Root=[^;]+;.+;Lineage=[0-9a-f]{8}:1$`),
    );
  });

  it("retries a throttled batch while its messages are hidden", async () => {
    const concurrency = createConcurrency({ limit: 1 });
    const { send, until, isEmpty, deadLetters, problems, functionArn } = await start({
      concurrency,
      hiddenSeconds: 30,
    });
    const leave = concurrency.enter({ arn: functionArn, ...near });
    send("good");
    await until(() => !isEmpty());
    await new Promise((resolve) => setTimeout(resolve, 300));
    leave?.();
    await until(isEmpty);
    expect(deadLetters()).toEqual([]);
    expect(problems).toEqual([]);
  });

  it("leaves a message of a batch that stays throttled to become a dead letter", async () => {
    const { send, until, deadLetters, problems } = await start({
      concurrency: createConcurrency({ limit: 0 }),
    });
    send("good");
    await until(() => deadLetters().length > 0);
    expect(deadLetters()).toEqual(["good"]);
    expect(problems).toEqual([]);
  });

  it.each(mayReceive)("requires %s for the function's role", async (missing) => {
    const { send, until, problems } = await start({
      actions: mayReceive.filter((action) => action !== missing),
    });
    send("good");
    await until(() => problems.length > 0);
    expect(problems[0]).toMatch(new RegExp(`^Sample0/Source may not ${missing} on `));
  });
});
