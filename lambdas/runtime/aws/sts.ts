/** AWS STS: identity tokens for other clouds, and credentials of other roles. Its protocol is forms and XML. */

import { createAwsCall, type Failure } from "./aws-call.ts";
import type { AwsCredentials, AwsCredentialsProvider } from "./credentials.ts";
import { createEndpointResolver } from "./environment.ts";
import { AwsCallError } from "./retry.ts";
import type { Answer } from "./send.ts";
import { escapeUri } from "./signer.ts";

export type WebIdentityTags = Readonly<Record<string, string>>;

/** Everything rejects with an AwsCallError if STS refuses, or else as the network does. */
export type Sts = {
  /** Returns a signed JWT. Refused unless the account has enabled it (`EnableOutboundWebIdentityFederation` of IAM). */
  getWebIdentityToken(request: {
    audience: string;
    signingAlgorithm?: "RS256" | "ES384";
    durationSeconds?: number;
    /** Become claims of the token. They need the permission `sts:TagGetWebIdentityToken`. */
    tags?: WebIdentityTags | undefined;
    signal: AbortSignal;
  }): Promise<string>;
  assumeRole(request: {
    roleArn: string;
    externalId?: string | undefined;
    durationSeconds: number;
    signal: AbortSignal;
  }): Promise<AwsCredentials>;
};

/** The session name that appears in the other account's audit log. */
const sessionName = "sekisho";
const callTimeoutMs = 10_000;

/** Uses the region's endpoint, because the global one issues no tokens; `endpoint` replaces it. */
export function createSts(options: {
  region: string;
  credentials: AwsCredentialsProvider;
  endpoint?: URL | undefined;
}): Sts {
  const { region, credentials, endpoint } = options;
  const endpointOf = endpoint === undefined ? createEndpointResolver({ region }) : () => endpoint;
  const call = createAwsCall({
    service: "sts",
    region,
    credentials,
    endpointOf,
    timeoutMs: callTimeoutMs,
    maxAttempts: 2,
  });

  /** Resolves to the values of the elements. */
  function ask(request: {
    action: string;
    input: Record<string, string>;
    elements: string[];
    signal: AbortSignal;
  }) {
    const { action, input, elements, signal } = request;
    const fields = Object.entries({ Action: action, Version: "2011-06-15", ...input });
    return call({
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: fields.map(([name, value]) => `${escapeUri(name)}=${escapeUri(value)}`).join("&"),
      parse: (answer) => parseResult(answer, elements),
      explain: explainFailure,
      limits: { signal },
    });
  }

  return {
    async getWebIdentityToken({
      audience,
      signingAlgorithm = "RS256",
      durationSeconds = 300,
      tags = {},
      signal,
    }) {
      const input = {
        "Audience.member.1": audience,
        SigningAlgorithm: signingAlgorithm,
        DurationSeconds: String(durationSeconds),
        ...toTagFields(tags),
      };
      const request = {
        action: "GetWebIdentityToken",
        input,
        elements: ["WebIdentityToken"],
        signal,
      };
      const [token = ""] = await ask(request);
      return token || createMissingError("WebIdentityToken");
    },

    async assumeRole({ roleArn, externalId, durationSeconds, signal }) {
      const input = {
        RoleArn: roleArn,
        RoleSessionName: sessionName,
        DurationSeconds: String(durationSeconds),
        ...(externalId === undefined ? {} : { ExternalId: externalId }),
      };
      const elements = ["AccessKeyId", "SecretAccessKey", "SessionToken"];
      const credentialTexts = await ask({ action: "AssumeRole", input, elements, signal });
      const [accessKeyId = "", secretAccessKey = "", sessionToken = ""] = credentialTexts;
      if (accessKeyId === "" || secretAccessKey === "" || sessionToken === "")
        return createMissingError("Credentials");
      return { accessKeyId, secretAccessKey, sessionToken };
    },
  };
}

function toTagFields(tags: WebIdentityTags): Record<string, string> {
  const fields = Object.entries(tags).flatMap(([key, value], index) => {
    const name = `Tags.member.${index + 1}`;
    return [
      [`${name}.Key`, key],
      [`${name}.Value`, value],
    ];
  });
  return Object.fromEntries(fields);
}

function createMissingError(what: string): never {
  throw new AwsCallError({ name: `No${what}`, status: 200 });
}

function parseResult(
  { status, body }: Answer,
  elements: string[],
): { result: string[] } | undefined {
  const xml = body.toString("utf8");
  return status === 200 ? { result: elements.map((name) => readElement(xml, name)) } : undefined;
}

/** Checks the form of the name, because a server may repeat in it whatever it received. */
function explainFailure({ body }: Answer): Failure {
  const name = readElement(body.toString("utf8"), "Code");
  return { name: /^[\w.]{1,80}$/.test(name) ? name : "NoName" };
}

/** Returns the text of the first element of that name, or "". The answers of STS have no attributes and no CDATA. */
function readElement(xml: string, name: string): string {
  const [, text = ""] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? [];
  return text
    .trim()
    .replace(/&(lt|gt|amp|quot|apos);/g, (_, entity: keyof typeof entities) => entities[entity]);
}

const entities = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
