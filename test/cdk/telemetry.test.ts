/** The permissions, secrets and layers of a stage that sends spans. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { App, Stack } from "aws-cdk-lib";
import { Role } from "aws-cdk-lib/aws-iam";
import { parseConfig } from "../../lambdas/shared/config/load.ts";
import { permitSpans } from "../../lib/cdk/constructs/permissions.ts";
import { a, configWith, type Resource, type Synthesized, synthAll } from "./synth.ts";

const region = "eu-central-1";
const layer = (account: string) => `arn:aws:lambda:${region}:${account}:layer:collector-arm64:3`;
const [here, there] = [layer("333333333333"), layer("444444444444")];
const headers = { "x-key": { env: "OTLP_KEY" } };
const collector = { type: "otlp", url: "https://collector.example/v1/traces", headers };

const configs = {
  xray: configWith({
    stage: { execution: { kind: "agentcore" } },
    telemetry: { traces: { exporter: { type: "xray" }, sampleRatio: 0.1 } },
  }),
  collector: configWith({
    stage: {
      verification: { account: a, region, telemetryLayer: here },
      execution: { kind: "lambda", telemetryLayer: there },
    },
    telemetry: { traces: { exporter: collector } },
  }),
};

let made: Map<keyof typeof configs, Synthesized>;
beforeAll(async () => {
  made = await synthAll(configs);
}, 200_000);

function resourcesOf(name: keyof typeof configs, type: string): Resource[] {
  return made.get(name)?.resources(type) ?? [];
}

function policiesWith(name: keyof typeof configs, word: string): Resource[] {
  const policies = resourcesOf(name, "AWS::IAM::Policy");
  return policies.filter(({ properties }) => JSON.stringify(properties).includes(word));
}

describe("who sends spans", () => {
  it("may tell X-Ray: the roles of the worker, the handler of dead letters and the runtime, not the ingress", () => {
    expect(policiesWith("xray", "xray:PutSpans")).toHaveLength(3);
  });

  it("may read a collector's secrets: the roles of both workers, the handler of dead letters and the function behind the URL", () => {
    expect(policiesWith("collector", "sekisho/dev/OTLP_KEY")).toHaveLength(4);
  });

  it("has the collector of its zone's layer beside it, which tells X-Ray in its name", () => {
    const functions = resourcesOf("collector", "AWS::Lambda::Function");
    expect(functions.flatMap(({ properties }) => properties.Layers ?? []).sort()).toEqual([here, here, there, there]);
    const ingress = functions.find(({ id }) => id.startsWith("Ingress"));
    expect(ingress?.properties).not.toHaveProperty("Layers");
    expect(policiesWith("collector", "xray:PutTraceSegments")).toHaveLength(4);
  });

  it("may do nothing more where no spans are sent", () => {
    const stack = new Stack(new App({ analyticsReporting: false }), "Zone");
    const added: unknown[] = [];
    const role = Object.assign(Role.fromRoleName(stack, "Role", "caller"), {
      addToPrincipalPolicy: (statement: unknown) => ({ statementAdded: added.push(statement) > 0 }),
    });
    const configOf = (telemetry: object) => parseConfig({ json: { telemetry } });
    permitSpans(role, { config: configOf({}) });
    permitSpans(role, { config: configOf({ traces: { exporter: { type: "otlp" } } }) });
    expect(added).toEqual([]);
    permitSpans(role, { config: configOf({ traces: { exporter: { type: "xray" } } }) });
    expect(added).toHaveLength(1);
  });
});

describe("the ingress", () => {
  it("is told which share of traces is kept, and it alone", () => {
    const told = resourcesOf("xray", "AWS::Lambda::Function").flatMap(({ id, properties }) => {
      const { Variables } = properties.Environment as { Variables: Record<string, string> };
      return Variables.SEKISHO_TRACE_RATIO === undefined ? [] : [[id.slice(0, 7), Variables.SEKISHO_TRACE_RATIO]];
    });
    expect(told).toEqual([["Ingress", "0.1"]]);
  });
});
