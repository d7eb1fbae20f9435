/** The completion queue in the templates: who may send to it, and who consumes it. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { a, b, type Resource, type Synthesized, synthAll } from "./synth.ts";
import { variants } from "./variants.ts";

const chosen = {
  "agentcore in two accounts": variants["agentcore in two accounts"],
  "lambda in one account": variants["lambda in one account"],
  external: variants.external,
};
type Variant = keyof typeof chosen;
type Statement = { Effect: string; Action: unknown; Resource: unknown; Principal?: unknown; Condition?: unknown };

let made = new Map<Variant, Synthesized>();
beforeAll(async () => {
  made = await synthAll(chosen);
});

function resourcesOf(name: Variant, zone: string, type: string): Resource[] {
  return made.get(name)?.resources(type, zone) ?? [];
}

function statementsOf(policies: unknown[]): Statement[] {
  return policies.flatMap((policy) => (policy as { Statement: Statement[] }).Statement);
}

/** Resolves joins and the pseudo parameters of the standard partition. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  if ("Fn::Join" in value) return (value["Fn::Join"] as [string, unknown[]])[1].map(plain).join("");
  if ("Ref" in value) return { "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com" }[String(value.Ref)] ?? value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
}

const queueArn = `arn:aws:sqs:eu-central-1:${a}:sekisho-dev-completions`;
const throughSqs = { "kms:ViaService": "sqs.eu-central-1.amazonaws.com" };

describe.each([
  ["agentcore in two accounts", b],
  ["lambda in one account", a],
] as const)("%s", (name, account) => {
  const role = `arn:aws:iam::${account}:role/sekisho-dev-execution`;
  const root = { AWS: `arn:aws:iam::${account}:root` };
  const isRole = { ArnEquals: { "aws:PrincipalArn": role } };

  it("has a queue that only the Execution role may send to, encrypted by a key that this role may use through SQS only", () => {
    const queues = resourcesOf(name, "Verification", "AWS::SQS::Queue").filter((one) => one.properties.QueueName);
    expect(queues.map(({ properties }) => properties)).toMatchObject([
      { QueueName: "sekisho-dev-completions", KmsMasterKeyId: expect.anything() },
    ]);
    const [queue] = queues;
    const policies = resourcesOf(name, "Verification", "AWS::SQS::QueuePolicy").filter(({ properties }) =>
      JSON.stringify(properties.Queues).includes(`"${queue?.id}"`),
    );
    const allowed = statementsOf(policies.map(({ properties }) => properties.PolicyDocument)).filter(
      ({ Effect }) => Effect === "Allow",
    );
    expect(allowed.map(plain)).toEqual([
      {
        Action: "sqs:SendMessage",
        Condition: isRole,
        Effect: "Allow",
        Principal: root,
        Resource: { "Fn::GetAtt": [queue?.id, "Arn"] },
      },
    ]);
    const [key] = resourcesOf(name, "Verification", "AWS::KMS::Key");
    const ofRole = statementsOf([key?.properties.KeyPolicy])
      .map(plain)
      .filter((statement) => JSON.stringify(statement).includes(role));
    expect(ofRole).toEqual([
      {
        Action: ["kms:Decrypt", "kms:GenerateDataKey"],
        Condition: { StringEquals: throughSqs, ...isRole },
        Effect: "Allow",
        Principal: root,
        Resource: "*",
      },
    ]);
  });

  it("permits the Execution role to send there, and to use a key of that account through SQS only; nobody else of its stack", () => {
    const policies = resourcesOf(name, "Execution", "AWS::IAM::Policy");
    const toOther = policies.filter((policy) => JSON.stringify(plain(policy.properties)).includes(queueArn));
    expect(toOther.map(({ properties }) => properties.Roles)).toEqual([
      [{ Ref: expect.stringMatching(/^ExecutionRole/) }],
    ]);
    const statements = statementsOf(toOther.map(({ properties }) => properties.PolicyDocument)).map(plain);
    expect(statements).toContainEqual({ Action: "sqs:SendMessage", Effect: "Allow", Resource: queueArn });
    const anyKey = `arn:aws:kms:eu-central-1:${a}:key/*`;
    expect(policies.filter((policy) => JSON.stringify(plain(policy.properties)).includes(anyKey))).toEqual(toOther);
    expect(statements).toContainEqual({
      Action: ["kms:Decrypt", "kms:GenerateDataKey"],
      Condition: { StringEquals: throughSqs },
      Effect: "Allow",
      Resource: anyKey,
    });
  });

  it("tells what runs agents the queue's address, and nobody else", () => {
    const places = ["AWS::Lambda::Function", "AWS::BedrockAgentCore::Runtime"].flatMap((type) =>
      ["Execution", "Verification"].flatMap((zone) => resourcesOf(name, zone, type)),
    );
    const told = places.filter(({ properties }) => JSON.stringify(properties).includes("SEKISHO_COMPLETIONS_URL"));
    expect(told.map(({ id }) => id)).toEqual([expect.stringMatching(/^(Worker|Runtime)/)]);
    expect(JSON.stringify(plain(told[0]?.properties))).toContain(
      `"https://sqs.eu-central-1.amazonaws.com/${a}/sekisho-dev-completions"`,
    );
  });

  it("wakes the worker from it with two invocations at most, and forgets what could not be handled three times", () => {
    const [queue] = resourcesOf(name, "Verification", "AWS::SQS::Queue").filter((one) => one.properties.QueueName);
    const sources = resourcesOf(name, "Verification", "AWS::Lambda::EventSourceMapping").filter(({ properties }) =>
      JSON.stringify(properties.EventSourceArn).includes(`"${queue?.id}"`),
    );
    expect(sources.map(({ properties }) => properties)).toMatchObject([
      { FunctionName: { Ref: expect.stringMatching(/^Worker/) }, ScalingConfig: { MaximumConcurrency: 2 } },
    ]);
    const { MessageRetentionPeriod: kept, VisibilityTimeout: hidden } = queue?.properties ?? {};
    expect(Number(kept)).toBe(3 * Number(hidden));
  });

  it("lets the queue go with its stack, so that its name is free again", () => {
    const [queue] = resourcesOf(name, "Verification", "AWS::SQS::Queue").filter((one) => one.properties.QueueName);
    expect(queue?.deletionPolicy).toBe("Delete");
  });
});

describe("a stage whose tasks are executed elsewhere", () => {
  it("has no completion queue: nobody could push to it", () => {
    expect(made.get("external")?.stacks.get("Verification")?.text).not.toContain("completions");
  });
});
