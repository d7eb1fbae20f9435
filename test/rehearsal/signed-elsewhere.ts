/** An Execution host in an account of AWS that is in no template: behind a gateway which lets in one role of that account, by signature. */
import { createPlatformAuthenticator } from "../../lambdas/execution/http/exchange.ts";
import { sigv4Problem } from "../doubles/sigv4-check.ts";
import { startWebServer } from "../doubles/web-server.ts";
import type { Caller } from "./aws/callers.ts";
import { type Elsewhere, startHost } from "./elsewhere.ts";
import { lent } from "./synthesized.ts";

/** `callerOf` knows whose an access key is, the lent ones too. */
export async function startWithSignature({
  callerOf,
}: {
  callerOf: (accessKeyId: string) => Caller | undefined;
}): Promise<Elsewhere> {
  const { service, region, roleArn } = lent;
  const host = await startHost({ authenticator: createPlatformAuthenticator(), platformPrincipal: roleArn });
  const front = await startWebServer({
    async handle(received) {
      const { headers, signal } = received.request;
      const [, accessKeyId = ""] = /Credential=([^/]+)\//.exec(headers.get("authorization") ?? "") ?? [];
      const caller = callerOf(accessKeyId);
      const isSigned =
        caller && sigv4Problem({ received, credentials: caller.credentials, service, region }) === undefined;
      if (!isSigned || caller.roleArn !== roleArn) return Response.json({ message: "Forbidden" }, { status: 403 });
      return fetch(host.url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: received.body,
        signal,
      });
    },
  });
  return {
    url: `${front.url}/`,
    lines: host.lines,
    async close() {
      await front.close();
      await host.close();
    },
  };
}
