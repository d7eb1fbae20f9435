/** The configuration of a stage: where its zones are, what its functions are given, and what it refuses. */
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import {
  createStageConfig,
  findExecutionTarget,
  resolveMaxTaskMs,
  withExecutionAddress,
} from "@sekisho/config/stage-config.ts";

const verification = { account: "111111111111", region: "eu-central-1" };
const arn = "arn:aws:bedrock-agentcore:eu-central-1:222222222222:runtime/agent-abc123";

function configOf({
  stage = {},
  ...otherKeys
}: Record<string, unknown> & { stage?: Record<string, unknown> }) {
  return parseConfig({ json: { ...otherKeys, stages: { dev: { verification, ...stage } } } });
}

const functionArn = "arn:aws:lambda:eu-central-1:222222222222:function:url";
const functionThere = "arn:aws:lambda:eu-west-1:333333333333:function:host:live";

describe("a stage", () => {
  it("executes in the account and region of the Verification zone by default", () => {
    const { dev } = configOf({}).stages;
    expect(dev && findExecutionTarget(dev)).toEqual(verification);
    const { dev: two } = configOf({
      stage: { execution: { kind: "lambda", account: "222222222222" } },
    }).stages;
    expect(two && findExecutionTarget(two)).toEqual({
      account: "222222222222",
      region: "eu-central-1",
    });
    const { dev: none } = configOf({
      stage: { execution: { kind: "external" } },
      routes: [],
    }).stages;
    expect(none && findExecutionTarget(none)).toBeUndefined();
  });

  it("limits tasks to 14 minutes on lambda and to eight hours elsewhere by default", () => {
    const config = configOf({});
    expect(resolveMaxTaskMs({ config, kind: "lambda" })).toBe(14 * 60_000);
    expect(resolveMaxTaskMs({ config, kind: "agentcore" })).toBe(8 * 3600_000);
    expect(
      resolveMaxTaskMs({ config: configOf({ execution: { maxTaskMs: 5000 } }), kind: "lambda" }),
    ).toBe(5000);
  });

  it("ends AgentCore sessions after two idle minutes and after eight hours by default", () => {
    const { dev } = configOf({}).stages;
    expect(dev?.execution).toMatchObject({
      kind: "agentcore",
      idleSeconds: 120,
      maxLifetimeSeconds: 28_800,
    });
    const other = { idleSeconds: 900, maxLifetimeSeconds: 18_000 };
    expect(configOf({ stage: agentcore(other) }).stages.dev?.execution).toMatchObject(other);
  });

  it("allows a destination elsewhere a deadline beyond the session lifetime of the stage", () => {
    const far = { transport: "agentcore", runtimeArn: arn, deadlineMs: 8 * 3600_000 };
    expect(() =>
      configOf({ destinations: { far }, routes: [{ destination: "far" }] }),
    ).not.toThrow();
  });

  it("maps every secret in an environment variable to a secret of its own in Secrets Manager", () => {
    const authorizer = { type: "bearer", token: { env: "FAR_TOKEN" } };
    const destinations = {
      far: { transport: "https", url: "https://a.example/", authorizer },
      given: {
        transport: "https",
        url: "https://b.example/",
        authorizer: { type: "bearer", token: { secretsManager: "of-mine" } },
      },
    };
    const config = createStageConfig({
      config: configOf({ destinations, routes: [{ destination: "far" }] }),
      stageName: "dev",
    });
    expect(config.slack.signingSecret).toEqual({
      secretsManager: "sekisho/dev/SLACK_SIGNING_SECRET",
    });
    expect(config.slack.botToken).toEqual({ secretsManager: "sekisho/dev/SLACK_BOT_TOKEN" });
    expect(JSON.stringify(config.destinations.far)).toContain("sekisho/dev/FAR_TOKEN");
    expect(JSON.stringify(config.destinations.given)).toContain("of-mine");
    expect(JSON.stringify(config)).not.toContain('"env"');
    expect(parseConfig({ json: JSON.parse(JSON.stringify(config)) })).toEqual(config);
  });

  it.each([
    [
      "a runtime",
      {
        transport: "agentcore" as const,
        runtimeArn: arn,
        qualifier: "live",
        stopAfterResult: false,
        idleSeconds: 120,
      },
      {
        transport: "agentcore",
        runtimeArn: arn,
        qualifier: "live",
        deadlineMs: 5000,
        idempotent: true,
        idleSeconds: 120,
      },
    ],
    [
      "a Function URL",
      {
        transport: "https" as const,
        url: "https://x.lambda-url.eu-central-1.on.aws/",
        region: "eu-central-1",
        functionArn,
      },
      {
        url: "https://x.lambda-url.eu-central-1.on.aws/",
        authorizer: { type: "sigv4", service: "lambda", functionArn },
      },
    ],
  ])(
    "reaches its own Execution zone as %s, at every destination without an address",
    (_what, address, destination) => {
      const config = configOf({
        destinations: { local: { transport: "https", deadlineMs: 5000 } },
      });
      const locatedConfig = withExecutionAddress({ config, address });
      expect(locatedConfig.destinations.local).toMatchObject(destination);
      expect(parseConfig({ json: JSON.parse(JSON.stringify(locatedConfig)) })).toEqual(
        locatedConfig,
      );
    },
  );

  it("limits concurrent sends to its own zone on lambda to the number in the address by default", () => {
    const url = "https://x.lambda-url.eu-central-1.on.aws/";
    const functionArn = "arn:aws:lambda:eu-central-1:222222222222:function:url";
    const address = {
      transport: "https",
      url,
      region: "eu-central-1",
      functionArn,
      sendsAtOnce: 3,
    } as const;
    const destinations = {
      local: { transport: "https" },
      wide: { transport: "https", sendsAtOnce: 9 },
    };
    const config = withExecutionAddress({ config: configOf({ destinations }), address });
    expect(config.destinations.local?.sendsAtOnce).toBe(3);
    expect(config.destinations.wide?.sendsAtOnce).toBe(9);
  });

  it.each([
    [
      "a longer task than Lambda allows",
      { execution: { maxTaskMs: 900_000 }, stage: lambda() },
      /14 minutes/,
    ],
    [
      "a deadline beyond the life of a session",
      {
        destinations: { local: { transport: "https", deadlineMs: 8 * 3600_000 } },
        stage: agentcore(),
      },
      /destinations\.local\.deadlineMs: must be at most 28680000/,
    ],
    [
      "a deadline beyond the shortened life of a session",
      { stage: agentcore({ maxLifetimeSeconds: 3600 }) },
      /destinations\.local\.deadlineMs: must be at most 3480000 .*maxLifetimeSeconds/,
    ],
    [
      "a longer task than a session lives",
      { execution: { maxTaskMs: 8 * 3600_000 }, stage: agentcore() },
      /execution\.maxTaskMs: must be at most 28680000/,
    ],
    [
      "sessions that idle for longer than they live",
      { stage: agentcore({ idleSeconds: 1801, maxLifetimeSeconds: 1800 }) },
      /stages\.dev\.execution\.idleSeconds: must be at most maxLifetimeSeconds/,
    ],
    [
      "sessions that idle for less than a minute",
      { stage: agentcore({ idleSeconds: 59 }) },
      /idleSeconds/,
    ],
    [
      "fewer invocations than an event source may have",
      scale({ workerConcurrency: 1 }),
      /scale\.workerConcurrency/,
    ],
    [
      "a burst below the rate",
      scale({ eventsPerSecond: 300 }),
      /scale\.eventBurst: must be at least eventsPerSecond/,
    ],
    [
      "a number of concurrent agents without agents on Lambda",
      scale({ agentConcurrency: 4 }),
      /scale\.agentConcurrency: .*the kind of dev is agentcore/,
    ],
    [
      "a route to a destination in the same process",
      { destinations: inProcess(), stage: lambda() },
      /in-process/,
    ],
    [
      "a route to an Execution zone that is not deployed",
      { stage: { execution: { kind: "external" } } },
      /no url/,
    ],
    [
      "the bot token for a task that waits in a queue",
      { destinations: { local: { transport: "https", forwardBotToken: true } }, stage: lambda() },
      /forwardBotToken/,
    ],
    [
      "a model on its own loopback address",
      {
        execution: {
          agent: { type: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1", model: "m" },
        },
      },
      /execution\.agent\.baseUrl: .*loopback/,
    ],
    [
      "a lease that outlives a worker",
      limits({ leaseMs: 885_001, visibilityTimeoutMs: 890_000 }),
      /at most 885000/,
    ],
    [
      "a limit of one delivery per message",
      limits({ maxReceiveCount: 1 }),
      /maxReceiveCount: must be at least 2/,
    ],
    [
      "a signed call to a service without a permission in the stage",
      { destinations: { signed: createSignedDestination({ service: "s3" }) }, routes: [] },
      /destinations\.signed\.authorizer\.service: must be "lambda" or "execute-api"/,
    ],
    [
      "a signed call to a function that is not named",
      { destinations: { signed: createSignedDestination({ service: "lambda" }) }, routes: [] },
      /destinations\.signed\.authorizer\.functionArn: is missing/,
    ],
    [
      "an API behind a custom domain name",
      { destinations: { signed: createSignedDestination({}) }, routes: [] },
      /signed\.url: must have the API's own host/,
    ],
    [
      "an API in another region than the signature's",
      {
        destinations: {
          signed: createSignedDestination({
            url: "https://abc123.execute-api.us-east-1.amazonaws.com/",
          }),
        },
        routes: [],
      },
      /ID\.execute-api\.eu-west-1\.amazonaws\.com/,
    ],
    [
      "an account id given as a number",
      { stage: { verification: { ...verification, account: 111111111111 } } },
      /account/,
    ],
    [
      "an unknown region",
      { stage: { verification: { ...verification, region: "Frankfurt" } } },
      /eu-central-1/,
    ],
  ])("refuses %s", (_what, json, problem) => {
    expect(() => configOf(json)).toThrow(problem);
  });

  it.each([
    ["the longest task of Lambda", { execution: { maxTaskMs: 840_000 }, stage: lambda() }],
    [
      "the longest task of a session",
      {
        execution: { maxTaskMs: 28_680_000 },
        destinations: { local: { transport: "https", deadlineMs: 28_680_000 } },
        stage: agentcore(),
      },
    ],
    [
      "sessions that idle for their whole life",
      {
        destinations: { local: { transport: "https", deadlineMs: 60_000 } },
        stage: agentcore({ idleSeconds: 1800, maxLifetimeSeconds: 1800 }),
      },
    ],
    ["a burst that equals the rate", scale({ eventsPerSecond: 300, eventBurst: 300 })],
    ["two deliveries of a message", limits({ maxReceiveCount: 2 })],
    ["the longest lease of a worker", limits({ leaseMs: 885_000, visibilityTimeoutMs: 890_000 })],
    ...[
      [
        "a signed call to an API by its host",
        { url: "https://abc123.execute-api.eu-west-1.amazonaws.com/prod" },
      ] as const,
      [
        "a signed call to a function that is named, whatever its host",
        { service: "lambda", functionArn: functionThere },
      ] as const,
    ].map(
      ([what, changes]) =>
        [what, { destinations: { signed: createSignedDestination(changes) }, routes: [] }] as const,
    ),
  ])("accepts %s", (_what, json) => {
    expect(() => configOf(json)).not.toThrow();
  });

  it("applies limits of AWS only to files with stages, and checks the agent only where it runs", () => {
    const limits = { leaseMs: 890_000, visibilityTimeoutMs: 900_000, maxReceiveCount: 1 };
    const execution = {
      agent: { type: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1", model: "m" },
    };
    const json = {
      limits,
      execution,
      destinations: { signed: createSignedDestination({}) },
      routes: [],
    };
    expect(() => parseConfig({ json })).not.toThrow();
    expect(() =>
      configOf({ execution, routes: [], stage: { execution: { kind: "external" } } }),
    ).not.toThrow();
  });
});

function agentcore(execution = {}) {
  return { execution: { kind: "agentcore", ...execution } };
}

function scale(values: Record<string, number>) {
  return { stage: { scale: values } };
}

function lambda() {
  return { execution: { kind: "lambda" } };
}

function inProcess() {
  return { local: { transport: "in-process" } };
}

function limits(limits: Record<string, number>) {
  return { limits };
}

function createSignedDestination({
  url = "https://api.example/",
  service = "execute-api",
  ...more
}: Record<string, string>) {
  return {
    transport: "https",
    url,
    authorizer: { type: "sigv4", service, region: "eu-west-1", ...more },
  };
}
