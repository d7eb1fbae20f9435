import { describe, expect, it } from "@jest/globals";
import {
  destinationSecrets,
  permitDestinations,
} from "@sekisho/cdk/constructs/destination-permissions.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { App, Stack } from "aws-cdk-lib";
import { type PolicyStatement, Role } from "aws-cdk-lib/aws-iam";

type Json = Record<string, unknown>;

const far = { transport: "https", url: "https://far.example/" };

function configOf(destinations: Record<string, unknown>) {
  return parseConfig({ json: { destinations, routes: [] } });
}

/** Returns the statements for destinations elsewhere with these authorizers. */
function statementsFor(...authorizers: Json[]): Json[] {
  const destinations = authorizers.map(
    (authorizer, index) => [`d${index}`, { ...far, authorizer }] as const,
  );
  return listStatements(Object.fromEntries(destinations));
}

function listStatements(destinations: Record<string, unknown>): Json[] {
  const statements: Json[] = [];
  const addToPrincipalPolicy = (statement: PolicyStatement) => {
    statements.push(statement.toJSON());
    return { statementAdded: true };
  };
  const role = Role.fromRoleName(
    new Stack(new App({ analyticsReporting: false }), "Verification"),
    "Role",
    "caller",
  );
  permitDestinations(Object.assign(role, { addToPrincipalPolicy }), {
    config: configOf(destinations),
    entry: undefined,
  });
  return statements;
}

function tokensFor({
  audiences,
  algorithm = "RS256",
  seconds = 300,
}: {
  audiences: string | string[];
  algorithm?: string;
  seconds?: number;
}): Json {
  return {
    Effect: "Allow",
    Action: "sts:GetWebIdentityToken",
    Resource: "*",
    Condition: {
      "ForAllValues:StringEquals": { "sts:IdentityTokenAudience": audiences },
      Null: { "sts:IdentityTokenAudience": "false" },
      StringEquals: { "sts:SigningAlgorithm": algorithm },
      NumericLessThanEquals: { "sts:DurationSeconds": seconds },
    },
  };
}

const webIdentity = (more: Json) => ({ type: "web-identity", ...more });
const provider = "projects/123/locations/global/workloadIdentityPools/pool/providers/sekisho";
const google = {
  type: "google",
  workloadIdentityProvider: provider,
  serviceAccount: "caller@project.iam.gserviceaccount.com",
};
const azure = {
  type: "azure",
  tenantId: "7f3c1c1e-6a77-4c0b-9d6b-1d1f3a1c5b11",
  clientId: "0b8b1f39-8c53-4f5d-8a59-6a5d0d2a9c22",
  scope: "api://far/.default",
};

describe("the permission of the Verification role for AWS STS", () => {
  it("permits tokens for the audiences of all destinations in one statement, for every kind of exchange", () => {
    const audiences = [
      "https://far.example",
      `https://iam.googleapis.com/${provider}`,
      "api://AzureADTokenExchange",
    ];
    const authorizers = [webIdentity({ audience: "https://far.example" }), google, azure];
    expect(statementsFor(...authorizers, ...authorizers)).toEqual([tokensFor({ audiences })]);
  });

  it("permits tokens of another algorithm or lifetime only for the audiences that are configured for them", () => {
    const authorizers = [
      webIdentity({ audience: "a" }),
      webIdentity({ audience: "b", signingAlgorithm: "ES384" }),
      webIdentity({ audience: "c", durationSeconds: 3600 }),
    ];
    expect(statementsFor(...authorizers)).toEqual([
      tokensFor({ audiences: ["a"] }),
      tokensFor({ audiences: ["b"], algorithm: "ES384" }),
      tokensFor({ audiences: ["c"], seconds: 3600 }),
    ]);
  });

  it("permits the tags of the person who asked only if a token has them", () => {
    expect(statementsFor(webIdentity({ audience: "a", tags: true }))).toEqual([
      tokensFor({ audiences: ["a"] }),
      {
        ...{ Effect: "Allow", Action: "sts:TagGetWebIdentityToken", Resource: "*" },
        Condition: {
          "ForAllValues:StringEquals": {
            "aws:TagKeys": ["slack_team", "slack_user", "slack_enterprise"],
          },
        },
      },
    ]);
  });

  it("permits assuming the role that signs instead of its own, with the external id if there is one", () => {
    const sigv4 = { type: "sigv4", service: "execute-api", region: "eu-central-1" };
    const [one, other] = ["one", "other"].map((name) => `arn:aws:iam::222222222222:role/${name}`);
    const authorizers = [
      { ...sigv4, assumeRoleArn: one },
      { ...sigv4, assumeRoleArn: other, externalId: "sekisho" },
    ];
    const assume = (Resource: unknown) => ({ Effect: "Allow", Action: "sts:AssumeRole", Resource });
    const StringEquals = { "sts:ExternalId": "sekisho" };
    expect(statementsFor(...authorizers)).toEqual([
      assume(one),
      { ...assume(other), Condition: { StringEquals } },
    ]);
  });

  it("permits no AWS STS action if no destination needs it", () => {
    expect(statementsFor({ type: "bearer", token: { env: "TOKEN" } })).toEqual([]);
    expect(
      listStatements({ own: { transport: "https", authorizer: webIdentity({ audience: "a" }) } }),
    ).toEqual([]);
  });
});

describe("an A2A agent", () => {
  const card = "https://far.example/.well-known/agent-card.json";
  const sigv4 = (service: string) => ({ type: "sigv4", service, region: "eu-central-1" });
  const functionArn = "arn:aws:lambda:eu-central-1:222222222222:function:host";
  const api = (id: string) => `https://${id}.execute-api.eu-central-1.amazonaws.com/`;

  it.each([
    ["a function", { ...sigv4("lambda"), functionArn }],
    ["an API", sigv4("execute-api")],
    [
      "a role of another account",
      { ...sigv4("lambda"), assumeRoleArn: "arn:aws:iam::222222222222:role/agents" },
    ],
    ["a token", webIdentity({ audience: "agents" })],
    ["an exchanged token", google],
    ["no AWS authorization", { type: "bearer", token: { env: "TOKEN" } }],
  ])("gives an A2A agent the permissions of an HTTPS endpoint: %s", (what, authorizer) => {
    const asHttps = listStatements({ far: { ...far, authorizer } });
    for (const addresses of [{ card }, { card, url: far.url }]) {
      expect(listStatements({ far: { transport: "a2a", ...addresses, authorizer } })).toEqual(
        asHttps,
      );
    }
    expect(asHttps.length > 0).toBe(what !== "no AWS authorization");
  });

  it("permits both APIs if the card of an agent and its messages have different addresses", () => {
    const agent = {
      transport: "a2a",
      card: api("cards"),
      url: api("agents"),
      authorizer: sigv4("execute-api"),
    };
    const [statement, ...others] = listStatements({ agent });
    expect(others).toEqual([]);
    const resources = JSON.stringify(statement?.Resource);
    for (const id of ["cards", "agents"])
      expect(resources).toContain(`:execute-api:eu-central-1:*:${id}/*`);
  });

  it("permits nothing for an A2A agent of the local run", () => {
    expect(
      listStatements({ own: { transport: "a2a", authorizer: webIdentity({ audience: "a" }) } }),
    ).toEqual([]);
  });
});

describe("a runtime of AgentCore", () => {
  const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:222222222222:runtime/agent-1";
  const action = (name: string) => `bedrock-agentcore:${name}`;

  it.each<[Json, string | string[]]>([
    [{}, action("InvokeAgentRuntime")],
    [{ protocol: "a2a" }, [action("InvokeAgentRuntime"), action("GetAgentCard")]],
    [
      { protocol: "a2a", stopAfterResult: true },
      ["InvokeAgentRuntime", "StopRuntimeSession", "GetAgentCard"].map(action),
    ],
  ])("permits reading the card only of a runtime that speaks A2A: %j", (fields, actions) => {
    expect(listStatements({ far: { transport: "agentcore", runtimeArn, ...fields } })).toEqual([
      {
        Effect: "Allow",
        Action: actions,
        Resource: [runtimeArn, `${runtimeArn}/runtime-endpoint/DEFAULT`],
      },
    ]);
  });
});

describe("the secret permissions of the worker", () => {
  const secret = (secretsManager: string) => ({ secretsManager });

  it("lets a worker read the secrets of other addresses, not those of its own Execution zone", () => {
    const bearer = (name: string) => ({ type: "bearer", token: secret(name) });
    const destinations = {
      own: { transport: "https", authorizer: bearer("own-token") },
      far: { ...far, authorizer: bearer("far-token") },
      "own-agent": { transport: "a2a", authorizer: bearer("own-agent-token") },
      agent: { transport: "a2a", card: far.url, authorizer: bearer("agent-token") },
    };
    expect(destinationSecrets(configOf(destinations))).toEqual(["far-token", "agent-token"]);
  });

  it("lets a worker read all secrets that an authorizer needs, and no others", () => {
    const oauth = {
      type: "oauth-client-credentials",
      tokenUrl: "https://login.example/token",
      clientId: "sekisho",
      clientSecret: secret("client-secret"),
    };
    const mtls = { type: "mtls", certificate: secret("certificate"), key: secret("key") };
    const authorizers = { oauth, mtls, pinned: { ...mtls, ca: secret("ca") }, google, azure };
    const destinations = Object.entries(authorizers).map(([name, authorizer]) => [
      name,
      { ...far, authorizer },
    ]);
    expect(destinationSecrets(configOf(Object.fromEntries(destinations)))).toEqual([
      "client-secret",
      ...["certificate", "key"],
      ...["certificate", "key", "ca"],
    ]);
  });
});
