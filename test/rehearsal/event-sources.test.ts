import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "@jest/globals";
import { startSqsEmulator } from "../doubles/aws/emulators.ts";
import { createCaller } from "./aws/callers.ts";
import { startGateway } from "./aws/gateway.ts";
import { createQueues } from "./aws/queues.ts";
import { pollQueue } from "./event-sources.ts";
import { createAuthority } from "./iam/authority.ts";
import { collectPolicies } from "./iam/policies.ts";
import { runFunction } from "./lambda/function.ts";
import { createResolver } from "./template/resolve.ts";
import { eventSourcesOf, functionsOf } from "./template/wiring.ts";

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of closing.splice(0).reverse()) await step();
});

const at = { account: "111111111111", region: "eu-central-1" };
const mayReceive = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];

/** A function that fails every message whose body says so, behind a queue whose messages are dead after the first receive. */
async function start({
  code = "exports.handler = async ({ Records }) => ({ batchItemFailures: Records.filter(({ body }) => body === 'bad').map(({ messageId }) => ({ itemIdentifier: messageId })) });",
  reports = true,
  actions = mayReceive,
}: {
  code?: string;
  reports?: boolean;
  actions?: string[];
} = {}) {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-function-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "index.js"), code);
  const role = {
    AssumeRolePolicyDocument: { Statement: [] },
    Policies: [
      {
        PolicyDocument: {
          Statement: [{ Effect: "Allow", Action: actions, Resource: { "Fn::GetAtt": ["Tasks", "Arn"] } }],
        },
      },
    ],
  };
  const redrive = { deadLetterTargetArn: { "Fn::GetAtt": ["Dead", "Arn"] }, maxReceiveCount: 1 };
  const resources = {
    Dead: { Type: "AWS::SQS::Queue", Properties: {} },
    Tasks: { Type: "AWS::SQS::Queue", Properties: { VisibilityTimeout: 1, RedrivePolicy: redrive } },
    Role: { Type: "AWS::IAM::Role", Properties: role },
    Worker: {
      Type: "AWS::Lambda::Function",
      Properties: { Role: { "Fn::GetAtt": ["Role", "Arn"] }, Code: { S3Key: "code" }, Handler: "index.handler" },
    },
    Source: {
      Type: "AWS::Lambda::EventSourceMapping",
      Properties: {
        EventSourceArn: { "Fn::GetAtt": ["Tasks", "Arn"] },
        FunctionName: { Ref: "Worker" },
        ...(reports ? { FunctionResponseTypes: ["ReportBatchItemFailures"] } : {}),
      },
    },
  };
  const stacks = [{ name: "Near", ...at, template: { Parameters: {}, Resources: resources, Outputs: {} } }];
  const assembly = { stacks, assetFolder: () => folder };
  const resolver = createResolver({ assembly });
  const sqs = await startSqsEmulator();
  closing.push(() => sqs.close());
  const queues = await createQueues({ endpoint: sqs.endpoint, resolver });
  const problems: string[] = [];
  const onProblem = (problem: string) => void problems.push(problem);
  const gateway = await startGateway({
    authority: createAuthority({ policies: collectPolicies({ resolver }) }),
    implied: () => [],
    backends: { sqs: queues.backend },
    endpointArn: ({ runtimeArn }) => runtimeArn,
    secretArn: ({ id }) => id,
    onProblem,
  });
  closing.push(gateway.close);
  const [fn] = functionsOf({ assembly, resolver });
  const [source] = eventSourcesOf({ resolver });
  const [dead, tasks] = resolver.resources("AWS::SQS::Queue");
  if (fn === undefined || source === undefined || dead === undefined || tasks === undefined)
    throw new Error("unreachable");
  const target = runFunction({
    fn,
    environment: {},
    onStart: () => {},
    onLine: () => {},
    onFailure: (error) => onProblem(`${fn.logicalId} failed: ${error}`),
  });
  const caller = createCaller({ ...fn, name: "Source", kind: "event source" });
  gateway.register(caller);
  const stop = new AbortController();
  const queueUrl = resolver.ref(tasks);
  const polling = pollQueue({
    source,
    queueUrl,
    target,
    caller,
    gatewayUrl: gateway.url,
    signal: stop.signal,
    onProblem,
  });
  closing.push(async () => {
    stop.abort();
    await target.close();
    await polling;
  });
  const depthOf = async (arn: string) => {
    const attributes = await queues.attributesOf(arn);
    return Number(attributes.ApproximateNumberOfMessages) + Number(attributes.ApproximateNumberOfMessagesNotVisible);
  };
  const arn = resolver.attribute(tasks, "Arn");
  return {
    problems,
    deadLetters: () => queues.peek(resolver.attribute(dead, "Arn")),
    send: (...bodies: string[]) => Promise.all(bodies.map((body) => queues.send({ arn, body }))),
    async until(isSo: () => boolean | Promise<boolean>) {
      while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
    },
    isEmpty: async () => (await depthOf(arn)) === 0,
  };
}

describe("an event source", () => {
  it("removes what is done, and leaves what failed to become a dead letter", async () => {
    const { send, until, deadLetters, isEmpty, problems } = await start();
    await send("good", "bad", "good too");
    await until(async () => (await deadLetters()).length > 0);
    expect(await deadLetters()).toEqual(["bad"]);
    expect(await isEmpty()).toBe(true);
    expect(problems).toEqual([]);
  });

  it("without ReportBatchItemFailures removes what failed too, which the rehearsal tells of", async () => {
    const { send, until, isEmpty, deadLetters, problems } = await start({ reports: false });
    await send("bad");
    await until(() => problems.length > 0);
    await until(isEmpty);
    expect(await deadLetters()).toEqual([]);
    expect(problems).toEqual([
      "Source deletes messages that Worker said had failed: its FunctionResponseTypes lack ReportBatchItemFailures.",
    ]);
  });

  it("leaves the whole batch where the function fails", async () => {
    const { send, until, deadLetters, problems } = await start({
      code: "exports.handler = async () => { throw new RangeError('no'); };",
    });
    await send("one", "two");
    await until(async () => (await deadLetters()).length === 2);
    expect(problems).toContain("Worker failed: it threw RangeError: no");
  });

  it.each(mayReceive)("needs %s under the function's role", async (missing) => {
    const { send, until, problems } = await start({ actions: mayReceive.filter((action) => action !== missing) });
    await send("good");
    await until(() => problems.length > 0);
    expect(problems[0]).toMatch(new RegExp(`^Source may not ${missing} on `));
  });
});
