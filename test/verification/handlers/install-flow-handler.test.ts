import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { type FakeSlack, startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { readAwsEnvironment } from "@sekisho/runtime/aws/environment.ts";
import { createReadManagedSecret } from "@sekisho/runtime/aws/secrets-manager.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import {
  createOauthHandler,
  createOauthHttpApi,
} from "@sekisho/verification/handlers/install-flow-handler.ts";
import { createFindTeam } from "@sekisho/verification/installations/find-team.ts";
import { createStageTokens } from "@sekisho/verification/installations/managed-installations.ts";
import { createSlackApi } from "@sekisho/verification/slack/api/web-api.ts";
import {
  type Emulator,
  emulatorAccess,
  startDynamoDbEmulator,
  whyNoDynamoDb,
} from "../../doubles/aws/emulators.ts";
import { createTaskTable } from "../../doubles/aws/emulators-resources.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { hangSignal } from "../../tooling/hang.ts";

const install = { clientId: "12.34", clientSecret: "0123456789abcdef0123456789abcdef" };
const prefix = "sekisho/dev/installations/";
const environment = { ...process.env };
let emulator: Emulator;
let client: DynamoDBClient;
let fakeSlack: FakeSlack;
let aws: AwsServices;

beforeAll(async () => {
  if (whyNoDynamoDb !== undefined) return;
  emulator = await startDynamoDbEmulator();
  client = new DynamoDBClient({ ...emulatorAccess, endpoint: emulator.endpoint });
});

afterAll(async () => {
  client?.destroy();
  await emulator?.close();
});

beforeEach(async () => {
  if (whyNoDynamoDb !== undefined) return;
  fakeSlack = await startFakeSlack({ signingSecret: "s", botToken: "xoxb-by-hand", install });
  aws = await startAwsServices({ account: "111111111111", dynamoUrl: emulator.endpoint });
  aws.secrets.all.set("sekisho/dev/SLACK_CLIENT_SECRET", { value: install.clientSecret });
  aws.secrets.all.set("sekisho/dev/SLACK_BOT_TOKEN", { value: "xoxb-by-hand" });
  Object.assign(process.env, aws.env, {
    AWS_REGION: "eu-central-1",
    SEKISHO_CLIENT_ID: install.clientId,
    SEKISHO_CLIENT_SECRET: "sekisho/dev/SLACK_CLIENT_SECRET",
    SEKISHO_INSTALLATIONS_PREFIX: prefix,
    SEKISHO_TABLE: await createTaskTable({ client }),
    SEKISHO_SLACK_API_URL: fakeSlack.apiUrl,
    SEKISHO_LOG_LEVEL: "error",
  });
});

afterEach(async () => {
  process.env = { ...environment };
  await fakeSlack?.close();
  await aws?.close();
});

function event(path: string, { query = "", cookies = [] as string[] } = {}) {
  return {
    rawPath: path,
    rawQueryString: query,
    cookies,
    requestContext: { http: { method: "GET" } },
  };
}

async function installIn(
  handler: ReturnType<typeof createOauthHandler>,
  place: { team: string } | { enterprise: string },
) {
  const answer = await handler(event("/slack/install"));
  const state = new URL(answer.headers.location ?? "").searchParams.get("state") ?? "";
  const query = String(new URLSearchParams({ state, code: fakeSlack.authorize(place).code }));
  const cookies = answer.cookies.map((line) => line.split(";")[0] ?? "");
  return handler(event("/slack/oauth_redirect", { query, cookies }));
}

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite(`the installation flow on Lambda${whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`}`, () => {
  it("uses a state only once across instances", async () => {
    const instances = [1, 2].map(() => createOauthHandler({ config: parseConfig({ json: {} }) }));
    const answer = await instances[0]?.(event("/slack/install"));
    const state = new URL(answer?.headers.location ?? "").searchParams.get("state") ?? "";
    const cookies = answer?.cookies.map((line) => line.split(";")[0] ?? "") ?? [];
    const statuses = [];
    for (const handler of instances) {
      const query = String(
        new URLSearchParams({ state, code: fakeSlack.authorize({ team: "TSECOND" }).code }),
      );
      statuses.push((await handler(event("/slack/oauth_redirect", { query, cookies }))).statusCode);
    }
    expect(statuses).toEqual([200, 400]);
    const writes = aws.calls
      .filter(({ action }) => action.startsWith("dynamodb:"))
      .map(({ action }) => action);
    expect(new Set(writes)).toEqual(new Set(["dynamodb:UpdateItem"]));
  });

  it("lets only the listed workspaces install", async () => {
    const { clientId } = install;
    const clientSecret = { secretsManager: "sekisho/dev/SLACK_CLIENT_SECRET" };
    const config = parseConfig({
      json: { slack: { install: { clientId, clientSecret, teams: ["TSTANDIN"] } } },
    });
    expect(await installIn(createOauthHandler({ config }), { team: "TSECOND" })).toMatchObject({
      statusCode: 403,
    });
    expect([...aws.secrets.all.keys()].filter((name) => name.startsWith(prefix))).toEqual([]);
  });

  it("requests the scopes of the manifest and stores a token that works only in its installation", async () => {
    const config = parseConfig({ json: { slack: { reactions: false } } });
    const handler = createOauthHandler({ config });
    const answer = await handler(event("/slack/install"));
    const scope = new URL(answer.headers.location ?? "").searchParams.get("scope")?.split(",");
    expect(scope).toContain("app_mentions:read");
    expect(scope).not.toContain("reactions:write");

    for (const place of [{ team: "TSECOND" }, { enterprise: "ESTANDIN" }]) {
      expect(await installIn(handler, place)).toMatchObject({ statusCode: 200 });
    }
    expect([...aws.secrets.all.keys()].filter((name) => name.startsWith(prefix)).sort()).toEqual([
      `${prefix}ESTANDIN`,
      `${prefix}TSECOND`,
    ]);

    const dependencies = readAwsEnvironment();
    const slack = createSlackApi({
      tokens: createStageTokens({
        slack: { botToken: { secretsManager: "sekisho/dev/SLACK_BOT_TOKEN" } },
        aws: dependencies,
        readManagedSecret: createReadManagedSecret(dependencies),
        installationsPrefix: prefix,
        teamOf: createFindTeam({ apiUrl: fakeSlack.apiUrl }),
      }),
      apiUrl: fakeSlack.apiUrl,
      log: silentLog,
    });
    const person = (installation: { team: string; enterprise?: string }, user: string) =>
      slack.person({ installation, user, requestId: "r", signal: hangSignal() });
    expect(await person({ team: "TSECOND" }, "UOUTSIDER")).toMatchObject({ locale: "en-GB" });
    expect(await person({ team: "TGRIDTWO", enterprise: "ESTANDIN" }, "UGRID")).toMatchObject({
      ...{ workspaces: ["TGRID", "TGRIDTWO"], organization: "ESTANDIN" },
    });
    expect(await person({ team: "TSTANDIN" }, "UPERSON")).toMatchObject({ locale: "en-US" });
    await expect(person({ team: "TELSEWHERE" }, "UPERSON")).rejects.toMatchObject({ kind: "gone" });

    fakeSlack.uninstall({ team: "TSECOND" });
    await expect(person({ team: "TSECOND" }, "UOUTSIDER")).rejects.toMatchObject({
      kind: "gone",
      slackError: "account_inactive",
    });
    await installIn(handler, { team: "TSECOND" });
    expect(await person({ team: "TSECOND" }, "UOUTSIDER")).toMatchObject({ locale: "en-GB" });
  });
});

const apiEvent = {
  version: "2.0",
  rawPath: "/slack/oauth_redirect",
  rawQueryString: "code=a%2Bb&state=c.d.e",
  cookies: ["first=1", "__Host-sekisho-install=abc"],
  headers: { host: "example.com", "accept-language": "ja", authorization: "Bearer of somebody" },
  requestContext: { http: { method: "GET" } },
};

function seeing() {
  const requests: Request[] = [];
  const handler = createOauthHttpApi({
    oauth: async (request) => {
      requests.push(request);
      const headers = new Headers({ location: "https://slack.com/", "content-type": "text/html" });
      headers.append("set-cookie", "a=1; Path=/");
      headers.append("set-cookie", "b=2; Path=/");
      return new Response("漢字", { status: 302, headers });
    },
  });
  return { requests, handler };
}

describe("the flow behind an HTTP API", () => {
  it("passes on only the path, the query, the cookies and the language", async () => {
    const { requests, handler } = seeing();
    await handler(apiEvent);
    const [request] = requests;
    const url = new URL(request?.url ?? "");
    expect([url.pathname, url.searchParams.get("code"), url.searchParams.get("state")]).toEqual([
      "/slack/oauth_redirect",
      "a+b",
      "c.d.e",
    ]);
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      cookie: "first=1; __Host-sekisho-install=abc",
      "accept-language": "ja",
    });
  });

  it("returns cookies separately from the other headers", async () => {
    expect(await seeing().handler(apiEvent)).toEqual({
      statusCode: 302,
      headers: { location: "https://slack.com/", "content-type": "text/html" },
      cookies: ["a=1; Path=/", "b=2; Path=/"],
      body: "漢字",
    });
  });

  it.each([
    ["an empty event", undefined],
    ["another event", { Records: [] }],
    ["an event without a method", { ...apiEvent, requestContext: {} }],
    ["an invalid method", { ...apiEvent, requestContext: { http: { method: "CON NECT" } } }],
  ])("answers %s with 400", async (_what, other) => {
    const { requests, handler } = seeing();
    expect((await handler(other)).statusCode).toBe(400);
    expect(requests).toEqual([]);
  });

  it("accepts a request without query, cookies and headers", async () => {
    const { requests, handler } = seeing();
    await handler({ rawPath: "/slack/install", requestContext: apiEvent.requestContext });
    expect(requests[0]?.url).toBe("http://localhost/slack/install");
  });
});
