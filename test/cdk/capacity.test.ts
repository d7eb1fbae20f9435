/** The concurrency of the templates: by default it fits into an account that allows ten invocations. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { configWith, type Resource, type Synthesized, synthAll } from "./synth.ts";

const far = { transport: "https", url: "https://far.example/", authorizer: { type: "bearer", token: { env: "FAR" } } };
const external = { destinations: { far }, routes: [{ destination: "far" }] };
const install = { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } };
const given = { workerConcurrency: 8, eventsPerSecond: 120, eventBurst: 400, reservedIngress: 30 };
const configs = {
  agentcore: configWith({ stage: {} }),
  lambda: configWith({ stage: { execution: { kind: "lambda" } } }),
  external: configWith({ stage: { execution: { kind: "external" } }, ...external, slack: { install } }),
  scaled: configWith({ stage: { execution: { kind: "lambda" }, scale: { ...given, agentConcurrency: 24 } } }),
};
type Name = keyof typeof configs;
let made = new Map<Name, Synthesized>();

beforeAll(async () => {
  made = await synthAll(configs);
}, 200_000);

function resourcesOf(name: Name, type: string): Resource[] {
  const all = [...(made.get(name)?.stacks.values() ?? [])].flatMap(({ resources }) => resources);
  return all.filter((resource) => resource.type === type);
}

/** Returns the concurrent invocations of all event sources of the stage together. */
function sourcesOf(name: Name): number[] {
  const sources = resourcesOf(name, "AWS::Lambda::EventSourceMapping");
  return sources.map(({ properties }) => Number(having(properties, "MaximumConcurrency")));
}

function having({ ScalingConfig }: Record<string, unknown>, field: string): unknown {
  return (ScalingConfig as Record<string, unknown> | undefined)?.[field];
}

function reservedOf(name: Name): unknown[] {
  const functions = resourcesOf(name, "AWS::Lambda::Function");
  return functions.flatMap(({ id, properties }) =>
    properties.ReservedConcurrentExecutions === undefined
      ? []
      : [[id.replace(/[0-9A-F]{8}$/, ""), properties.ReservedConcurrentExecutions]],
  );
}

describe("by default, where the account allows ten invocations,", () => {
  it.each([
    ["external", 6],
    ["agentcore", 4],
    ["lambda", 2],
  ] as const)("%s leaves %i of them to what no queue feeds while all its queues are busy", (name, left) => {
    const most = sourcesOf(name).reduce((sum, one) => sum + one, 0);
    expect(10 - most).toBe(left);
  });

  it.each(["agentcore", "lambda", "external"] as const)(
    "%s reserves nothing, which such an account refuses",
    (name) => {
      expect(reservedOf(name)).toEqual([]);
    },
  );

  it("lambda sends no more tasks at once than its agents run", () => {
    const [worker] = resourcesOf("lambda", "AWS::Lambda::Function").filter(({ properties }) =>
      JSON.stringify(properties).includes("SEKISHO_EXECUTION_ADDRESS"),
    );
    expect(JSON.stringify(worker?.properties)).toContain('\\"sendsAtOnce\\":1');
  });
});

describe("the scale of a stage", () => {
  it("sets how many workers and agents run at once, and what only the ingress has", () => {
    expect(sourcesOf("scaled").sort((one, other) => one - other)).toEqual([2, 2, 8, 24]);
    expect(reservedOf("scaled")).toEqual([["Ingress", 30]]);
    expect(JSON.stringify(resourcesOf("scaled", "AWS::Lambda::Function"))).toContain('\\"sendsAtOnce\\":3');
  });

  it("sets how many requests of Slack are let through", () => {
    const limitOf = (name: Name) => resourcesOf(name, "AWS::ApiGatewayV2::Stage")[0]?.properties.DefaultRouteSettings;
    expect(limitOf("agentcore")).toEqual({ ThrottlingRateLimit: 50, ThrottlingBurstLimit: 200 });
    expect(limitOf("scaled")).toEqual({ ThrottlingRateLimit: 120, ThrottlingBurstLimit: 400 });
  });

  it("lets installations have a limit of their own, beside that of events", () => {
    const [stage] = resourcesOf("external", "AWS::ApiGatewayV2::Stage");
    const own = { ThrottlingRateLimit: 2, ThrottlingBurstLimit: 5 };
    expect(stage?.properties.RouteSettings).toEqual({ "GET /slack/install": own, "GET /slack/oauth_redirect": own });
    expect(resourcesOf("agentcore", "AWS::ApiGatewayV2::Stage")[0]?.properties.RouteSettings).toBeUndefined();
    // AWS refuses a stage that is created before its routes.
    const { Resources } = JSON.parse(made.get("external")?.stacks.get("Verification")?.text ?? "{}");
    const routes = resourcesOf("external", "AWS::ApiGatewayV2::Route").filter(({ properties }) =>
      String(properties.RouteKey).startsWith("GET "),
    );
    expect(routes).toHaveLength(2);
    expect(Resources[stage?.id ?? ""].DependsOn).toEqual(expect.arrayContaining(routes.map(({ id }) => id)));
  });
});
