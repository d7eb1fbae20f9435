/** The `state` of the installation flow: a short-lived proof that this browser began it here (RFC 6749, section 10.12). */
import { createHash, hkdfSync, randomUUID } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";

/** The one purpose: the key is made for it, and the token says so once more. */
const purpose = "sekisho slack install state";
const algorithm = "HS256";

/** `browser` is what the browser alone keeps, in its cookie; of it the state holds a hash. */
export function issueState({
  clientSecret,
  salt = "",
  browser,
  nowMs,
}: {
  clientSecret: string;
  /** A state counts only with the salt that it was issued with. */
  salt?: string | undefined;
  browser: string;
  nowMs: number;
}): Promise<string> {
  const issuedAt = Math.floor(nowMs / 1000);
  return new SignJWT({ browser: hashOf(browser) })
    .setProtectedHeader({ alg: algorithm })
    .setAudience(purpose)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + installSeconds)
    .setJti(randomUUID())
    .sign(keyOf(clientSecret, salt));
}

/**
 * Undefined unless the state is ours, in time, and of this browser. One state can be spelled in several ways, since base64url
 * is decoded leniently: only its `id` says which one it is.
 */
export async function verifyState({
  clientSecret,
  salt = "",
  state,
  browser,
  nowMs,
}: {
  clientSecret: string;
  salt?: string | undefined;
  state: string;
  browser: string;
  nowMs: number;
}): Promise<{ id: string; issuedAtMs: number } | undefined> {
  try {
    const { payload } = await jwtVerify(state, keyOf(clientSecret, salt), {
      algorithms: [algorithm],
      audience: purpose,
      requiredClaims: ["exp", "iat", "jti"],
      currentDate: new Date(nowMs),
    });
    // Hashes of a value that nobody else has: comparing them tells nothing by its time.
    if (payload.browser !== hashOf(browser)) return undefined;
    const { jti: id, iat } = payload;
    return id === undefined || iat === undefined ? undefined : { id, issuedAtMs: iat * 1000 };
  } catch {
    return undefined;
  }
}

function keyOf(clientSecret: string, salt: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", clientSecret, salt, purpose, 32));
}

function hashOf(browser: string): string {
  return createHash("sha256").update(browser).digest("base64url");
}

/** How long one may take from the first address to the second. */
export const installSeconds = 600;

/** The prefix makes browsers refuse it without Secure, with a Domain, or below another path (RFC 6265bis, section 4.1.3.2). */
const name = "__Host-sekisho-install";

/** Lax, since Slack sends the browser back by a link. */
const attributes = "Path=/; Secure; HttpOnly; SameSite=Lax";

export function browserCookie(browser: string): string {
  return `${name}=${browser}; Max-Age=${installSeconds}; ${attributes}`;
}

/** Takes it back. */
export const noBrowserCookie = `${name}=; Max-Age=0; ${attributes}`;

/** Undefined where there is none, or more than one: nobody knows which one is ours then. */
export function readBrowserId(cookieHeader: string | null): string | undefined {
  const values = (cookieHeader ?? "").split(";").flatMap((pair) => {
    const [key, value] = pair.trim().split("=", 2);
    return key === name && value !== undefined && value !== "" ? [value] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}
