/** The installation flow in the stacks, and what the ingress is told. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { a, configWith, type Resource, type Synthesized, synthAll } from "./synth.ts";

const far = {
  transport: "https",
  url: "https://far.example/",
  authorizer: { type: "bearer", token: { env: "FAR" } },
};

const plain = {
  stage: { execution: { kind: "external" } },
  destinations: { far },
  routes: [{ destination: "far" }],
};

const install = { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } };
const configs = {
  without: configWith(plain),
  with: configWith({ ...plain, slack: { install, context: { forwards: false } } }),
};
let apps = new Map<keyof typeof configs, Synthesized>();

beforeAll(async () => {
  apps = await synthAll(configs);
});

function resources(name: keyof typeof configs): Resource[] {
  return apps.get(name)?.stacks.get("Verification")?.resources ?? [];
}

type Statement = { Action: string | string[]; Resource: unknown };

/** Returns the permissions on secrets, with the policy of each. */
function secretPermissions(name: keyof typeof configs) {
  return resources(name)
    .filter(({ type }) => type === "AWS::IAM::Policy")
    .flatMap(({ id, properties }) => {
      const { Statement } = properties.PolicyDocument as { Statement: Statement[] };
      return Statement.flatMap(({ Action, Resource }) =>
        [Action].flat().flatMap((action) => {
          const [service, operation] = action.split(":");
          const secrets = JSON.stringify(Resource).match(/secret:[^"]*/g) ?? [];
          return service === "secretsmanager" ? [{ id, operation, secrets }] : [];
        }),
      );
    });
}

it("tells the ingress to omit forwarded messages only if the configuration says so", () => {
  const toldOf = (name: keyof typeof configs) =>
    resources(name).flatMap(({ id, type, properties }) => {
      if (type !== "AWS::Lambda::Function" || !id.startsWith("Ingress")) return [];
      const { Variables } = properties.Environment as { Variables: Record<string, unknown> };
      return [Variables.SEKISHO_FORWARDS];
    });
  expect([toldOf("without"), toldOf("with")]).toEqual([[undefined], ["false"]]);
});

describe("the installation flow", () => {
  it("creates no function, route or permission of the installation flow unless it is configured", () => {
    expect(resources("without").length).toBeGreaterThan(20);
    const text = JSON.stringify(resources("without"));
    expect(text).not.toMatch(/InstallFlow|installations|\/slack\/install|CreateSecret/);
  });

  it("lets the installation flow only read the client secret and create, write and restore installations", () => {
    const ofFlow = secretPermissions("with").filter(({ id }) => id.startsWith("InstallFlow"));
    expect(ofFlow).toEqual([
      {
        id: expect.any(String),
        operation: "GetSecretValue",
        secrets: ["secret:sekisho/dev/SLACK_CLIENT_SECRET-??????"],
      },
      {
        id: expect.any(String),
        operation: "CreateSecret",
        secrets: ["secret:sekisho/dev/installations/*"],
      },
      {
        id: expect.any(String),
        operation: "PutSecretValue",
        secrets: ["secret:sekisho/dev/installations/*"],
      },
      {
        id: expect.any(String),
        operation: "RestoreSecret",
        secrets: ["secret:sekisho/dev/installations/*"],
      },
    ]);
    const policies = resources("with").filter(
      ({ id, type }) => type === "AWS::IAM::Policy" && id.startsWith("Install"),
    );
    const services = new Set(
      JSON.stringify(policies)
        .match(/"([a-z]\w*):[A-Z]\w+"/g)
        ?.map((action) => action.split(":")[0]),
    );
    expect([...services].sort()).toEqual(['"dynamodb', '"kms', '"logs', '"secretsmanager']);
  });

  it("lets the installation flow only update the table, under keys of its own", () => {
    const statements = resources("with")
      .filter(({ id, type }) => type === "AWS::IAM::Policy" && id.startsWith("InstallFlow"))
      .flatMap(
        ({ properties }) => (properties.PolicyDocument as { Statement: Statement[] }).Statement,
      );
    const ofTable = statements.filter(({ Action }) =>
      [Action].flat().some((action) => action.startsWith("dynamodb:")),
    );
    expect(ofTable).toMatchObject([
      {
        Action: "dynamodb:UpdateItem",
        Condition: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["install#*"] } },
      },
    ]);
  });

  it("lets only the worker's role, and not the ingress, read installations", () => {
    const others = secretPermissions("with").filter(({ id }) => !id.startsWith("InstallFlow"));
    const ofInstallations = others.filter(({ secrets }) =>
      secrets.some((one) => one.includes("installations")),
    );
    expect(ofInstallations.map(({ operation }) => operation)).toEqual(["GetSecretValue"]);
    expect(ofInstallations.filter(({ id }) => id.startsWith("Ingress"))).toEqual([]);
  });

  it("lets the worker's role find out whether there is a bot token beside those of the installation flow", () => {
    const ofOthers = (name: keyof typeof configs) =>
      secretPermissions(name)
        .filter(({ id }) => !id.startsWith("InstallFlow"))
        .flatMap(({ secrets }) => secrets);
    expect(ofOthers("with")).toContain("secret:sekisho/dev/SLACK_BOT_TOKEN");
    expect(ofOthers("with")).toContain("secret:sekisho/dev/SLACK_BOT_TOKEN-??????");
    expect(ofOthers("without")).not.toContain("secret:sekisho/dev/SLACK_BOT_TOKEN");
  });

  it("passes only names of secrets to the installation flow, and the place of installations to the worker", () => {
    const functions = resources("with").filter(({ type }) => type === "AWS::Lambda::Function");
    const variables = functions.map(({ id, properties }) => {
      const { Variables } = properties.Environment as { Variables: Record<string, unknown> };
      return [id, Variables] as const;
    });
    const ofFlow = variables.find(([id]) => id.startsWith("InstallFlow"))?.[1];
    expect(ofFlow).toEqual({
      SEKISHO_CLIENT_ID: "12.34",
      SEKISHO_CLIENT_SECRET: "sekisho/dev/SLACK_CLIENT_SECRET",
      SEKISHO_INSTALLATIONS_PREFIX: "sekisho/dev/installations/",
      SEKISHO_LOG_DEBUG_RATIO: "0",
      SEKISHO_LOG_LEVEL: "info",
      SEKISHO_SLACK_API_URL: "https://slack.com/api/",
      SEKISHO_TABLE: expect.anything(),
    });
    const functionIds = variables
      .filter(([, one]) => one.SEKISHO_INSTALLATIONS_PREFIX !== undefined)
      .map(([id]) => id);
    expect(functionIds.map((id) => id.replace(/[0-9A-F]{8}$/, "")).sort()).toEqual([
      "InstallFlow",
      "Worker",
    ]);
  });
});

const stage = { execution: { kind: "lambda" } };
const client = "arn:aws:iam::333333333333:role/a-client";
const verificationRole = `arn:aws:iam::${a}:role/sekisho-dev-verification`;
const signature = { key: { env: "CARD_KEY" }, keyId: "2026-1" };
const a2a = { url: "https://agents.example/", callers: [client], signature };
let withA2a = new Map<"agent" | "plain", Synthesized>();

beforeAll(async () => {
  withA2a = await synthAll({
    agent: configWith({ stage, execution: { a2a } }),
    // Without an address the signature has no effect.
    plain: configWith({ stage, execution: { a2a: { signature } } }),
  });
});

function execution(name: "agent" | "plain"): string {
  return withA2a.get(name)?.stacks.get("Execution")?.text ?? "";
}

function times(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** Counts the queues that the policies of the zone allow to send to. */
function queuesSentTo(name: "agent" | "plain"): number {
  const policies = withA2a.get(name)?.resources("AWS::IAM::Policy", "Execution") ?? [];
  const statements = policies.flatMap(({ properties }) => {
    const { Statement } = properties.PolicyDocument as {
      Statement: { Action: unknown; Resource: unknown }[];
    };
    return Statement.filter(({ Action }) => [Action].flat().includes("sqs:SendMessage"));
  });
  return statements.flatMap(({ Resource }) => Resource).length;
}

describe("an Execution zone that is an A2A agent", () => {
  it("lets the Execution zone of an A2A agent list tasks by the index for callers only", () => {
    expect(execution("agent")).toContain("/index/by-principal");
    expect(times(execution("agent"), "dynamodb:Query")).toBe(1);
  });

  it("lets the Execution zone of an A2A agent read the key of its card", () => {
    expect(execution("agent")).toContain("secret:sekisho/dev/CARD_KEY-??????");
  });

  it("permits only the Verification zone and the configured roles to call the A2A agent", () => {
    const permissions =
      withA2a.get("agent")?.resources("AWS::Lambda::Permission", "Execution") ?? [];
    const principals = permissions.map(({ properties }) => properties.Principal);
    // Each account has two permissions. The function itself knows the roles.
    const accounts = [a, client.split(":")[4]];
    expect(principals.toSorted()).toEqual(
      accounts.flatMap((account) => [account, account]).toSorted(),
    );
    expect(execution("agent")).toContain(`"SEKISHO_CALLERS": "${verificationRole} ${client}"`);
  });

  it("lets the worker of an A2A agent retry notifications through the queue of tasks", () => {
    expect(times(execution("agent"), "SEKISHO_QUEUE_URL")).toBe(2);
    // One more for the worker, and one more for the function behind the URL.
    expect(queuesSentTo("agent")).toBe(queuesSentTo("plain") + 2);
  });

  it("runs tasks of A2A clients by their own queue and concurrency, beside those of Slack", () => {
    const ofWorker =
      withA2a.get("agent")?.resources("AWS::Lambda::EventSourceMapping", "Execution") ?? [];
    expect(ofWorker).toHaveLength(2);
    expect(
      new Set(ofWorker.map(({ properties }) => JSON.stringify(properties.EventSourceArn))).size,
    ).toBe(2);
    for (const { properties } of ofWorker)
      expect(properties.ScalingConfig).toEqual({ MaximumConcurrency: 2 });
  });

  it("adds the parts of an A2A agent only if its address is configured", () => {
    const text = execution("plain");
    for (const part of [
      "dynamodb:Query",
      "CARD_KEY-",
      client,
      "by-principal",
      "SEKISHO_CLIENTS_QUEUE_URL",
    ])
      expect(text).not.toContain(part);
    expect(times(text, "SEKISHO_QUEUE_URL")).toBe(1);
  });
});
