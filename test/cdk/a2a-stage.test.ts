/** A stage whose Execution zone is an A2A agent on Lambda. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { a, configWith, type Synthesized, synthAll } from "./synth.ts";

const stage = { execution: { kind: "lambda" } };
const client = "arn:aws:iam::333333333333:role/a-client";
const verificationRole = `arn:aws:iam::${a}:role/sekisho-dev-verification`;
const signature = { key: { env: "CARD_KEY" }, keyId: "2026-1" };
const a2a = { url: "https://agents.example/", callers: [client], signature };
let made = new Map<"agent" | "plain", Synthesized>();

beforeAll(async () => {
  made = await synthAll({
    agent: configWith({ stage, execution: { a2a } }),
    // Without an address the signature has no effect.
    plain: configWith({ stage, execution: { a2a: { signature } } }),
  });
}, 200_000);

function execution(name: "agent" | "plain"): string {
  return made.get(name)?.stacks.get("Execution")?.text ?? "";
}

function times(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** Counts the queues that the policies of the zone allow to send to. */
function queuesSentTo(name: "agent" | "plain"): number {
  const policies = made.get(name)?.resources("AWS::IAM::Policy", "Execution") ?? [];
  const statements = policies.flatMap(({ properties }) => {
    const { Statement } = properties.PolicyDocument as { Statement: { Action: unknown; Resource: unknown }[] };
    return Statement.filter(({ Action }) => [Action].flat().includes("sqs:SendMessage"));
  });
  return statements.flatMap(({ Resource }) => Resource).length;
}

describe("an Execution zone that is an A2A agent", () => {
  it("may list a caller's tasks by the index that is for that, and by no other", () => {
    expect(execution("agent")).toContain("/index/by-principal");
    expect(times(execution("agent"), "dynamodb:Query")).toBe(1);
  });

  it("reads the key of its card", () => {
    expect(execution("agent")).toContain("secret:sekisho/dev/CARD_KEY-??????");
  });

  it("is called by the Verification zone and by the roles that are named, and by nobody else", () => {
    const permissions = made.get("agent")?.resources("AWS::Lambda::Permission", "Execution") ?? [];
    const principals = permissions.map(({ properties }) => properties.Principal);
    // Each account has two permissions. The function itself knows the roles.
    const accounts = [a, client.split(":")[4]];
    expect(principals.toSorted()).toEqual(accounts.flatMap((account) => [account, account]).toSorted());
    expect(execution("agent")).toContain(`"SEKISHO_CALLERS": "${verificationRole} ${client}"`);
  });

  it("lets its worker try notices again, through the queue of tasks", () => {
    expect(times(execution("agent"), "SEKISHO_QUEUE_URL")).toBe(2);
    // One more for the worker, and one more for the function behind the URL.
    expect(queuesSentTo("agent")).toBe(queuesSentTo("plain") + 2);
  });

  it("runs the agents of its clients by a queue and a concurrency of their own, beside those of Slack", () => {
    const ofWorker = made.get("agent")?.resources("AWS::Lambda::EventSourceMapping", "Execution") ?? [];
    expect(ofWorker).toHaveLength(2);
    expect(new Set(ofWorker.map(({ properties }) => JSON.stringify(properties.EventSourceArn))).size).toBe(2);
    for (const { properties } of ofWorker) expect(properties.ScalingConfig).toEqual({ MaximumConcurrency: 2 });
  });

  it("needs all of that only where its address is configured", () => {
    const text = execution("plain");
    for (const part of ["dynamodb:Query", "CARD_KEY-", client, "by-principal", "SEKISHO_CLIENTS_QUEUE_URL"])
      expect(text).not.toContain(part);
    expect(times(text, "SEKISHO_QUEUE_URL")).toBe(1);
  });
});
