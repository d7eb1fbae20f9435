/**
 * A process of its own, because a proxy holds for a whole process. Sends a GET, or a call of AWS, in each way in which the project's code
 * leaves a process. Prints the outcome of each as JSON.
 */
import https from "node:https";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { readProxies } from "@sekisho/config/proxy-environment.ts";
import { createSts } from "@sekisho/runtime/aws/sts.ts";
import { createHttpClient, upTo } from "@sekisho/runtime/http/client.ts";
import { useProxies } from "@sekisho/runtime/http/proxy.ts";
import { findProxyError } from "@sekisho/runtime/http/tunnel.ts";
import { createPublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";

const [, , address = "", loopback = ""] = process.argv;
const proxies = readProxies();
if (proxies !== undefined) await useProxies(proxies);
// Slack's client for Socket Mode loads the whole package, which sets a dispatcher unless there is one.
await import("undici");

const region = "eu-central-1";
const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "an-aws-secret" };
const http = createHttpClient();
const signal = AbortSignal.timeout(60_000);
const get = (url: string) =>
  http
    .send({ method: "GET", url: new URL(url), headers: {}, signal, collect: upTo(1000) })
    .then(({ status }) => status);
const getWith = (agent: https.Agent) =>
  new Promise((resolve, reject) => {
    https
      .get(address, { agent }, (response) => resolve(response.resume().statusCode))
      .on("error", reject);
  });
const sts = new STSClient({ region, credentials, endpoint: address, maxAttempts: 1 });

const ways: Record<string, () => Promise<unknown>> = {
  "the HTTP client": () => get(address),
  fetch: () => fetch(address).then(({ status }) => status),
  "node:https": () => getWith(https.globalAgent),
  "an agent of node:https without a time limit": () => getWith(new https.Agent({ timeout: 0 })),
  "our AWS calls": () =>
    createSts({ region, credentials: async () => credentials, endpoint: new URL(address) })
      .getWebIdentityToken({ audience: "a", signal })
      .catch((error: { status?: number }) => error.status ?? Promise.reject(error)),
  "the AWS SDK": () =>
    sts.send(new GetCallerIdentityCommand({})).then(({ $metadata }) => $metadata.httpStatusCode),
  "a URL of somebody else": () =>
    createPublicFetch()({ url: address, maxBytes: 1000, timeoutMs: 60_000, signal }).then(
      () => 200,
    ),
  "loopback by the HTTP client": () => get(loopback),
  "loopback by fetch": () => fetch(loopback).then(({ status }) => status),
};

const outcomes: Record<string, unknown> = {};
for (const [way, call] of Object.entries(ways)) {
  outcomes[way] = await call().catch(
    (error: Error) => findProxyError(error)?.message ?? `${error.name}: ${error.message}`,
  );
}
process.stdout.write(JSON.stringify(outcomes));
process.exit();
