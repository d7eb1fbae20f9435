import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { askHidden } from "@sekisho/sekisho/aws/secret-values.ts";
import { listStageSecrets } from "@sekisho/sekisho/aws/stage-secrets.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { commandsInFolder } from "../commands-in-folder.ts";
import { executionAccount, twoAccounts, verificationAccount, writeConfig } from "./a-stage.ts";
import { commandHere, failing, printing } from "./command-here.ts";

const { folder, run } = commandsInFolder();
const config = writeConfig({ folder, name: "two.json", json: twoAccounts });
const values = {
  SLACK_SIGNING_SECRET: "0123456789abcdef0123456789abcdef",
  SLACK_BOT_TOKEN: "xoxb-the-token-of-this-test",
  FAR_TOKEN: "the-token-of-far",
  MODEL_KEY: "sk-the-key-of-the-model",
};

let aws: AwsServices;
let output = "";
beforeEach(async () => {
  aws = await startAwsServices({ account: verificationAccount });
  output = "";
});
afterEach(async () => {
  for (const value of [...Object.values(values), "not-a-signing-secret"])
    expect(output).not.toContain(value);
  await aws.close();
});

async function put(
  args: string[],
  env: Record<string, string> = values,
  start: typeof commandHere = commandHere,
) {
  const result = await start(["secrets", "put", "--config", config, ...args], {
    ...aws.env,
    ...env,
  });
  output += result.stdout + result.stderr;
  return result;
}

describe("the list of a stage's secrets", () => {
  it("names each by the agent that uses it", () => {
    const authorizer = { type: "bearer", token: { env: "OPS_TOKEN" } };
    const ops = { type: "http", url: "https://agents.example/", authorizer };
    const execution = { ...twoAccounts.execution, agents: { ops } };
    const parsedConfig = parseConfig({ json: { ...twoAccounts, execution } });
    const { prod: stage } = parsedConfig.stages;
    if (stage === undefined) throw new Error("There is no stage prod.");
    const secrets = listStageSecrets({ config: parsedConfig, stageName: "prod", stage });
    expect(secrets.map(({ purpose }) => purpose)).toEqual(
      expect.arrayContaining(["API key of the agent", "token of agent ops"]),
    );
  });
});

describe("sekisho secrets put", () => {
  it("creates every secret of the Verification account, and names the account of the others", async () => {
    const result = await put([], values, run);
    expect(result.code).toBe(0);
    expect([...aws.secrets.all.keys()].sort()).toEqual([
      "sekisho/prod/FAR_TOKEN",
      "sekisho/prod/SLACK_BOT_TOKEN",
      "sekisho/prod/SLACK_SIGNING_SECRET",
    ]);
    expect(aws.secrets.all.get("sekisho/prod/SLACK_BOT_TOKEN")).toMatchObject({
      value: values.SLACK_BOT_TOKEN,
      description: "Sekisho, stage prod: Slack bot token",
      tags: [{ Key: "sekisho:stage", Value: "prod" }],
    });
    expect(result.stderr).toContain(`sekisho/prod/MODEL_KEY`);
    expect(result.stderr).toContain(executionAccount);
  });

  it("creates the secret of the other account, in its region, with the credentials of that account", async () => {
    aws.account = executionAccount;
    expect((await put([])).code).toBe(0);
    expect([...aws.secrets.all.keys()]).toEqual(["sekisho/prod/MODEL_KEY"]);
    expect(aws.secrets.all.get("sekisho/prod/MODEL_KEY")).toMatchObject({
      description: "Sekisho, stage prod: API key of the agent",
    });
    expect(aws.calls.filter(({ action }) => action.endsWith("CreateSecret"))).toMatchObject([
      { region: "eu-west-1" },
    ]);
  });

  it("writes nothing with the credentials of an account that the stage does not name", async () => {
    aws.account = "999999999999";
    const result = await put([]);
    expect(result).toMatchObject(failing(1, "999999999999"));
    expect(result.stderr).toContain(verificationAccount);
    expect(aws.secrets.all.size).toBe(0);
  });

  it("keeps an existing secret without asking for its value, and replaces it only with --overwrite", async () => {
    for (const name of ["SLACK_SIGNING_SECRET", "SLACK_BOT_TOKEN", "FAR_TOKEN"]) {
      aws.secrets.all.set(`sekisho/prod/${name}`, { value: "old" });
    }
    const left = await put([], {});
    expect(left).toMatchObject(printing("was not changed"));
    const { FAR_TOKEN } = values;
    expect(
      (await put(["--overwrite", "--only", "FAR_TOKEN"], { FAR_TOKEN: ` ${FAR_TOKEN}\n` })).code,
    ).toBe(0);
    expect([...aws.secrets.all.values()].map(({ value }) => value).sort()).toEqual([
      "old",
      "old",
      FAR_TOKEN,
    ]);
  });

  it("names every missing value that it cannot ask for, before it writes any secret", async () => {
    const result = await put([], { SLACK_BOT_TOKEN: values.SLACK_BOT_TOKEN });
    expect(result).toMatchObject(failing(2, "SLACK_SIGNING_SECRET, FAR_TOKEN"));
    expect(aws.secrets.all.size).toBe(0);
  });

  it.each([
    ["SLACK_SIGNING_SECRET", "not-a-signing-secret", "32 hexadecimal digits"],
    ["SLACK_BOT_TOKEN", values.SLACK_SIGNING_SECRET, "xoxb-"],
  ])("refuses a malformed %s, unless forced", async (name, value, expected) => {
    const refusal = await put([], { ...values, [name]: value });
    expect(refusal).toMatchObject(failing(2, expected));
    expect(aws.secrets.all.size).toBe(0);
    expect((await put(["--force"], { ...values, [name]: value })).code).toBe(0);
    expect(aws.secrets.all.get(`sekisho/prod/${name}`)?.value).toBe(value);
  });

  it("stores the client secret of an installation flow, and the bot token only if one is given", async () => {
    const install = { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } };
    const path = writeConfig({
      folder,
      name: "install.json",
      json: { ...twoAccounts, slack: { install } },
    });
    const { SLACK_BOT_TOKEN, ...others } = values;
    const env = { ...others, SLACK_CLIENT_SECRET: "fedcba9876543210fedcba9876543210" };
    const result = await put(["--config", path], env);
    expect(result).toMatchObject(printing("was left out"));
    expect(aws.secrets.all.get("sekisho/prod/SLACK_CLIENT_SECRET")?.value).toBe(
      env.SLACK_CLIENT_SECRET,
    );
    expect(aws.secrets.all.has("sekisho/prod/SLACK_BOT_TOKEN")).toBe(false);
    expect((await put(["--config", path], { ...env, SLACK_BOT_TOKEN })).code).toBe(0);
    expect(aws.secrets.all.get("sekisho/prod/SLACK_BOT_TOKEN")?.value).toBe(SLACK_BOT_TOKEN);
    const wrong = { ...env, SLACK_CLIENT_SECRET: "xoxb-none" };
    const refusal = await put(["--config", path, "--overwrite"], { ...wrong, SLACK_BOT_TOKEN });
    expect(refusal).toMatchObject(failing(2, "32 hexadecimal digits"));
    const renewed = await put(["--config", path, "--overwrite"], env);
    expect(renewed).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/BOT_TOKEN .*was not changed/),
    });
  });

  it("stores the token for an A2A agent as for any other endpoint", async () => {
    const { local, far } = twoAccounts.destinations;
    const agent = {
      transport: "a2a",
      card: "https://far.example/card.json",
      authorizer: far.authorizer,
    };
    const json = { ...twoAccounts, destinations: { local, far: agent } };
    const path = writeConfig({ folder, name: "agent.json", json });
    expect(await put(["--config", path])).toMatchObject(printing("token of destination far"));
    expect(aws.secrets.all.get("sekisho/prod/FAR_TOKEN")?.value).toBe(values.FAR_TOKEN);
  });

  it("stores the header for a collector of spans in both accounts, since each zone sends its own", async () => {
    const headers = { "x-key": { env: "COLLECTOR_KEY" } };
    const exporter = { type: "otlp", url: "https://collector.example/v1/traces", headers };
    const json = { ...twoAccounts, telemetry: { traces: { exporter } } };
    const path = writeConfig({ folder, name: "collector.json", json });
    const env = { ...values, COLLECTOR_KEY: "key-of-the-collector" };
    const result = await put(["--config", path], env);
    expect(result).toMatchObject(printing("header x-key for the collector of spans"));
    expect(aws.secrets.all.get("sekisho/prod/COLLECTOR_KEY")?.value).toBe(env.COLLECTOR_KEY);
    aws.account = executionAccount;
    aws.secrets.all.clear();
    expect((await put(["--config", path], env)).code).toBe(0);
    expect([...aws.secrets.all.keys()].sort()).toEqual([
      "sekisho/prod/COLLECTOR_KEY",
      "sekisho/prod/MODEL_KEY",
    ]);
  });

  it("stores the secrets of all authorizers, and refuses an invalid certificate or private key", async () => {
    const far = { transport: "https", url: "https://far.example/rpc" };
    const clientSecret = { env: "CLIENT_SECRET" };
    const tokenUrl = "https://login.example/token";
    const oauth = { type: "oauth-client-credentials", tokenUrl, clientId: "sekisho", clientSecret };
    const mtls = {
      type: "mtls",
      certificate: { env: "CERT" },
      key: { env: "KEY" },
      ca: { env: "CA" },
    };
    const destinations = {
      oauth: { ...far, authorizer: oauth },
      mtls: { ...far, authorizer: mtls },
    };
    const json = { ...twoAccounts, destinations, routes: [{ destination: "oauth" }] };
    const path = writeConfig({ folder, name: "authorizers.json", json });
    const pem = (label: string) => `-----BEGIN ${label}-----\nMII=\n-----END ${label}-----\n`;
    const good = {
      CLIENT_SECRET: "s3cret-of-oauth",
      CERT: pem("CERTIFICATE"),
      KEY: pem("PRIVATE KEY"),
      CA: pem("CERTIFICATE"),
    };
    const putAll = (env: Record<string, string>) =>
      put(["--config", path], { ...values, ...good, ...env });
    for (const wrong of [
      { CERT: good.KEY },
      { KEY: good.CERT },
      { KEY: pem("ENCRYPTED PRIVATE KEY") },
      { CA: "ca.pem" },
    ]) {
      const [name = ""] = Object.keys(wrong);
      expect(await putAll(wrong)).toMatchObject(failing(2, `${name}: a `));
    }
    expect(aws.secrets.all.size).toBe(0);
    expect(await putAll({})).toMatchObject(printing("private key of destination mtls"));
    expect(aws.secrets.all.get("sekisho/prod/KEY")?.value).toBe(good.KEY.trim());
    expect([...aws.secrets.all.keys()]).toEqual(
      expect.arrayContaining(["CLIENT_SECRET", "CERT", "CA"].map((name) => `sekisho/prod/${name}`)),
    );
    for (const secret of Object.values(good)) expect(output).not.toContain(secret);
  });

  it("only checks a secret that someone else manages, and exits with 1 if it does not exist", async () => {
    const slack = { botToken: { secretsManager: "our/slack" } };
    const kept = writeConfig({ folder, name: "kept.json", json: { ...twoAccounts, slack } });
    const again = () => put(["--only", "our/slack", "--overwrite", "--config", kept]);
    expect(await again()).toMatchObject({ code: 1, stdout: expect.stringContaining("our/slack") });
    aws.secrets.all.set("our/slack", { value: "theirs" });
    expect((await again()).code).toBe(0);
    expect(aws.secrets.all.get("our/slack")?.value).toBe("theirs");
  });

  it("explains how to restore a secret that is scheduled for deletion", async () => {
    aws.secrets.all.set("sekisho/prod/FAR_TOKEN", { value: "old", deleted: true });
    const result = await put([]);
    expect(result).toMatchObject({ code: 1, stdout: expect.stringContaining("restore-secret") });
  });

  it("sets the value of a secret that has a name but no value yet", async () => {
    aws.secrets.all.set("sekisho/prod/FAR_TOKEN", {});
    expect((await put([])).code).toBe(0);
    expect(aws.secrets.all.get("sekisho/prod/FAR_TOKEN")?.value).toBe(values.FAR_TOKEN);
  });

  it("explains a refusal of AWS in one line, without the message of AWS", async () => {
    for (const [name, status, text] of [
      ["AccessDeniedException", 400, "lack the permission"],
      ["ExpiredTokenException", 400, "Log in again"],
      ["ThrottlingException", 400, "Try again in a minute"],
    ] as const) {
      aws.refusals.set("secretsmanager:CreateSecret", { status, name });
      const result = await put(["--only", "FAR_TOKEN"]);
      expect(result).toMatchObject(failing(1, text));
      expect(result.stderr.trim().split("\n")).toHaveLength(1);
    }
  });

  it("exits with 3 if AWS cannot be reached, and with 1 without credentials", async () => {
    expect((await put([], { ...values, AWS_ENDPOINT_URL: "http://127.0.0.1:9" })).code).toBe(3);
    const wrong = await put([], { ...values, AWS_ENDPOINT_URL: "localhost" });
    expect(wrong).toMatchObject(failing(1, "AWS_ENDPOINT_URL is not a URL"));
    const none = {
      AWS_ENDPOINT_URL: aws.env.AWS_ENDPOINT_URL ?? "",
      AWS_EC2_METADATA_DISABLED: "true",
      HOME: folder,
    };
    const result = await run(["secrets", "put", "--config", config], none);
    expect(result).toMatchObject(failing(1, "AWS_PROFILE"));
  });

  it("refuses a stage or a name that is not in the configuration", async () => {
    expect(await put(["--stage", "test"])).toMatchObject(failing(2, "the configuration has: prod"));
    expect(await put(["--only", "NOTHING"])).toMatchObject(failing(2, "FAR_TOKEN"));
    const none = writeConfig({ folder, name: "none.json", json: {} });
    const toAdd = expect.stringContaining(
      'Add one with your own account and region:\n    "stages": { "dev"',
    );
    expect(await put(["--config", none])).toMatchObject({ code: 2, stderr: toAdd });
    const asForCdk = await put(["-c", "stage=prod"], values, run);
    expect(asForCdk).toMatchObject(failing(2, "Use --stage prod"));
  });
});

describe("a secret given as an argument", () => {
  it("refuses a secret as an argument without repeating it", async () => {
    for (const args of [[values.SLACK_BOT_TOKEN], ["--only", values.SLACK_BOT_TOKEN]]) {
      expect(await put(args)).toMatchObject({ code: 2 });
      expect(aws.secrets.all.size).toBe(0);
    }
  });
});

describe("a secret that is typed on the terminal", () => {
  it("reads a secret from the terminal without showing it, and ignores an interrupted input", async () => {
    for (const [typed, expected] of [
      ["xoxb-typed\r", "xoxb-typed"],
      ["xoxb-typed\u0003", undefined],
      ["\u0004", undefined],
    ] as const) {
      const input = new PassThrough();
      let shownText = "";
      const show = (text: string) => {
        shownText += text;
      };
      const values = askHidden({
        question: "Token: ",
        signal: new AbortController().signal,
        input,
        show,
      });
      input.write(typed);
      expect(await values).toBe(expected);
      expect(shownText).toBe("Token: \n");
    }
  });
});
