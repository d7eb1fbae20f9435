/** Events as a Function URL with IAM gives them to its function, after the documented example, and a client that sends them. */
import { randomUUID } from "node:crypto";
import type { AgentCard } from "@sekisho/contracts/a2a/card.ts";
import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import type { FunctionUrlHandler } from "@sekisho/execution/handlers/function-url-handler.ts";
import type { A2aError } from "../a2a/a2a-host.ts";

const headers = {
  "x-forwarded-proto": "https",
  "x-forwarded-port": "443",
  "x-forwarded-for": "192.0.2.10",
  "content-type": "application/json",
  "x-amz-date": "20261121T120000Z",
  "x-amzn-trace-id": "Root=1-691a0000-0123456789abcdef01234567",
  host: "abcdefghij0123456789.lambda-url.eu-central-1.on.aws",
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
};

export const callerArn =
  "arn:aws:sts::111122223333:assumed-role/sekisho-prod-verification/sekisho-worker-7";

/** The role of that session, as a policy or a configuration names it. */
export const callerRoleArn = "arn:aws:iam::111122223333:role/sekisho-prod-verification";

/** The variable that says who may call: that role, and the clients of tests. */
export const callersVariable = [
  callerRoleArn,
  ...["a2a-client", "another-client"].map(roleOfAccount),
].join(" ");

export function functionUrlEvent({
  method = "POST",
  path = "/",
  query = "",
  more = {},
  body,
  isBase64Encoded = false,
  userArn = callerArn,
  accountId = "111122223333",
}: {
  method?: string;
  path?: string;
  query?: string;
  /** Headers beside those that are always there. */
  more?: Record<string, string>;
  body?: string;
  isBase64Encoded?: boolean;
  userArn?: string;
  accountId?: string;
}) {
  const host = headers.host;
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: query,
    headers: { ...headers, ...more },
    requestContext: {
      accountId: "444455556666",
      apiId: "abcdefghij0123456789",
      authentication: null,
      authorizer: {
        iam: {
          accessKey: "ASIAEXAMPLE",
          accountId,
          callerId: "AROAEXAMPLE:sekisho-worker-7",
          cognitoIdentity: null,
          principalOrgId: "o-example",
          userArn,
          userId: "AROAEXAMPLE:sekisho-worker-7",
        },
      },
      domainName: host,
      domainPrefix: "abcdefghij0123456789",
      http: { method, path, protocol: "HTTP/1.1", sourceIp: "192.0.2.10", userAgent: "node" },
      requestId: randomUUID(),
      routeKey: "$default",
      stage: "$default",
      time: "21/Nov/2026:12:00:00 +0000",
      timeEpoch: 1_795_262_400_000,
    },
    ...(body !== undefined && { body }),
    isBase64Encoded,
  };
}

function roleOfAccount(name: string): string {
  return `arn:aws:iam::111122223333:role/${name}`;
}

type EventOptions = NonNullable<Parameters<typeof functionUrlEvent>[0]>;
type Asked<T> = { statusCode: number; result?: T; error?: A2aError };

/** An assumed role's session in the account of all callers. */
function roleArn(role: string): string {
  return callerArn.replace("sekisho-prod-verification", role);
}

export function lambdaClient({
  handle,
  role = "a2a-client",
}: {
  handle: FunctionUrlHandler;
  role?: string;
}) {
  const userArn = roleArn(role);

  function get(more: Record<string, string> = {}, options: EventOptions = {}) {
    return handle(
      functionUrlEvent({
        method: "GET",
        path: "/.well-known/agent-card.json",
        userArn,
        more,
        ...options,
      }),
    );
  }

  async function ask<T = A2aTask>(
    method: string,
    params: unknown = {},
    version = "1.0",
  ): Promise<Asked<T>> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method, params });
    const more = version === "" ? {} : { "a2a-version": version };
    const { statusCode, body: text } = await handle(
      functionUrlEvent({ path: "/", body, userArn, more }),
    );
    return { statusCode, ...JSON.parse(text) };
  }

  return {
    get,
    ask,
    card: async (): Promise<AgentCard> => JSON.parse((await get({ "a2a-version": "1.0" })).body),
    /** The same as `ask`, of which a result is expected. */
    async result<T = A2aTask>(method: string, params: unknown = {}, version = "1.0"): Promise<T> {
      const { result, error } = await ask<T>(method, params, version);
      if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
      return result;
    },
  };
}
