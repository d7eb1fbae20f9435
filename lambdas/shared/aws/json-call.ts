/**
 * Calls AWS services that speak the JSON protocol (SQS, Secrets Manager, Systems Manager), with a signature, over node:https. An SDK
 * client would be several times the size of the ingress, which must load before its first answer.
 */
import type { Agent as HttpAgent, IncomingMessage } from "node:http";
import { readBody } from "../http/read-body.ts";
import { isJsonObject, parseJson } from "../untrusted-input.ts";
import type { AwsDependencies } from "./credentials.ts";
import { createSigner } from "./signer.ts";

/** AWS refused the call, or its answer was invalid. `name` is the service's error name, which contains no values. */
export class AwsCallError extends Error {
  readonly status: number;

  constructor({ name, status }: { name: string; status: number }) {
    super(`AWS answered ${name} (${status}).`);
    this.name = name;
    this.status = status;
  }
}

export type JsonCall = (request: {
  /** The operation with its target prefix, such as `AmazonSQS.SendMessage`. */
  target: string;
  input: Record<string, unknown>;
  signal: AbortSignal;
}) => Promise<Record<string, unknown>>;

const maxResponseBytes = 1024 * 1024;

/**
 * `service` is the endpoint prefix and the signing name. Rejects with an AwsCallError, or as node:https does. Repeats a call only if a
 * kept connection turns out to be closed, as after a function was frozen. The operation must tolerate that.
 */
export function createJsonCall({
  service,
  version,
  region,
  credentials,
  endpointOf,
}: AwsDependencies & { service: string; version: "1.0" | "1.1" }): JsonCall {
  const sign = createSigner({ service, region, credentials });
  const url = endpointOf(service);
  const send = createSend(url);
  return async ({ target, input, signal }) => {
    const body = JSON.stringify(input);
    const headers = { "content-type": `application/x-amz-json-${version}`, "x-amz-target": target };
    const signed = await sign({ method: "POST", url, headers, body });
    const { status, text } = await send({ headers: signed, body, signal });
    const answer = parseJson(text);
    if (status === 200 && isJsonObject(answer)) return answer;
    throw new AwsCallError({ name: errorName(answer), status });
  };
}

/** Loads node:https at the first call, so that the process starts faster. */
function createSend(url: URL) {
  let agent: HttpAgent | undefined;
  return async ({ headers, body, signal }: { headers: Record<string, string>; body: string; signal: AbortSignal }) => {
    const http = process.getBuiltinModule(url.protocol === "http:" ? "node:http" : "node:https");
    agent ??= new http.Agent({ keepAlive: true });
    const options = { method: "POST", headers, signal, agent };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const attempt = () => {
      const request = http.request(url, options);
      let isAnswered = false;
      const answered = (response: IncomingMessage) => {
        isAnswered = true;
        resolve(response);
      };
      // If the connection is reset while the answer is read, AWS has received the call. Reading the answer then fails by itself.
      const fail = (error: NodeJS.ErrnoException) =>
        request.reusedSocket && !isAnswered && error.code === "ECONNRESET" ? attempt() : reject(error);
      request.once("response", answered).on("error", fail).end(body);
    };
    attempt();
    const response = await promise;
    return { status: response.statusCode ?? 0, text: await read(response) };
  };
}

async function read(response: IncomingMessage): Promise<string> {
  const body = await readBody({ body: response, maxBytes: maxResponseBytes });
  if (body === "too_large") throw new AwsCallError({ name: "ResponseTooLarge", status: response.statusCode ?? 0 });
  return body.toString("utf8");
}

/** `__type` may have a namespace before `#` and a locator after `:`. */
function errorName(answer: unknown): string {
  const type = isJsonObject(answer) && typeof answer.__type === "string" ? answer.__type : "";
  const [, name = "NoJsonAnswer"] = /([A-Za-z.]{1,80})(?::|$)/.exec(type.split("#").at(-1) ?? "") ?? [];
  return name;
}
