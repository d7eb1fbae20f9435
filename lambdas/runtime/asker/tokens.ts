/** Makes the asker's tokens: JSON Web Signatures (RFC 7515) with the claims of RFC 9068. */
import { hash, randomUUID } from "node:crypto";
import { askerTokenSeconds, askerTokenType } from "@sekisho/contracts/asker.ts";
import type { AskerClaims } from "@sekisho/contracts/asker-claims.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createCachedValues, elapsedMs } from "../async/cache.ts";
import type { AskerAudience, AskerPerson, AskerSigner, AskerTokens, CallAsker } from "./asker.ts";

/**
 * A token is sent up to this age. AgentCore refuses one that expires within a minute, and half a minute more is for the way there and for
 * clocks that differ.
 */
export const reuseMs = (askerTokenSeconds - 90) * 1000;

/** `clientId` names the zone. */
export function createAskerTokens(options: {
  issuer: string;
  clientId: string;
  signer: AskerSigner;
  now?: () => number;
  newId?: () => string;
}): AskerTokens {
  const { issuer, clientId, signer, now = Date.now, newId = randomUUID } = options;
  const tokens = createCachedValues<string>({ now });

  async function make(
    claims: Omit<AskerClaims, "iss" | "client_id" | "jti" | "iat" | "exp">,
    signal: AbortSignal,
  ) {
    const startedAtMs = now();
    const iat = Math.floor(startedAtMs / 1000);
    const { aud, sub, ...others } = claims;
    const payload: AskerClaims = {
      ...{ iss: issuer, aud, sub, client_id: clientId },
      ...{ jti: newId(), iat, exp: iat + askerTokenSeconds },
      ...others,
    };
    const { text, signature } = await signer.sign({
      textOf: (kid) =>
        [{ alg: signer.algorithm, kid, typ: askerTokenType }, payload].map(encodeJson).join("."),
      signal,
    });
    // The process may have been frozen, or its clock set back. The receiver would refuse the token for good.
    if (elapsedMs(startedAtMs, now()) >= reuseMs)
      throw new SekishoError("unavailable", { certainty: "undelivered" });
    return `${text}.${Buffer.from(signature).toString("base64url")}`;
  }

  return {
    async issue({ to, asker, body, signal }) {
      if (asker?.isOwnWord) {
        const claims = {
          ...describePerson({ issuer, clientId, to, asker }),
          ...describeCall(to, asker),
        };
        return make({ ...claims, body_sha256: hash("sha256", body, "hex") }, signal);
      }
      const claims =
        asker === undefined
          ? { aud: to.audience, sub: clientId }
          : describePerson({ issuer, clientId, to, asker });
      return tokens.get({
        key: JSON.stringify(claims),
        signal,
        read: async (readSignal) => ({ value: await make(claims, readSignal), keepMs: reuseMs }),
      });
    },
  };
}

/** The claims that are the same for all calls of one person to one destination. */
function describePerson(request: {
  issuer: string;
  clientId: string;
  to: AskerAudience;
  asker: CallAsker;
}) {
  const { issuer, clientId, to, asker } = request;
  const { team, enterprise, user, email } = asker.person;
  const claims = new Set(to.claims);
  return {
    aud: to.audience,
    sub: toSubject({ issuer, person: asker.person, subject: to.subject }),
    act: { sub: clientId },
    ...(claims.has("team") && {
      slack_team: team,
      ...(enterprise && { slack_enterprise: enterprise }),
    }),
    ...(claims.has("user") && { slack_user: user }),
    ...(claims.has("email") && email !== undefined && { email }),
  };
}

function describeCall({ claims }: AskerAudience, { person, requestId }: CallAsker) {
  const { channel, thread } = person;
  return {
    ...(claims.includes("channel") && channel !== undefined && { slack_channel: channel }),
    ...(claims.includes("thread") && thread !== undefined && { slack_thread: thread }),
    request_id: requestId,
  };
}

/** In an organization (Enterprise Grid) a person has one id in all workspaces. */
function toSubject(request: {
  issuer: string;
  person: AskerPerson;
  subject: AskerAudience["subject"];
}): string {
  const { issuer, person, subject } = request;
  const name = `slack:${person.enterprise ?? person.team}:${person.user}`;
  return subject === "slack" ? name : hash("sha256", `${issuer} ${name}`, "base64url");
}

function encodeJson(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
