import { inspect } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createSigV4Authorizer } from "@sekisho/runtime/auth/sigv4.ts";
import { createBearerAuthorizer } from "@sekisho/runtime/auth/token-authorizer.ts";
import { createAgentCoreTransport } from "@sekisho/verification/transport/agentcore/transport.ts";
import { createHttpsTransport } from "@sekisho/verification/transport/http/transport.ts";
import { type TapEntry, tapTransport } from "@sekisho/verification/transport/tap.ts";
import { raw } from "../../doubles/answers.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { serve } from "../../doubles/serving.ts";
import { connectionReset } from "../../doubles/web-server.ts";
import { credentials, runtimeArn } from "./agentcore/sample.ts";
import { clientOver, execute } from "./sample.ts";

const token = "bearer-of-nobody";

/** A peer that repeats what it got, credentials included, in every unfriendly way. */
const peers: Record<string, (request: Request) => Response> = {
  "echoes headers as an error page": (request) =>
    raw(JSON.stringify([...request.headers]), {
      status: 500,
      headers: { "content-type": "text/plain" },
    }),
  "echoes headers as JSON": (request) => raw(JSON.stringify(Object.fromEntries(request.headers))),
  "refuses everyone": () => raw("{}", { status: 401 }),
  "resets the connection": () => {
    throw connectionReset;
  },
};

const transports = {
  "https with a bearer token": (url: string) =>
    createHttpsTransport({
      url,
      authorizer: createBearerAuthorizer({ readToken: async () => token }),
    }),
  "https with sigv4": (url: string) =>
    createHttpsTransport({
      url,
      authorizer: createSigV4Authorizer({
        service: "lambda",
        region: "eu-central-1",
        credentials: async () => credentials,
      }),
    }),
  agentcore: (url: string) =>
    createAgentCoreTransport({ runtimeArn, endpoint: url, credentials: async () => credentials }),
};

describe.each(Object.keys(transports) as (keyof typeof transports)[])(
  "secrets of the transport %s",
  (name) => {
    it.each(Object.keys(peers))(
      "shows no secret in an error, a log or a tap if the peer %s",
      async (behaviour) => {
        const { url } = await serve(({ request }) => peers[behaviour]?.(request) ?? raw(""));
        const { log, lines } = collectLog({ level: "debug" });
        const entries: TapEntry[] = [];
        const transport = tapTransport({
          transport: transports[name](url),
          tap: (entry) => entries.push(entry),
        });
        const call = execute(clientOver((request) => transport.send(request), { log }));
        const error = await call.catch((error: SekishoError) => error);
        await transport.close?.();
        const secrets = new RegExp(
          [token, "xoxb-of-nobody", credentials.secretAccessKey, credentials.sessionToken].join(
            "|",
          ),
        );
        expect(error).toBeInstanceOf(SekishoError);
        expect(lines.length * entries.length).toBeGreaterThan(0);
        for (const text of [inspect(error, { depth: 20 }), lines.join(""), JSON.stringify(entries)])
          expect(text).not.toMatch(secrets);
        expect(lines.join("")).not.toContain("the text of a user");
      },
    );
  },
);
