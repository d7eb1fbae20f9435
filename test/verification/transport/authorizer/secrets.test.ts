/** Issuers and peers that repeat whatever they were shown: nothing of it may get into an error or a log line. */
import { inspect } from "node:util";
import { describe, expect, it } from "@jest/globals";
import type { SekishoError } from "../../../../contracts/errors.ts";
import { createSts } from "../../../../lambdas/shared/aws/sts.ts";
import { createLog } from "../../../../lambdas/shared/log.ts";
import type { Authorizer } from "../../../../lambdas/verification/transport/authorizer/authorizer.ts";
import { createAzureAuthorizer } from "../../../../lambdas/verification/transport/authorizer/azure.ts";
import { createGoogleAuthorizer } from "../../../../lambdas/verification/transport/authorizer/google.ts";
import { createOAuthClientCredentialsAuthorizer } from "../../../../lambdas/verification/transport/authorizer/oauth-client-credentials.ts";
import { createSigV4Authorizer } from "../../../../lambdas/verification/transport/authorizer/sigv4.ts";
import { createWebIdentityAuthorizer } from "../../../../lambdas/verification/transport/authorizer/web-identity.ts";
import { createHttpsTransport } from "../../../../lambdas/verification/transport/http/transport.ts";
import { raw } from "../../../doubles/answers.ts";
import { type Asked, startIssuer } from "../../../doubles/issuers/issuer.ts";
import { connectionReset, startWebServer } from "../../../doubles/web-server.ts";
import { credentials } from "../agentcore/sample.ts";
import { clientOver, execute } from "../sample.ts";
import { closedAfterwards } from "./sample.ts";

const token = "eyJ0b2tlbiI6Im9mIG5vYm9keSJ9";
const clientSecret = "ClientSecretOfNobody";
const secrets = new RegExp([token, clientSecret, credentials.secretAccessKey, credentials.sessionToken].join("|"));

type World = { sts: ReturnType<typeof createSts>; issuer: URL };

const authorizers: Record<string, (world: World) => Authorizer> = {
  "web-identity": ({ sts }) => createWebIdentityAuthorizer({ sts, audience: "a" }),
  sigv4: ({ sts }) =>
    createSigV4Authorizer({ service: "lambda", region: "eu-central-1", assumeRole: { sts, roleArn: "arn:role" } }),
  google: ({ issuer }) =>
    createGoogleAuthorizer({
      sts: { getWebIdentityToken: async () => token },
      workloadIdentityProvider: "p",
      serviceAccount: "s",
      audience: "a",
      tokenAudience: "t",
      stsBase: issuer,
      iamCredentialsBase: issuer,
    }),
  azure: ({ issuer }) =>
    createAzureAuthorizer({
      sts: { getWebIdentityToken: async () => token },
      tenantId: "t",
      clientId: "c",
      scope: "s",
      tokenAudience: "a",
      loginBase: issuer,
    }),
  "oauth-client-credentials": ({ issuer }) =>
    createOAuthClientCredentialsAuthorizer({
      tokenUrl: issuer.href,
      clientId: "c",
      readClientSecret: async () => clientSecret,
      clientAuthentication: "post",
    }),
};

/** How an issuer answers, given what it was shown. */
const issuers: Record<string, (asked: Asked) => Response | Promise<Response>> = {
  "repeats it as the code of an error": (asked) =>
    Response.json({ error: shownIn(asked), message: shownIn(asked) }, { status: 400 }),
  "repeats it as a page": (asked) => new Response(`<html>${shownIn(asked)}</html>`, { status: 403 }),
  "repeats it as the name of an AWS error": (asked) =>
    new Response(`<ErrorResponse><Error><Code>${shownIn(asked)}</Code></Error></ErrorResponse>`, {
      status: 403,
      headers: { "content-type": "text/xml" },
    }),
  "gives a token with a line too many": () =>
    raw(JSON.stringify({ access_token: `${token}\n`, token_type: "Bearer", expires_in: 60 })),
  "gives an AWS token with a line too many": () =>
    new Response(
      `<R><GetWebIdentityTokenResult><WebIdentityToken>${token} x</WebIdentityToken></GetWebIdentityTokenResult></R>`,
      { headers: { "content-type": "text/xml" } },
    ),
  "resets the connection": () => Promise.reject(connectionReset),
};

function shownIn({ form, headers, text }: Asked): string {
  const { client_secret, client_assertion, subject_token } = form;
  return client_secret ?? client_assertion ?? subject_token ?? headers.get("x-amz-security-token") ?? text;
}

async function callThrough(
  authorizer: (world: World) => Authorizer,
  answer: (asked: Asked) => Response | Promise<Response>,
) {
  const issuer = closedAfterwards(await startIssuer({ answer }));
  const peer = closedAfterwards(await startWebServer({ handle: async () => raw("{}") }));
  const sts = createSts({ region: "eu-central-1", credentials: async () => credentials, endpoint: issuer.url });
  const transport = createHttpsTransport({ url: peer.url, authorizer: authorizer({ sts, issuer: issuer.url }) });
  closedAfterwards({ close: async () => transport.close?.() });
  const lines: string[] = [];
  const log = createLog({ service: "verification", level: "debug", write: (line) => lines.push(line) });
  const error = await execute(clientOver((request) => transport.send(request), { log })).then(
    () => undefined,
    (thrown: SekishoError) => thrown,
  );
  return { error, lines };
}

describe.each(Object.keys(authorizers))(
  "nothing that the authorizer %s shows or gets is in an error or a log",
  (name) => {
    it.each(Object.keys(issuers))("when the issuer %s", async (behaviour) => {
      const authorizer = authorizers[name];
      const answer = issuers[behaviour];
      if (authorizer === undefined || answer === undefined) throw new Error("no such case");
      const { error, lines } = await callThrough(authorizer, answer);
      expect(error?.reason).toMatch(/^(unauthenticated|unavailable)$/);
      expect(lines.length).toBeGreaterThan(0);
      expect(`${inspect(error, { depth: 20 })}${lines.join("")}`).not.toMatch(secrets);
    });
  },
);
