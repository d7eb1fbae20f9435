import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type SlackStandIn, startSlackStandIn } from "../../../bin/local/slack-stand-in.ts";
import { createReadManagedSecret } from "../../../lambdas/shared/aws/secrets-manager.ts";
import { readAwsEnvironment } from "../../../lambdas/shared/config/aws-environment.ts";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { createStageTokens } from "../../../lambdas/verification/installations/stage-tokens.ts";
import { createOauthHandler } from "../../../lambdas/verification/oauth/lambda.ts";
import { createSlackApi } from "../../../lambdas/verification/slack/web-api.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";

const install = { clientId: "12.34", clientSecret: "0123456789abcdef0123456789abcdef" };
const prefix = "sekisho/dev/installations/";
const environment = { ...process.env };
let standIn: SlackStandIn;
let aws: AwsServices;

beforeEach(async () => {
  standIn = await startSlackStandIn({ signingSecret: "s", botToken: "xoxb-by-hand", install });
  aws = await startAwsServices({ account: "111111111111" });
  aws.secrets.all.set("sekisho/dev/SLACK_CLIENT_SECRET", { value: install.clientSecret });
  aws.secrets.all.set("sekisho/dev/SLACK_BOT_TOKEN", { value: "xoxb-by-hand" });
  Object.assign(process.env, aws.env, {
    AWS_REGION: "eu-central-1",
    SEKISHO_CLIENT_ID: install.clientId,
    SEKISHO_CLIENT_SECRET: "sekisho/dev/SLACK_CLIENT_SECRET",
    SEKISHO_INSTALLATIONS_PREFIX: prefix,
    SEKISHO_SLACK_API_URL: standIn.apiUrl,
    SEKISHO_LOG_LEVEL: "error",
  });
});
afterEach(async () => {
  process.env = { ...environment };
  await standIn.close();
  await aws.close();
});

function event(path: string, { query = "", cookies = [] as string[] } = {}) {
  return { rawPath: path, rawQueryString: query, cookies, requestContext: { http: { method: "GET" } } };
}

async function installIn(
  handler: ReturnType<typeof createOauthHandler>,
  place: { team: string } | { enterprise: string },
) {
  const begun = await handler(event("/slack/install"));
  const state = new URL(begun.headers.location ?? "").searchParams.get("state") ?? "";
  const query = String(new URLSearchParams({ state, code: standIn.authorize(place).code }));
  const cookies = begun.cookies.map((line) => line.split(";")[0] ?? "");
  return handler(event("/slack/oauth_redirect", { query, cookies }));
}

describe("the installation flow on Lambda", () => {
  it("asks for the manifest's scopes, stores the token, and the client posts with it, there and nowhere else", async () => {
    const config = parseConfig({ json: { slack: { reactions: false } } });
    const handler = createOauthHandler({ config });
    const begun = await handler(event("/slack/install"));
    const scope = new URL(begun.headers.location ?? "").searchParams.get("scope")?.split(",");
    expect(scope).toContain("app_mentions:read");
    expect(scope).not.toContain("reactions:write");

    for (const place of [{ team: "TSECOND" }, { enterprise: "ESTANDIN" }]) {
      expect(await installIn(handler, place)).toMatchObject({ statusCode: 200 });
    }
    expect([...aws.secrets.all.keys()].filter((name) => name.startsWith(prefix)).sort()).toEqual([
      `${prefix}ESTANDIN`,
      `${prefix}TSECOND`,
    ]);

    const surroundings = readAwsEnvironment();
    const slack = createSlackApi({
      tokens: createStageTokens({
        slack: { botToken: { secretsManager: "sekisho/dev/SLACK_BOT_TOKEN" } },
        aws: surroundings,
        readManagedSecret: createReadManagedSecret(surroundings),
        installationsPrefix: prefix,
        apiUrl: standIn.apiUrl,
      }),
      apiUrl: standIn.apiUrl,
      log: silentLog,
    });
    const person = (installation: { team: string; enterprise?: string }, user: string) =>
      slack.person({ installation, user, requestId: "r", signal: AbortSignal.timeout(10_000) });
    expect(await person({ team: "TSECOND" }, "UOUTSIDER")).toEqual({ locale: "en-GB" });
    expect(await person({ team: "TGRIDTWO", enterprise: "ESTANDIN" }, "UGRID")).toHaveProperty("locale");
    expect(await person({ team: "TSTANDIN" }, "UPERSON")).toEqual({ locale: "en-US" });
    await expect(person({ team: "TELSEWHERE" }, "UPERSON")).rejects.toMatchObject({ kind: "gone" });

    standIn.uninstall({ team: "TSECOND" });
    await expect(person({ team: "TSECOND" }, "UOUTSIDER")).rejects.toMatchObject({
      kind: "gone",
      slackError: "account_inactive",
    });
    await installIn(handler, { team: "TSECOND" });
    expect(await person({ team: "TSECOND" }, "UOUTSIDER")).toEqual({ locale: "en-GB" });
  });
});
