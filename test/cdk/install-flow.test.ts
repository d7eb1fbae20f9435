/** The installation flow in the stacks. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { configWith, type Resource, type Synthesized, synthAll } from "./synth.ts";

const far = { transport: "https", url: "https://far.example/", authorizer: { type: "bearer", token: { env: "FAR" } } };
const plain = {
  stage: { execution: { kind: "external" } },
  destinations: { far },
  routes: [{ destination: "far" }],
};
const install = { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } };
const configs = { without: configWith(plain), with: configWith({ ...plain, slack: { install } }) };
let made = new Map<keyof typeof configs, Synthesized>();

beforeAll(async () => {
  made = await synthAll(configs);
}, 200_000);

function resources(name: keyof typeof configs): Resource[] {
  return made.get(name)?.stacks.get("Verification")?.resources ?? [];
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

describe("the installation flow", () => {
  it("is not there where it is not configured: neither a function, nor a route, nor a permission", () => {
    expect(resources("without").length).toBeGreaterThan(20);
    const text = JSON.stringify(resources("without"));
    expect(text).not.toMatch(/InstallFlow|installations|\/slack\/install|CreateSecret/);
  });

  it("reads the client secret, creates and writes secrets of installations, and nothing else", () => {
    const ofFlow = secretPermissions("with").filter(({ id }) => id.startsWith("InstallFlow"));
    expect(ofFlow).toEqual([
      {
        id: expect.any(String),
        operation: "GetSecretValue",
        secrets: ["secret:sekisho/dev/SLACK_CLIENT_SECRET-??????"],
      },
      { id: expect.any(String), operation: "CreateSecret", secrets: ["secret:sekisho/dev/installations/*"] },
      { id: expect.any(String), operation: "PutSecretValue", secrets: ["secret:sekisho/dev/installations/*"] },
      { id: expect.any(String), operation: "RestoreSecret", secrets: ["secret:sekisho/dev/installations/*"] },
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

  it("writes to the table, under keys of its own, and reads nothing there", () => {
    const statements = resources("with")
      .filter(({ id, type }) => type === "AWS::IAM::Policy" && id.startsWith("InstallFlow"))
      .flatMap(({ properties }) => (properties.PolicyDocument as { Statement: Statement[] }).Statement);
    const ofTable = statements.filter(({ Action }) => [Action].flat().some((action) => action.startsWith("dynamodb:")));
    expect(ofTable).toMatchObject([
      {
        Action: "dynamodb:UpdateItem",
        Condition: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["install#*"] } },
      },
    ]);
  });

  it("leaves it to the worker's role to read installations, which writes none; the ingress sees none of it", () => {
    const others = secretPermissions("with").filter(({ id }) => !id.startsWith("InstallFlow"));
    const ofInstallations = others.filter(({ secrets }) => secrets.some((one) => one.includes("installations")));
    expect(ofInstallations.map(({ operation }) => operation)).toEqual(["GetSecretValue"]);
    expect(ofInstallations.filter(({ id }) => id.startsWith("Ingress"))).toEqual([]);
  });

  it("lets the worker's role hear that there is no bot token beside those of the flow", () => {
    const ofOthers = (name: keyof typeof configs) =>
      secretPermissions(name)
        .filter(({ id }) => !id.startsWith("InstallFlow"))
        .flatMap(({ secrets }) => secrets);
    expect(ofOthers("with")).toContain("secret:sekisho/dev/SLACK_BOT_TOKEN");
    expect(ofOthers("with")).toContain("secret:sekisho/dev/SLACK_BOT_TOKEN-??????");
    expect(ofOthers("without")).not.toContain("secret:sekisho/dev/SLACK_BOT_TOKEN");
  });

  it("is told names of secrets only, and the worker where installations are", () => {
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
    const told = variables.filter(([, one]) => one.SEKISHO_INSTALLATIONS_PREFIX !== undefined).map(([id]) => id);
    expect(told.map((id) => id.replace(/[0-9A-F]{8}$/, "")).sort()).toEqual(["InstallFlow", "Worker"]);
  });
});
