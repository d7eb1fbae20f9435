/** One signed call of an AWS service, against a server that checks the signature as AWS does. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, describe, expect, it } from "@jest/globals";
import { readBundledConfig } from "@sekisho/config/deployed.ts";
import { readAwsEnvironment } from "@sekisho/runtime/aws/environment.ts";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import { createReadManagedSecret } from "@sekisho/runtime/aws/secrets-manager.ts";
import { serve } from "../../doubles/serving.ts";
import type { Received } from "../../doubles/web-server.ts";

const credentials = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "an-aws-secret",
  sessionToken: "a-session",
};
const region = "eu-central-1";
/** A service that answers whatever a test likes, and what it received. */
async function service(answer: (call: Received) => Response | Promise<Response>) {
  const { url, received: requests } = await serve(answer);
  const endpoint = new URL(url);
  const dependencies = { region, credentials: async () => credentials, endpointOf: () => endpoint };
  const open = (options: { maxAttempts?: number; timeoutMs?: number } = {}) =>
    createJsonClient({
      ...dependencies,
      service: "sqs",
      timeoutMs: 20_000,
      random: () => 0,
      ...options,
    });
  return { requests, dependencies, open };
}

describe("a call of an AWS service that speaks JSON", () => {
  it("accepts an empty answer, as SQS sends it", async () => {
    const { open } = await service(() => new Response(""));
    expect(await open().call("DeleteMessage", {})).toEqual({});
  });

  it.each([
    [
      "a sentence as the error name",
      () => Response.json({ __type: "it was xoxb-secret" }, { status: 400 }),
      /NoName \(400\)/,
    ],
    ["an HTML page", () => new Response("<html>", { status: 200 }), /NoJsonAnswer \(200\)/],
    ["an oversized body", () => new Response("x".repeat(1024 * 1024 + 1)), /^$/],
  ])(
    "rejects the response at once and keeps its text out of the error: %s",
    async (_what, answer, errorFields) => {
      const { open, requests } = await service(answer);
      const error = await open()
        .call("SendMessage", {})
        .catch((error: unknown) => error);
      expect(error).toBeInstanceOf(Error);
      expect(Object(error).message).toMatch(errorFields);
      expect(inspect(error, { showHidden: true, depth: 9 })).not.toMatch(/xoxb-secret|<html>|xxxx/);
      expect(requests).toHaveLength(1);
    },
  );

  it("attaches the stored item to the error of a failed conditional write, and keeps it out of logs", async () => {
    const refusal = {
      __type: "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
      Item: { a: { S: "text" } },
    };
    const { open } = await service(() => Response.json(refusal, { status: 400 }));
    const error = await open()
      .call("PutItem", {})
      .catch((error: unknown) => error);
    expect(error).toMatchObject({
      name: "ConditionalCheckFailedException",
      status: 400,
      Item: { a: { S: "text" } },
    });
    expect(inspect(error, { showHidden: true })).not.toContain("text");
    expect(JSON.stringify(error)).not.toContain("text");
  });

  it("ends at its time limit and with its signal, even while it reads an answer or waits to retry", async () => {
    const endless = () =>
      new Response(
        new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from("{")) }),
      );
    const createThrottling = () =>
      Response.json(
        { __type: "ThrottlingException" },
        { status: 400, headers: { "x-amz-retry-after": "9000" } },
      );
    const reading = await service(endless);
    const late = reading.open({ timeoutMs: 100 }).call("SendMessage", {});
    await expect(late).rejects.toMatchObject({ name: "TimeoutError" });
    for (const answer of [endless, createThrottling, () => new Promise<Response>(() => {})]) {
      const { open } = await service(answer);
      const [reason, endController] = [new Error("no longer wanted"), new AbortController()];
      const call = open().call("SendMessage", {}, { signal: endController.signal });
      setTimeout(() => endController.abort(reason), 100);
      await expect(call).rejects.toBe(reason);
      await expect(open().call("SendMessage", {}, { signal: endController.signal })).rejects.toBe(
        reason,
      );
    }
  });

  it("ends at its time limit and with its signal while it waits for credentials", async () => {
    const { dependencies, requests } = await service(() => Response.json({}));
    const client = createJsonClient({
      ...dependencies,
      credentials: () => new Promise(() => {}),
      service: "sqs",
      timeoutMs: 100,
    });
    await expect(client.call("SendMessage", {})).rejects.toMatchObject({ name: "TimeoutError" });
    const [reason, endController] = [new Error("no longer wanted"), new AbortController()];
    const call = client.call("SendMessage", {}, { signal: endController.signal });
    endController.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(requests).toEqual([]);
  });

  it("does not begin a pause that is longer than the time that is left", async () => {
    const headers = { "x-amz-retry-after": "4000" };
    const createThrottling = () =>
      Response.json({ __type: "ThrottlingException" }, { status: 400, headers });
    const { open, requests } = await service(createThrottling);
    const call = open({ timeoutMs: 3000 }).call("SendMessage", {});
    await expect(call).rejects.toMatchObject({ name: "ThrottlingException" });
    expect(requests).toHaveLength(1);
  });
});

describe("a secret of Secrets Manager", () => {
  it("reads a secret by its name on each call", async () => {
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

  it("refuses a secret that holds no text", async () => {
    const { dependencies } = await service(() => Response.json({ SecretBinary: "AAAA" }));
    await expect(createReadManagedSecret(dependencies)({ id: "a-name" })).rejects.toThrow(
      /a-name .* holds no text/,
    );
  });
});

describe("the environment of a function", () => {
  const variables = {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "an-aws-secret",
  };

  it("reads the credentials and the endpoints from the environment", async () => {
    const aws = readAwsEnvironment({ ...variables, AWS_SESSION_TOKEN: "a-session" });
    expect(await aws.credentials()).toEqual(credentials);
    expect(aws.endpointOf("sqs").href).toBe("https://sqs.eu-central-1.amazonaws.com/");
  });

  it("names the variable of an address that is not a URL", () => {
    const aws = readAwsEnvironment({ ...variables, AWS_ENDPOINT_URL: "localhost" });
    expect(() => aws.endpointOf("sqs")).toThrow("AWS_ENDPOINT_URL is not a URL");
  });

  it.each(Object.keys(variables))(
    "refuses an environment without %s and names the variable",
    (name) => {
      expect(() => readAwsEnvironment({ ...variables, [name]: "" })).toThrow(`${name} is not set`);
    },
  );
});

describe("the configuration beside a handler", () => {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-bundled-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("names a configuration file that is missing or not JSON, without its text", () => {
    const file = join(folder, "config.json");
    expect(() => readBundledConfig(folder)).toThrow(
      `${file} cannot be read (ENOENT). Bundle it again.`,
    );
    writeFileSync(file, "xoxb-secret");
    expect(() => readBundledConfig(folder)).toThrow(`${file} is not JSON. Bundle it again.`);
    writeFileSync(file, '{"execution":{}}');
    expect(readBundledConfig(folder)).toEqual({ execution: {} });
  });
});
