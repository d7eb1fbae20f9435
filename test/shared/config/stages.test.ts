/** The configuration of a stage: where its zones are, what its functions are given, and what it refuses. */
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import {
  executionPlaceOf,
  maxTaskMsOf,
  stageConfig,
  withExecutionAddress,
} from "../../../lambdas/shared/config/stage-config.ts";

const verification = { account: "111111111111", region: "eu-central-1" };
const applicationProfile = "arn:aws:bedrock:eu-central-1:111111111111:application-inference-profile/abc123";
const arn = "arn:aws:bedrock-agentcore:eu-central-1:222222222222:runtime/agent-abc123";

function configOf({ stage = {}, ...rest }: Record<string, unknown> & { stage?: Record<string, unknown> }) {
  return parseConfig({ json: { ...rest, stages: { dev: { verification, ...stage } } } });
}

describe("a stage", () => {
  it("executes where it verifies, unless it says otherwise", () => {
    const { dev } = configOf({}).stages;
    expect(dev && executionPlaceOf(dev)).toEqual(verification);
    const { dev: two } = configOf({ stage: { execution: { kind: "lambda", account: "222222222222" } } }).stages;
    expect(two && executionPlaceOf(two)).toEqual({ account: "222222222222", region: "eu-central-1" });
    const { dev: none } = configOf({ stage: { execution: { kind: "external" } }, routes: [] }).stages;
    expect(none && executionPlaceOf(none)).toBeUndefined();
  });

  it("gives tasks 14 minutes on lambda and an hour elsewhere, unless the file says otherwise", () => {
    const config = configOf({});
    expect(maxTaskMsOf({ config, kind: "lambda" })).toBe(14 * 60_000);
    expect(maxTaskMsOf({ config, kind: "agentcore" })).toBe(8 * 3600_000);
    expect(maxTaskMsOf({ config: configOf({ execution: { maxTaskMs: 5000 } }), kind: "lambda" })).toBe(5000);
  });

  it("turns every environment variable that is a secret into a secret of its own in Secrets Manager", () => {
    const authorizer = { type: "bearer", token: { env: "FAR_TOKEN" } };
    const destinations = {
      far: { transport: "https", url: "https://a.example/", authorizer },
      given: {
        transport: "https",
        url: "https://b.example/",
        authorizer: { type: "bearer", token: { secretsManager: "of-mine" } },
      },
    };
    const config = stageConfig({
      config: configOf({ destinations, routes: [{ destination: "far" }] }),
      stageName: "dev",
    });
    expect(config.slack.signingSecret).toEqual({ secretsManager: "sekisho/dev/SLACK_SIGNING_SECRET" });
    expect(config.slack.botToken).toEqual({ secretsManager: "sekisho/dev/SLACK_BOT_TOKEN" });
    expect(JSON.stringify(config.destinations.far)).toContain("sekisho/dev/FAR_TOKEN");
    expect(JSON.stringify(config.destinations.given)).toContain("of-mine");
    expect(JSON.stringify(config)).not.toContain('"env"');
    expect(parseConfig({ json: JSON.parse(JSON.stringify(config)) })).toEqual(config);
  });

  it.each([
    [
      "a runtime",
      { transport: "agentcore" as const, runtimeArn: arn, qualifier: "live", stopAfterResult: false },
      { transport: "agentcore", runtimeArn: arn, qualifier: "live", deadlineMs: 5000, idempotent: true },
    ],
    [
      "a Function URL",
      { transport: "https" as const, url: "https://x.lambda-url.eu-central-1.on.aws/", region: "eu-central-1" },
      { url: "https://x.lambda-url.eu-central-1.on.aws/", authorizer: { type: "sigv4", service: "lambda" } },
    ],
  ])("reaches its own Execution zone as %s, at every destination without an address", (_what, address, expected) => {
    const config = configOf({ destinations: { local: { transport: "https", deadlineMs: 5000 } } });
    const located = withExecutionAddress({ config, address });
    expect(located.destinations.local).toMatchObject(expected);
    expect(parseConfig({ json: JSON.parse(JSON.stringify(located)) })).toEqual(located);
  });

  it.each([
    ["a longer task than Lambda allows", { execution: { maxTaskMs: 900_000 }, stage: lambda() }, /14 minutes/],
    ["a route to a destination in the same process", { destinations: inProcess(), stage: lambda() }, /in-process/],
    ["a route to an Execution zone that is not deployed", { stage: { execution: { kind: "external" } } }, /no url/],
    [
      "the bot token for a task that waits in a queue",
      { destinations: { local: { transport: "https", forwardBotToken: true } }, stage: lambda() },
      /forwardBotToken/,
    ],
    [
      "a model on its own loopback address",
      { execution: { agent: { type: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1", model: "m" } } },
      /execution\.agent\.baseUrl: a loopback/,
    ],
    [
      "a model behind an application inference profile",
      { execution: { agent: { type: "bedrock", modelId: applicationProfile } } },
      /execution\.agent\.modelId: .*name the model or a system inference profile/,
    ],
    ["a lease that outlives a worker", limits({ leaseMs: 885_001, visibilityTimeoutMs: 890_000 }), /at most 885000/],
    ["to give up on a message after its first delivery", limits({ maxReceiveCount: 1 }), /maxReceiveCount: at least 2/],
    [
      "a signed call to a service for which it gives no permission",
      { destinations: { signed: signed({ service: "s3" }) }, routes: [] },
      /destinations\.signed\.authorizer\.service: no permission can be given for it; /,
    ],
    ["an API by a name of its own", { destinations: { signed: signed({}) }, routes: [] }, /signed\.url: no permission/],
    [
      "an API in another region than it signs for",
      { destinations: { signed: signed({ url: "https://abc123.execute-api.us-east-1.amazonaws.com/" }) }, routes: [] },
      /ID\.execute-api\.eu-west-1\.amazonaws\.com/,
    ],
    ["an account that is a number", { stage: { verification: { ...verification, account: 111111111111 } } }, /account/],
    ["a region that is none", { stage: { verification: { ...verification, region: "Frankfurt" } } }, /eu-central-1/],
  ])("refuses %s", (_what, json, problem) => {
    expect(() => configOf(json)).toThrow(problem);
  });

  it.each([
    ["a signed call to an API by its host", { url: "https://abc123.execute-api.eu-west-1.amazonaws.com/prod" }],
    ["a signed call to a function, whatever its host", { service: "lambda" }],
  ])("takes %s", (_what, changes) => {
    expect(() => configOf({ destinations: { signed: signed(changes) }, routes: [] })).not.toThrow();
  });

  it("leaves what AWS does not allow to a file without stages, and the agent to where it runs", () => {
    const limits = { leaseMs: 890_000, visibilityTimeoutMs: 900_000, maxReceiveCount: 1 };
    const execution = { agent: { type: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1", model: "m" } };
    const json = { limits, execution, destinations: { signed: signed({}) }, routes: [] };
    expect(() => parseConfig({ json })).not.toThrow();
    expect(() => configOf({ execution, routes: [], stage: { execution: { kind: "external" } } })).not.toThrow();
  });
});

function lambda() {
  return { execution: { kind: "lambda" } };
}

function inProcess() {
  return { local: { transport: "in-process" } };
}

function limits(limits: Record<string, number>) {
  return { limits };
}

function signed({ url = "https://api.example/", service = "execute-api" }: { url?: string; service?: string }) {
  return { transport: "https", url, authorizer: { type: "sigv4", service, region: "eu-west-1" } };
}
