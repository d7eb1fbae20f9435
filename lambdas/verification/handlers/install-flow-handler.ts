/** The installation flow's entry on Lambda. */

import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import { createReadManagedSecret } from "@sekisho/runtime/aws/secrets-manager.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import * as z from "zod";
import { readOauthEnvironment } from "../config/oauth-environment.ts";
import { createManagedInstallations } from "../installations/managed-installations.ts";
import { createOauth, type Oauth } from "../oauth/oauth.ts";
import { createTableLedger } from "../oauth/table-ledger.ts";
import { botScopes, type ScopeConfig } from "../slack/api/manifest.ts";

/** A rotated client secret takes effect within this time. */
const secretKeepMs = 60_000;

export type FlowConfig = ScopeConfig & {
  slack: { install?: { teams?: string[] | undefined; maxPerDay?: number } | undefined };
};

/** `config` is the part of the stage's configuration that decides the scopes and who may install. Throws if the environment is invalid. */
export function createOauthHandler({ config }: { config: FlowConfig }): OauthHandler {
  const {
    clientId,
    clientSecret: id,
    installationsPrefix,
    table,
    slackApiUrl,
    logs,
    aws,
  } = readOauthEnvironment();
  const { install } = config.slack;
  const readManagedSecret = createReadManagedSecret(aws);
  const clientSecret = createCachedSecret({
    readSecret: () => readManagedSecret({ id }),
    readTimeoutMs: 2000,
    keepMs: secretKeepMs,
  });
  const oauth = createOauth({
    clientId,
    clientSecret: clientSecret.current,
    scopes: botScopes(config),
    installations: createManagedInstallations({ prefix: installationsPrefix, aws }),
    ledger: createTableLedger({ table, aws, maxPerDay: install?.maxPerDay }),
    teams: install?.teams,
    apiUrl: slackApiUrl,
    log: createLog({ service: "verification", ...logs }),
  });
  return createOauthHttpApi({ oauth });
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html, "2.0". */
const eventSchema = z.object({
  rawPath: z.string(),
  rawQueryString: z.string().default(""),
  cookies: z.array(z.string()).default([]),
  headers: z.record(z.string(), z.string()).default({}),
  requestContext: z.object({ http: z.object({ method: z.string() }) }),
});

export type HttpApiAnswer = {
  statusCode: number;
  headers: Record<string, string>;
  cookies: string[];
  body: string;
};
export type OauthHandler = (event: unknown) => Promise<HttpApiAnswer>;

/** Converts an event of an HTTP API (payload 2.0) to a web-standard request, and converts the response back. */
export function createOauthHttpApi({ oauth }: { oauth: Oauth }): OauthHandler {
  return async (event) => {
    const request = toWebRequest(event);
    if (request === undefined)
      return { statusCode: 400, headers: { "cache-control": "no-store" }, cookies: [], body: "" };
    const response = await oauth(request);
    const cookies = response.headers.getSetCookie();
    const headers = Object.fromEntries(
      [...response.headers].filter(([name]) => name !== "set-cookie"),
    );
    return { statusCode: response.status, headers, cookies, body: await response.text() };
  };
}

/** Converts only the parts that the flow reads, so any host name will do. */
function toWebRequest(event: unknown): Request | undefined {
  const { data } = eventSchema.safeParse(event);
  if (data === undefined) return undefined;
  const { rawPath, rawQueryString, cookies, headers, requestContext } = data;
  try {
    const url = new URL("http://localhost/");
    url.pathname = rawPath;
    url.search = rawQueryString;
    const language = headers["accept-language"];
    return new Request(url, {
      method: requestContext.http.method,
      headers: {
        cookie: cookies.join("; "),
        ...(language === undefined ? {} : { "accept-language": language }),
      },
    });
  } catch {
    return undefined;
  }
}
