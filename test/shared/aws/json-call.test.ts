/** One signed call of an AWS service, against a server that checks the signature as AWS does. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "@jest/globals";
import { createJsonCall } from "../../../lambdas/shared/aws/json-call.ts";
import { createReadManagedSecret } from "../../../lambdas/shared/aws/secrets-manager.ts";
import { readAwsEnvironment, readBundledConfig } from "../../../lambdas/shared/config/aws-environment.ts";
import { serve } from "../../doubles/serving.ts";
import { sigv4Problem } from "../../doubles/sigv4-check.ts";
import { connectionReset, type Received } from "../../doubles/web-server.ts";

const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "an-aws-secret", sessionToken: "a-session" };
const region = "eu-central-1";
const { signal } = new AbortController();
/** A service that answers whatever a test likes, and what it received. */
async function service(answer: (received: Received) => Response | Promise<Response>) {
  const { url, received: requests } = await serve(answer);
  const endpoint = new URL(url);
  const dependencies = { region, credentials: async () => credentials, endpointOf: () => endpoint };
  return { requests, dependencies, call: createJsonCall({ ...dependencies, service: "sqs", version: "1.0" }) };
}

describe("a call of an AWS service that speaks JSON", () => {
  it("is signed, names its target, and brings back the answer", async () => {
    const { requests, call } = await service(() => Response.json({ MessageId: "m-1" }));
    const input = { QueueUrl: "https://sqs.example/1/queue", MessageBody: "関所 🏯" };
    expect(await call({ target: "AmazonSQS.SendMessage", input, signal })).toEqual({ MessageId: "m-1" });
    const [received] = requests;
    if (received === undefined) throw new Error("nothing arrived");
    expect(sigv4Problem({ received, credentials, service: "sqs", region })).toBeUndefined();
    expect(received.request.headers.get("x-amz-target")).toBe("AmazonSQS.SendMessage");
    expect(received.request.headers.get("content-type")).toBe("application/x-amz-json-1.0");
    expect(JSON.parse(Buffer.from(received.body).toString())).toEqual(input);
  });

  it.each([
    ["a refusal", () => Response.json({ __type: "com.amazonaws.sqs#QueueDoesNotExist" }, { status: 400 }), /QueueDoes/],
    [
      "a name with a locator",
      () => Response.json({ __type: "AccessDeniedException:http://internal.amazon.com/" }, { status: 400 }),
      /AccessDeniedException \(400\)/,
    ],
    ["a page", () => new Response("<html>", { status: 502 }), /NoJsonAnswer \(502\)/],
    ["nothing", () => new Response("", { status: 200 }), /NoJsonAnswer \(200\)/],
    ["more than it may be", () => new Response("x".repeat(1024 * 1024 + 1)), /ResponseTooLarge/],
  ])("rejects with the error's name for %s, and with nothing of its text", async (_what, answer, expected) => {
    const { call, requests } = await service(answer);
    await expect(call({ target: "AmazonSQS.SendMessage", input: {}, signal })).rejects.toThrow(expected);
    expect(requests).toHaveLength(1);
  });

  it("is not repeated when the connection is reset, since nobody knows whether it arrived", async () => {
    const { call, requests } = await service(() => Promise.reject(connectionReset));
    await expect(call({ target: "AmazonSQS.SendMessage", input: {}, signal })).rejects.toMatchObject({
      code: "ECONNRESET",
    });
    expect(requests).toHaveLength(1);
  });

  it("is made anew where a kept connection turns out to be dead, as after a function's sleep", async () => {
    const answers = [
      () => Response.json({ n: 1 }),
      () => Promise.reject(connectionReset),
      () => Response.json({ n: 2 }),
    ];
    const { call, requests } = await service(() => answers.shift()?.() ?? Response.json({}));
    expect(await call({ target: "AmazonSQS.SendMessage", input: {}, signal })).toEqual({ n: 1 });
    expect(await call({ target: "AmazonSQS.SendMessage", input: {}, signal })).toEqual({ n: 2 });
    expect(requests).toHaveLength(3);
  });

  it("is not repeated when a kept connection is reset while the answer is being read", async () => {
    const reset = new ReadableStream({
      async start(controller) {
        controller.enqueue(Buffer.from('{"Message'));
        await sleep(50);
        controller.error(connectionReset);
      },
    });
    const answers = [() => Response.json({ n: 1 }), () => new Response(reset)];
    const { call, requests } = await service(() => answers.shift()?.() ?? Response.json({ n: 2 }));
    expect(await call({ target: "AmazonSQS.SendMessage", input: {}, signal })).toEqual({ n: 1 });
    await expect(call({ target: "AmazonSQS.SendMessage", input: {}, signal })).rejects.toMatchObject({
      code: "ECONNRESET",
    });
    await sleep(50);
    expect(requests).toHaveLength(2);
  });

  it("ends with its signal, also while the answer is being read", async () => {
    const endless = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('{"Secret')) });
    const { call } = await service(() => new Response(endless));
    const soon = AbortSignal.timeout(100);
    await expect(call({ target: "AmazonSQS.SendMessage", input: {}, signal: soon })).rejects.toBeDefined();
  });
});

describe("a secret of Secrets Manager", () => {
  it("is read by its name, each time anew", async () => {
    let value = "first";
    const { dependencies, requests } = await service(() => Response.json({ SecretString: value }));
    const readSecret = createReadManagedSecret(dependencies);
    expect(await readSecret({ id: "sekisho/dev/SLACK_BOT_TOKEN" })).toBe("first");
    value = "second";
    expect(await readSecret({ id: "sekisho/dev/SLACK_BOT_TOKEN" })).toBe("second");
    expect(JSON.parse(Buffer.from(requests[0]?.body ?? []).toString())).toEqual({
      SecretId: "sekisho/dev/SLACK_BOT_TOKEN",
    });
  });

  it("is an error where it holds no text", async () => {
    const { dependencies } = await service(() => Response.json({ SecretBinary: "AAAA" }));
    await expect(createReadManagedSecret(dependencies)({ id: "a-name" })).rejects.toThrow(/a-name .* holds no text/);
  });
});

describe("the environment of a function", () => {
  const variables = { AWS_REGION: region, AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "an-aws-secret" };

  it("says region, credentials and where services are", async () => {
    const aws = readAwsEnvironment({ ...variables, AWS_SESSION_TOKEN: "a-session" });
    expect(await aws.credentials()).toEqual(credentials);
    expect(aws.endpointOf("sqs").href).toBe("https://sqs.eu-central-1.amazonaws.com/");
    const inChina = readAwsEnvironment({ ...variables, AWS_REGION: "cn-north-1" });
    expect(inChina.endpointOf("sqs").href).toBe("https://sqs.cn-north-1.amazonaws.com.cn/");
    const emulated = readAwsEnvironment({ ...variables, AWS_ENDPOINT_URL: "http://127.0.0.1:4566" });
    expect(emulated.endpointOf("sqs").href).toBe("http://127.0.0.1:4566/");
  });

  it("names the variable of an address that is not a URL", () => {
    const aws = readAwsEnvironment({ ...variables, AWS_ENDPOINT_URL: "localhost" });
    expect(() => aws.endpointOf("sqs")).toThrow("AWS_ENDPOINT_URL is not a URL");
  });

  it.each(Object.keys(variables))("is refused without %s, by its name", (name) => {
    expect(() => readAwsEnvironment({ ...variables, [name]: "" })).toThrow(`${name} is not set`);
  });
});

describe("the configuration beside a handler", () => {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-bundled-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("is named where it is missing, and where it is no JSON, without its text", () => {
    const file = join(folder, "config.json");
    expect(() => readBundledConfig(folder)).toThrow(`${file} cannot be read (ENOENT). Bundle it again.`);
    writeFileSync(file, "xoxb-secret");
    expect(() => readBundledConfig(folder)).toThrow(`${file} is not JSON. Bundle it again.`);
    writeFileSync(file, '{"execution":{}}');
    expect(readBundledConfig(folder)).toEqual({ execution: {} });
  });
});
