/** The configurations whose templates are tested: every kind, one account and two, development and production. */
import { b, configWith } from "./synth.ts";

const bearer = { type: "bearer", token: { env: "FAR_TOKEN" } };
const far = { transport: "https", url: "https://far.example/", authorizer: bearer, idempotent: true };
const sigv4 = (service: string) => ({ type: "sigv4", service, region: "eu-west-1" });
const signed = {
  transport: "https",
  url: "https://abc.lambda-url.eu-west-1.on.aws/",
  authorizer: { ...sigv4("lambda"), functionArn: "arn:aws:lambda:eu-west-1:333333333333:function:host" },
};
const api = { ...signed, url: "https://abc.execute-api.eu-west-1.amazonaws.com/x", authorizer: sigv4("execute-api") };
const webIdentity = { ...far, authorizer: { type: "web-identity", audience: "https://far.example" } };
const assumeRoleArn = "arn:aws:iam::333333333333:role/caller";
const assumed = { ...far, authorizer: { ...sigv4("execute-api"), assumeRoleArn, externalId: "sekisho-dev" } };
const destinations = { home: { transport: "https" }, far };
const toHome = { destinations, routes: [{ channel: "C1", destination: "far" }, { destination: "home" }] };

const guardrail = { id: "gr123", version: "1" };
export const ofRegion = { type: "bedrock", modelId: "amazon.nova-lite-v1:0" };
export const ofProfile = { type: "bedrock", modelId: "eu.amazon.nova-lite-v1:0", guardrail };

const install = { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } };

export const variants = {
  "agentcore in two accounts": configWith({ stage: { execution: { kind: "agentcore", account: b } }, ...toHome }),
  "lambda in two accounts, in production": configWith({
    stage: { execution: { kind: "lambda", account: b }, production: true, alarmEmail: "pager@example.com" },
    ...toHome,
  }),
  "agentcore in one account, in production": configWith({
    stage: { execution: { kind: "agentcore", stopAfterResult: true }, production: true },
    execution: { agent: ofProfile },
    ...toHome,
  }),
  "lambda in one account": configWith({
    stage: { execution: { kind: "lambda" } },
    execution: { agent: ofRegion },
    telemetry: { logs: { level: "warn", debugRatio: 0.05 } },
    ...toHome,
  }),
  "lambda that serves A2A": configWith({
    stage: { execution: { kind: "lambda" } },
    execution: { a2a: { url: "https://agents.example/" } },
    ...toHome,
  }),
  external: configWith({
    stage: { execution: { kind: "external" } },
    slack: { install },
    destinations: { far, signed, api, "web-identity": webIdentity, assumed },
    routes: [{ destination: "far" }],
  }),
} as const;
